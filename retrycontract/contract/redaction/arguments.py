"""Tell the arguments of a program in a value: beside the program, and behind a flag that names a secret."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.redaction.commands import has_password
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import as_json, items_of, without_marks
from retrycontract.contract.redaction.listed_words import MOST_ARGUMENTS
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.members import spellings_of
from retrycontract.contract.redaction.scanner import BALANCED

# A program and its arguments, as the configurations of MCP servers, containers and editors have them.
_PROGRAMS = ("entrypoint", "command", "cmd", "program", "executable", "exec", "binary")
_ARGUMENTS = frozenset({"args", "arguments", "argv", "params", "parameters", "command", "cmd"})
_SPELLINGS = frozenset(spelling for name in _PROGRAMS for spelling in spellings_of(name))
LONGEST_PROGRAM = 500
# The flags of curl that take `user:password`.
_USER_FLAGS = ("-u", "--user", "--proxy-user")
_DASHES = str.maketrans("", "", "-_.")
# A longer text describes; it does not name.
LONGEST_NAMING = 120


def shown_name(name: Any) -> str:
    """Give a name as its redaction shows it, without the marks; nothing for what is no name."""
    text = as_json(name)
    shown = without_marks(BALANCED.redact(text)) if type(text) is str else ""
    return shown if len(shown) <= LONGEST_NAMING else ""


def program_of(members: dict[Any, Any]) -> tuple[str, str]:
    """Give the member that names a program, and its words; nothing where no other member may hold its arguments."""
    if _SPELLINGS.isdisjoint(dict.keys(members)):
        return "", ""
    spellings = (spelling for name in _PROGRAMS for spelling in spellings_of(name))
    key = next((key for key in spellings if key in members), "")
    # Docker writes `Cmd` and `Args`.
    if not key or not any(is_arguments(name) for name in dict.keys(members) if name != key):
        return "", ""
    words = dict.get(members, key)
    if issubclass(type(words), (list, tuple)):
        words = " ".join(word for word in items_of(words)[:MOST_ARGUMENTS] if type(word) is str)
    return (key, words[:LONGEST_PROGRAM]) if type(words) is str else ("", "")


def is_arguments(name: Any) -> bool:
    """Say whether a member of that name may hold what a program is given."""
    return type(name) is str and name.casefold() in _ARGUMENTS


def flagged(before: Any, item: Any, *, alone: bool) -> str | None:
    """Give the mark of an item that the one before calls secret; `alone` the two are all there is."""
    if type(before) is str and type(item) is str and not item.startswith("-"):
        if before in _USER_FLAGS:
            return "PASSWORD" if has_password(item) else None
        if before.startswith("-"):
            return judge(before).mark if before.translate(_DASHES).isalnum() and len(before) <= LONGEST_NAMING else None
        name = shown_name(before) if alone else ""
        return judge(name).mark if name and name.count(" ") < 3 and Literal.whole(item).telling else None
    return None

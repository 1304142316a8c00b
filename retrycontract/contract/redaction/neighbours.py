"""Find secrets that a neighbour names: `{name: "api_key", value: …}` and `["--password", …]`."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.redaction.field_names import judge, split_words
from retrycontract.contract.redaction.foreign_values import as_json
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.marks import without_marks
from retrycontract.contract.redaction.scanner import BALANCED

# The member that names, and the members that then hold the secret.
_NAMING = ("name", "key", "field", "header", "variable", "var", "env", "param", "parameter", "property", "attribute",
           "label", "Name", "Key")  # fmt: skip
_VALUES = ("value", "val", "Value", "default", "secret_value")
# What a browser tool types goes into what a selector or a description points at.
_POINTING = ("selector", "element", "locator", "field", "label", "placeholder", "ref", "target")
_TYPED = ("text", "value", "input", "keys")
_TYPED_SECRETS = frozenset(
    {"password", "passwd", "pwd", "passcode", "passphrase", "otp", "pin", "cvv", "secret", "token"}
)
# The flags of curl that take `user:password`.
_USER_FLAGS = ("-u", "--user", "--proxy-user")
_TELLING = frozenset({*_NAMING, *_POINTING, "kind"})
_DASHES = str.maketrans("", "", "-_.")
# A longer text describes; it does not name.
LONGEST_NAMING = 120
MOST_WORDS = 4


def _shown(name: Any) -> str:
    """Give a name as its redaction shows it, without the marks; nothing for what is no name."""
    text = as_json(name)
    shown = without_marks(BALANCED.redact(text)) if type(text) is str else ""
    return shown if len(shown) <= LONGEST_NAMING else ""


def paired_values(members: dict[Any, Any]) -> dict[Any, str]:
    """Give the keys of an object whose values a sibling calls secret, each with its mark."""
    found: dict[Any, str] = {}
    if dict.keys(members).isdisjoint(_TELLING):
        return found
    for naming in _NAMING:
        name = _shown(dict.get(members, naming)) if naming in members else ""
        if name and len(name.split()) <= MOST_WORDS and (mark := judge(name).mark):
            found.update((key, mark) for key in _VALUES if key in members)
    for pointing in _POINTING:
        target = _shown(dict.get(members, pointing)) if pointing in members else ""
        if target and not _TYPED_SECRETS.isdisjoint(split_words(target)):
            found.update((key, "PASSWORD") for key in _TYPED if key in members and key != pointing)
    kind = dict.get(members, "kind")
    if type(kind) is str and kind.casefold() == "secret":
        found.update((key, "SECRET") for key in ("data", "stringData") if key in members)
    return found


def _is_flag(text: str) -> bool:
    """Say whether the text is one flag without a value of its own."""
    return text.translate(_DASHES).isalnum()


def flagged(before: Any, item: Any, *, alone: bool) -> str | None:
    """Give the mark of an item that the one before calls secret; `alone` the two are all there is."""
    if type(before) is str and type(item) is str and not item.startswith("-"):
        return _flag_mark(before, item, alone=alone)
    return None


def _flag_mark(before: str, item: str, *, alone: bool) -> str | None:
    if before in _USER_FLAGS:
        return "PASSWORD" if ":" in item and "://" not in item else None
    if before.startswith("-"):
        return judge(before).mark if _is_flag(before) and len(before) <= LONGEST_NAMING else None
    name = _shown(before) if alone else ""
    return judge(name).mark if name and " " not in name and Literal.whole(item).telling else None

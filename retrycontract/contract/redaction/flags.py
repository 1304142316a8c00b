"""Tell what stands in a list behind a flag, or behind the name of a secret."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.redaction.commands import has_password
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import as_json, without_marks
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.scanner import BALANCED

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

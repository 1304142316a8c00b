"""Find secrets that a neighbour names: `{name: "api_key", value: …}` and `["--password", …]`."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.field_names import judge, split_words
from retrycontract.contract.literals import Literal

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
# A longer text describes; it does not name.
LONGEST_NAMING = 120


def paired_values(members: dict[Any, Any]) -> dict[Any, str]:
    """Give the keys of an object whose values a sibling calls secret, each with its mark."""
    found: dict[Any, str] = {}
    for naming in _NAMING:
        name = dict.get(members, naming)
        if type(name) is str and len(name) <= LONGEST_NAMING and len(name.split()) <= 4 and (mark := judge(name).mark):
            found.update((key, mark) for key in _VALUES if key in members)
    for pointing in _POINTING:
        target = dict.get(members, pointing)
        if type(target) is str and len(target) <= LONGEST_NAMING and not _TYPED_SECRETS.isdisjoint(split_words(target)):
            found.update((key, "PASSWORD") for key in _TYPED if key in members and key != pointing)
    kind = dict.get(members, "kind")
    if type(kind) is str and kind.casefold() == "secret":
        found.update((key, "SECRET") for key in ("data", "stringData") if key in members)
    return found


def flagged_items(items: list[Any]) -> dict[int, str]:
    """Give the positions of a list whose items the item before calls secret, each with its mark."""
    found: dict[int, str] = {}
    for index in range(1, len(items)):
        before, item = items[index - 1], items[index]
        if type(before) is not str or type(item) is not str or len(before) > LONGEST_NAMING or item.startswith("-"):
            continue
        mark: str | None
        if before in _USER_FLAGS:
            mark = "PASSWORD" if ":" in item and "://" not in item else None
        elif before.startswith("-"):
            mark = None if "=" in before else judge(before).mark
        else:
            mark = judge(before).mark if len(items) == 2 and " " not in before else None
            mark = mark if mark and Literal(item, 0, 0, quoted=True).telling else None
        if mark:
            found[index] = mark
    return found

"""Arguments in a wrapper: the whole call in their place, as providers write it, or one field that holds them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.outputs.encoded import decoded

MAX_KEYS = 20  # of an object: what has more is none
MAX_STEPS = 5  # `{"tool_calls": [{"function": {"arguments": …}}]}`
# Names under which calls carry their arguments, and what says beside them who is called.
CARRIERS = frozenset({"arguments", "args", "parameters", "params", "kwargs", "input", "tool_input", "action_input"})
ENVELOPE = frozenset(
    {
        "name", "tool", "tool_name", "function", "type", "id", "call_id", "recipient_name", "role", "index",
        "toolUseId", "tool_use_id", "toolCallId", "tool_call_id", "toolName", "jsonrpc", "thought",
    }
)  # fmt: skip
# Beside them these say it as well, where their value is the tool's name, or what names none.
CALLING = frozenset({"action", "method", "command"})
MCP_METHOD = "tools/call"

Read = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Wrapped:
    """Hold arguments, and the steps to them; `is_read` where a text on the way had to be read as JSON."""

    way: tuple[str, ...]
    content: dict[str, Any]
    is_read: bool


def unwrap(
    value: Any,
    declared: Collection[str],
    declares: Callable[[str], bool] | None = None,
    read: Read = decoded,
    called: str | None = None,
) -> Wrapped | None:
    """Find the arguments within an object that was sent in their place; None where it is no wrapper.

    `declared` are the names of the arguments; `declares` says of any name whether the schema knows it, `read` gives
    what a text on the way holds, and `called` is the tool's name; None stands for any.
    """
    found, beside = None, set[str]()
    for each, others in _levels(value, declares or declared.__contains__, read, called):
        beside |= others
        is_carried = each.way[-1] in CARRIERS or any(name in declared for name in each.content)
        # A declared field beside the wrapper would be lost.
        if is_carried and each.content.keys() >= beside:
            found = each
    return found


def _levels(
    value: Any, declares: Callable[[str], bool], read: Read, called: str | None
) -> Iterator[tuple[Wrapped, set[str]]]:
    """Give each object on the way, and the declared names that stood beside the step to it."""
    way, is_read, others = tuple[str, ...](), False, set[str]()
    for _ in range(MAX_STEPS):
        if isinstance(value, str):
            value, is_read = read(value), True
        if isinstance(value, list) and len(value) == 1 and way:
            way, value = (*way, "0"), value[0]
            continue
        if not isinstance(value, dict):
            return
        if way:
            yield Wrapped(way, value, is_read), others
        step = _step(value, declares, called)
        if step is None:
            return
        others = {name for name in value if declares(name)}
        way, value = (*way, step), value[step]


def _step(value: dict[str, Any], declares: Callable[[str], bool], called: str | None) -> str | None:
    """Name the one member that may hold the arguments."""
    if len(value) > MAX_KEYS:
        return None
    unknown = [name for name in value if not declares(name)]
    names = [
        name for name in unknown
        if name not in ENVELOPE and value[name] not in (None, "") and not _says_who(name, value, called)
    ]  # fmt: skip
    if not names:  # `function` names what is called, or holds the call
        names = [name for name in unknown if len(value) == 1 or isinstance(value[name], dict)]
    if len(names) != 1:
        return None
    (name,) = names
    others = value.keys() - unknown
    is_alone = not others or (name in CARRIERS and others <= ENVELOPE)
    return name if is_alone and isinstance(value[name], dict | list | str) else None


def _says_who(name: str, value: dict[str, Any], called: str | None) -> bool:
    """Tell a member that names the tool which is called, beside its arguments."""
    is_named = called is None or value[name] in (called, MCP_METHOD) or "action_input" in value
    return name in CALLING and isinstance(value[name], str) and not CARRIERS.isdisjoint(value) and is_named

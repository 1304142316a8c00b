"""Decide which call an attempt belongs to.

Providers give every retry a new id, and some count `c1, c2…` anew in each conversation: an id says nothing beyond its
session. What is joined wrongly runs one conversation's correction in another; what is not joined costs a call more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from retrycontract.contract.lifecycle import CallState

# Their agents were told to wait: what they send next is the answer to that, even when they count no turns.
WAITING = (CallState.BLOCKED, CallState.GUIDED)
# What a template leaves that nobody filled in: blanks, a placeholder anywhere, a word for nothing alone or between
# signs, or the field's own name. Whatever it was to name, all conversations would share it. A GUID may stand in braces.
UNFILLED = re.compile(
    r"""\s*
    | .*(?: \{(?!\s*"|[0-9A-Fa-f-]{32,36}\})[^{}]*\} | %7B.*%7D | <[^<>]+> | \$[A-Za-z_({] | %\([A-Za-z_]\w*\)[sd]
        | \[object\ \w+\] ).*
    | (?:.*[\s:/|._-])? (?: %[sd] | undefined | None | null | nil | NaN | NULL ) (?:[\s:/|._-].*)?
    | [\s{(]*[0-]{32,36}[\s})]*  # a GUID that nobody set
    | (?i:\s*(?: \(?(?:none|null|nil)\)? | nan | (?:undefined)+ | string | todo | tbd | xxx+ | placeholder
        | change[\ _-]?me         | %\w+%? | \[[a-z_\ -]+\] | __[a-z_]+__ | your[\ _-].* | [@:]session
        | (?:session|conversation|thread|chat)[\ _-]?(?:id|key)
        | (?:\w+\.)*(?:str|uuid\d?|guid|objectid|randomuuid|newguid)\(.*\)  # a call that was quoted
        | java\.[\w.]+(?:@[0-9a-f]+)? | system\.[a-z]\w* )\s*)
    """,
    re.VERBOSE | re.DOTALL,
)


ID_OF_ITS_OWN = (
    "a template that nobody filled in left this, and all conversations would share it: give each an id of its own"
)


class OpenCall(Protocol):
    """What matching needs to know of a call that has not ended."""

    @property
    def state(self) -> str:
        """Give the call's state."""

    @property
    def session_id(self) -> str | None:
        """Give the session that the call was made in."""

    @property
    def tool_name(self) -> str:
        """Give the tool's name."""

    @property
    def last_turn(self) -> int | None:
        """Give the turn of the last attempt."""

    @property
    def last_tool_call_id(self) -> str:
        """Give the provider's id of the last attempt."""

    @property
    def is_of_unknown_tool(self) -> bool:
        """Tell whether nobody has registered the tool that the call named."""


Call = TypeVar("Call", bound=OpenCall)


@dataclass(frozen=True, slots=True)
class Submission:
    """Hold the ids that an attempt came with."""

    tool_name: str
    tool_call_id: str
    session_id: str | None = None
    turn: int | None = None


def is_unfilled(session_id: str) -> bool:
    """Tell whether a session's id is what a template leaves that nobody filled in: it would join everybody's calls."""
    return UNFILLED.fullmatch(session_id) is not None


class AmbiguousCallError(LookupError):
    """Raised when several open calls could be meant; `candidates` are those calls."""

    def __init__(self, candidates: Sequence[OpenCall]) -> None:
        self.candidates = tuple(candidates)
        super().__init__("several open calls of this session and tool could be meant; send call_id")


def match(
    submission: Submission,
    open_calls: Sequence[Call],
    *,
    is_one_conversation: bool = False,
    is_repeated: Callable[[Call], bool] = lambda _: True,
) -> Call | None:
    """Pick the open call of the same agent that an attempt without our `call_id` continues, or None for a new one.

    First the same session and provider id, then the same session and tool in a later turn. Without a session nothing
    is continued, unless whoever asks is one conversation as a whole: then the same provider id is enough. What one turn
    sends under one id is parallel where `is_repeated` says that a call's newest attempt was another. Raises
    AmbiguousCallError when several fit.
    """
    if submission.session_id is None and not is_one_conversation:
        return None
    turn = submission.turn
    same_id = [
        call
        for call in open_calls
        if call.last_tool_call_id == submission.tool_call_id
        and call.session_id == submission.session_id
        # A call of a tool that does not exist is corrected by naming another.
        and (call.tool_name == submission.tool_name or call.is_of_unknown_tool)
        and (turn is None or call.last_turn != turn or is_repeated(call))
    ]
    if same_id:
        # The newest: providers that count anew use an id again while an older call of the session may still be open.
        last = same_id[-1].last_turn
        parallel = [call for call in same_id if last is not None and call.last_turn == last]
        if len(parallel) > 1:
            raise AmbiguousCallError(parallel)
        return same_id[-1]
    if submission.session_id is None:
        return None
    later = [
        call
        for call in open_calls
        if call.session_id == submission.session_id
        and call.tool_name == submission.tool_name
        and (call.state in WAITING if turn is None or call.last_turn is None else turn > call.last_turn)
    ]
    if len(later) > 1:
        raise AmbiguousCallError(later)
    return later[0] if later else None

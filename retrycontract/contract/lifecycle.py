"""The states of a call, the legal moves between them, and what a verdict or an answer does to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from retrycontract.contract.configuration import Mode


class CallState(StrEnum):
    """Name where a call stands; see LEGAL_MOVES for the ways between."""

    PENDING = "pending"  # an attempt waits to be judged
    RETRYING = "retrying"  # the agent's turn
    BLOCKED = "blocked"  # an operator's turn
    GUIDED = "guided"  # guidance waits for the agent, or the agent is trying it
    VALID = "valid"
    ACCEPTED = "accepted"  # an operator accepted the output as it is
    REJECTED = "rejected"  # an operator said no
    CANCELLED = "cancelled"  # the agent gave up
    EXPIRED = "expired"  # nobody answered in time
    UNAVAILABLE = "unavailable"  # the model could not be asked, and nobody is asked for that
    OBSERVED = "observed"  # failed while its tool was only observed: nothing was blocked

    @property
    def has_ended(self) -> bool:
        """Tell whether no attempt can follow; an expired call is reopened by a late answer only."""
        return self in ENDS


ENDS = frozenset(
    {
        CallState.VALID, CallState.ACCEPTED, CallState.REJECTED, CallState.CANCELLED, CallState.EXPIRED,
        CallState.OBSERVED, CallState.UNAVAILABLE,
    }
)  # fmt: skip

_VERDICTS = {CallState.VALID, CallState.RETRYING, CallState.BLOCKED, CallState.OBSERVED}
_ANSWERS = {CallState.GUIDED, CallState.ACCEPTED, CallState.REJECTED}

LEGAL_MOVES: dict[CallState, frozenset[CallState]] = {
    CallState.PENDING: frozenset({*_VERDICTS, CallState.CANCELLED, CallState.UNAVAILABLE}),
    CallState.RETRYING: frozenset({*_VERDICTS, CallState.PENDING, CallState.CANCELLED, CallState.UNAVAILABLE}),
    # While Blocked or guided a call keeps that state until its next attempt is judged: the operator's list must
    # not flicker because the agent tries again.
    CallState.BLOCKED: frozenset(
        {*_ANSWERS, CallState.VALID, CallState.OBSERVED, CallState.CANCELLED, CallState.EXPIRED}
    ),
    CallState.GUIDED: frozenset(
        {CallState.VALID, CallState.BLOCKED, CallState.OBSERVED, CallState.CANCELLED, CallState.UNAVAILABLE}
    ),
    # What nobody answered in time may be answered late; every other end is one.
    CallState.EXPIRED: frozenset(_ANSWERS),
    **{state: frozenset() for state in ENDS - {CallState.EXPIRED}},
}


class Status(StrEnum):
    """Name what a submission is answered: run the tool, try again, or wait for a person."""

    VALID = "valid"
    RETRY = "retry"
    BLOCKED = "blocked"
    UNAVAILABLE = "unavailable"  # told only to who says that the model could not be asked


@dataclass(frozen=True, slots=True)
class Budget:
    """Hold how many attempts a call has made and how many it may make."""

    made: int
    allowed: int

    @property
    def is_used_up(self) -> bool:
        return self.made >= self.allowed

    @property
    def shown(self) -> tuple[int, int]:
        """Give (n, max) as the model reads it; what it tries while Blocked does not count beyond the maximum."""
        return min(self.made, self.allowed), self.allowed

    def granted(self, attempts: int) -> Budget:
        """Add attempts after those made: numbers go on, so a grant of 2 after three makes 'attempt 4/5'."""
        return Budget(self.made, self.made + attempts)


@dataclass(frozen=True, slots=True)
class Move:
    """Say what a judged attempt does to its call."""

    state: CallState
    status: Status
    opens_escalation: bool = False
    closes_escalation: bool = False
    is_held: bool = False
    renews_grant: bool = False


# A person has answered, and would be asked again for what nobody has read. "Blocked" is what sends an agent to the
# answer, for which it does not have to wait.
RENEWAL: Final = Move(CallState.GUIDED, Status.BLOCKED, renews_grant=True)


def judge(
    state: CallState,
    budget: Budget,
    *,
    valid: bool,
    mode: Mode = "enforce",
    hold: bool = False,
    is_unread: bool = False,
) -> Move:
    """Decide the move of a call in `state` whose attempt was just judged; `budget` includes that attempt.

    `is_unread` tells that its agent has not read the answer that granted the budget.
    """
    if valid:
        if state is CallState.BLOCKED and hold:
            return Move(CallState.BLOCKED, Status.BLOCKED, is_held=True)
        return Move(CallState.VALID, Status.VALID, closes_escalation=state is CallState.BLOCKED)
    if mode == "observe":
        # A tool may be put under observation while its calls are Blocked: then nothing holds them any more.
        return Move(CallState.OBSERVED, Status.VALID, closes_escalation=state is CallState.BLOCKED)
    if state is CallState.BLOCKED:
        return Move(CallState.BLOCKED, Status.BLOCKED)
    if state is CallState.GUIDED and budget.is_used_up and is_unread:
        return RENEWAL
    if budget.is_used_up:
        return Move(CallState.BLOCKED, Status.BLOCKED, opens_escalation=True)
    return Move(CallState.GUIDED if state is CallState.GUIDED else CallState.RETRYING, Status.RETRY)


def move_unasked(state: CallState, budget: Budget, *, gives_up: bool, is_unread: bool = False) -> Move:
    """Decide the move of a call for which the model could not be asked; that try counts in `budget`.

    Whose last try ends so is over, whatever was wrong before: a person cannot bring a provider back. With `gives_up`
    the agent will not try again. `is_unread` is that of `judge`.
    """
    if state is CallState.BLOCKED:
        return Move(CallState.BLOCKED, Status.BLOCKED)
    if state is CallState.GUIDED and budget.is_used_up and is_unread and not gives_up:
        return RENEWAL
    if gives_up or budget.is_used_up:
        return Move(CallState.UNAVAILABLE, Status.UNAVAILABLE)
    return Move(CallState.GUIDED if state is CallState.GUIDED else CallState.RETRYING, Status.RETRY)

"""What calls should be, told in as few rules as there are: no line of the product has a part in it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.factories import DEPLOY, RIGHT, WRONG
from tests.usecases.conftest import NOON

LEASE, CLAIM, WAITS = timedelta(seconds=30), timedelta(minutes=5), timedelta(days=7)
MOST_RENEWALS = 3  # of one grant
DEATHS = 3  # over one attempt, before it is given up
WIDER = copy.deepcopy(DEPLOY)
WIDER["properties"]["region"]["enum"].append(WRONG["region"])
SCHEMAS = {"narrow": DEPLOY, "wide": WIDER}
FITTING = {"narrow": {"right"}, "wide": {"right", "wrong"}}
OUTPUTS: dict[str, Any] = {
    "right": RIGHT, "wrong": WRONG, "empty": {}, "unreadable": "{", "refused": "I'm sorry, but I can't help with that.",
    "rejected by its agent": RIGHT, "not asked": None, "given up": None,
}  # fmt: skip
UNPARSED, UNASKED = {"unreadable", "refused"}, {"not asked", "given up"}
ENDS = {"valid", "accepted", "rejected", "cancelled", "expired", "observed", "unavailable"}
GRANTS = {"hint": 2, "corrected": 1, "accept": 1, "reject": 0}
LEADS_TO = {"hint": "guided", "corrected": "guided", "accept": "accepted", "reject": "rejected"}


@dataclass
class Registered:
    """What a tool should be."""

    schema: str
    hold: bool = False
    mode: str = "enforce"
    max_attempts: int = 3
    on_expiry: str = "expire"


@dataclass
class Submitted:
    """An attempt that came in."""

    number: int
    output: str
    is_known: bool  # whether somebody had registered the tool that it named
    at: datetime
    deliveries: int = 0
    token: str = ""
    until: datetime = NOON

    def is_free(self, now: datetime) -> bool:
        return not self.token or self.until <= now


@dataclass
class Held:
    """An answer that its operator may take back."""

    batch: str
    who: int
    decision: str
    grant: int
    due: datetime


@dataclass
class Expected:
    """What a call should be; `counts` has what all calls add up to, by measure and label."""

    counts: Counter[tuple[str, str]]
    name: str
    session: str | None
    tool_call_id: str
    allowed: int
    tool: Registered | None = None
    schema: str | None = None  # by which it is judged for good
    state: str = "pending"
    made: int = 0
    told: dict[int, str] = field(default_factory=dict)  # by the number of the attempt
    parsed: dict[int, bool] = field(default_factory=dict)  # of those that were judged
    waiting: list[Submitted] = field(default_factory=list)
    rounds: int = 0
    answers: int = 0
    updated_at: datetime = NOON
    blocked_at: datetime = NOON
    untried: str | None = None  # the answer that no attempt was made with
    grant: int = 0  # of the newest answer
    read_at: datetime | None = None  # when its agent had it first
    renewals: int = 0  # of that grant, by attempts made without it
    held: Held | None = None
    claim: tuple[int, datetime] | None = None
    snoozed: datetime = NOON

    def __post_init__(self) -> None:
        self.first_budget = self.allowed

    @property
    def has_ended(self) -> bool:
        return self.state in ENDS

    @property
    def may_be_answered(self) -> bool:
        return self.state in ("blocked", "expired") and self.held is None

    @property
    def has_missed(self) -> bool:
        """Tell whether an answer that is held comes too late for good."""
        return self.has_ended and self.state != "expired"

    def is_free(self, now: datetime) -> bool:
        """Tell whether it stands in the operators' queue."""
        is_claimed = self.claim is not None and self.claim[1] > now
        return self.state == "blocked" and self.held is None and not is_claimed and self.snoozed <= now

    def hear(self, now: datetime) -> None:
        """Read the newest answer."""
        self.read_at = self.read_at or now

    def _renew(self, number: int, at: datetime) -> bool:
        """Grant anew what an attempt used up that was made without the answer, a few times."""
        is_unread = self.read_at is None or self.read_at > at
        if self.state != "guided" or not is_unread or self.renewals == MOST_RENEWALS:
            return False
        self.told[number] = "blocked"
        self.allowed, self.renewals = number + self.grant, self.renewals + 1
        return True

    def take(self, output: str, name: str, tool: Registered | None, now: datetime, *, waits: bool) -> None:
        """Take an attempt in; a call of a tool that nobody had registered takes over the one that is named next."""
        self.made += 1
        self.updated_at = now
        if self.schema is None:
            self.name, self.tool, self.schema = name, tool, tool and tool.schema
        if output in UNASKED:
            self._note_unasked(now, gives_up=output == "given up")
            return
        one = Submitted(self.made, output, self.schema is not None, now)
        if waits or self.waiting:
            self.waiting.append(one)
            self.state = "pending" if self.state == "retrying" else self.state
        else:
            self.judge(one, now)

    def _note_unasked(self, now: datetime, *, gives_up: bool) -> None:
        self.counts["api_error", "HTTP 429"] += 1
        if self.state == "blocked":
            self.told[self.made] = "blocked"
        elif not gives_up and self.made >= self.allowed and self._renew(self.made, now):
            pass
        elif gives_up or self.made >= self.allowed:
            self.told[self.made] = "unavailable"
            self.end("unavailable", now)
        else:
            self.told[self.made] = "retry"
            if not self.waiting and self.state == "pending":
                self.state = "retrying"

    def heeding(self) -> list[str]:
        """Give what heeds a person's hint, where one was given."""
        return [min(FITTING[self.schema])] if self.state == "guided" and self.schema else []

    def work(self, now: datetime) -> None:
        """Judge what waits and no worker has."""
        while self.waiting and self.waiting[0].is_free(now):
            one = self.waiting.pop(0)
            one.deliveries += 1
            self.judge(one, now)

    def judge(self, one: Submitted, now: datetime) -> None:
        """Decide on an attempt; one that too many workers died of counts as failed, and is the last."""
        is_dead, source = one.deliveries > DEATHS, self.state
        tool = self.tool if one.is_known or is_dead else None
        is_right = not is_dead and self.schema is not None and one.is_known and one.output in FITTING[self.schema]
        if is_dead:
            self.allowed = min(self.allowed, one.number)
        self.updated_at = now
        self.parsed[one.number] = not is_dead and one.output not in UNPARSED
        label = str(one.number) if one.number <= 10 else "more"
        self.counts["judged", label] += 1
        self.counts["valid", label] += is_right
        if source == "guided" and self.untried and self.read_at is not None and self.read_at <= one.at:
            self.counts["tried", self.untried] += 1
            self.counts["worked", self.untried] += is_right
            self.untried = None
        if is_right and not (source == "blocked" and tool is not None and tool.hold):
            self.told[one.number] = "valid"
            self.end("valid", now)
        elif not is_right and tool is not None and tool.mode == "observe":
            self.told[one.number] = "valid"
            self.end("observed", now)
        elif source == "blocked":
            self.told[one.number] = "blocked"
        elif one.number >= self.allowed and self._renew(one.number, one.at):
            pass
        elif one.number >= self.allowed:
            self.told[one.number] = "blocked"
            self.state, self.blocked_at, self.rounds = "blocked", now, self.rounds + 1
            self.counts["escalation", ""] += 1
        else:
            self.told[one.number] = "retry"
            if source != "guided":
                self.state = "pending" if self.waiting else "retrying"

    def answer(self, decision: str, grant: int, now: datetime) -> None:
        """Answer as a person does: what is granted comes on top of what was tried meanwhile."""
        self.grant = grant if grant and decision == "hint" else GRANTS[decision]
        self.allowed, self.read_at, self.renewals = self.made + self.grant, None, 0
        self.counts["guidance", decision] += 1
        self.answers += 1
        self.updated_at = now
        self._leave_the_queue()
        self.held = None
        if LEADS_TO[decision] == "guided":
            self.state, self.untried = "guided", decision
        else:
            self.end(LEADS_TO[decision], now)

    def is_overdue(self, now: datetime) -> bool:
        return self.state == "blocked" and self.blocked_at + WAITS <= now and self.held is None

    def expire(self, now: datetime) -> None:
        """End as the tool says of what nobody answered."""
        self.end("rejected" if self.tool is not None and self.tool.on_expiry == "reject" else "expired", now)

    def end(self, state: str, now: datetime) -> None:
        """Come to an end; what waits is dropped."""
        self.state, self.updated_at = state, now
        self.waiting.clear()
        self.counts["outcome", state] += 1
        self._leave_the_queue()

    def _leave_the_queue(self) -> None:
        self.claim, self.snoozed = None, NOON


def continued(calls: Mapping[int, Expected], session: str | None, tool_call_id: str, name: str) -> list[Expected]:
    """List the calls that an output without our id and without a turn may belong to."""
    opened = [c for _, c in sorted(calls.items()) if session is not None and c.session == session and not c.has_ended]
    same = [call for call in opened if call.tool_call_id == tool_call_id and (call.name == name or not call.schema)]
    return same[-1:] or [call for call in opened if call.name == name and call.state in ("blocked", "guided")]

"""Calls: how they are found, and how they move from state to state."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models
from django.db.models import Case, F, Q, When
from django.db.models.lookups import LessThanOrEqual

from retrycontract.contract.configuration import OnExpiry
from retrycontract.contract.lifecycle import ENDS, LEGAL_MOVES, Budget, CallState
from retrycontract.contract.matching import Submission
from retrycontract.contract.outputs import MAX_MODEL, Kind
from retrycontract.store import call_texts
from retrycontract.store.call_texts import Sought
from retrycontract.store.fields import (
    IN_BLOCKS,
    MILESTONE,
    Block,
    ByLetters,
    JSONText,
    SqlLiteral,
    block_of,
    literals,
    new_call_id,
)
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.tools import KINDS, Tool, ToolVersion
from retrycontract.store.statements import Statement, insert, planned_for_values
from retrycontract.store.transactions import note

STATES = [(state.value, state.value.capitalize()) for state in CallState]
ENDED = sorted(state.value for state in ENDS)
UNDERWAY = sorted({state.value for state in CallState} - set(ENDED))
MAX_TOOLS_FOUND = 50  # tools that one search looks at
# A poll lasts at most a minute and the next one follows it; what waits is noted each third of that.
WAITS, WAIT_NOTED = timedelta(seconds=75), timedelta(seconds=20)
MAX_CALLS_OF_ID = 500  # calls that share a tool call id; some agents begin to count anew in each session


class LostRaceError(RuntimeError):
    """Raised when a row was changed by somebody else between reading and writing it; ask again."""


class IllegalMoveError(RuntimeError):
    """Raised for a move that the table of states does not have."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        super().__init__(f"a call cannot go from {source} to {target}")


class CallQuerySet(models.QuerySet["Call"]):
    """Find calls."""

    def of(self, agent: Agent | int) -> CallQuerySet:
        """Keep what the agent may see: its own calls."""
        return self.filter(agent=agent)

    def open(self) -> CallQuerySet:
        return self.exclude(state__in=literals(ENDED))

    def in_states(self, *states: str) -> CallQuerySet:
        found = self.filter(state__in=literals(states))
        # With the condition of the index of states, which SQLite does not take otherwise.
        return found if CallState.VALID in states else found.exclude(state=SqlLiteral(CallState.VALID.value))

    def page(self, *, after: str | None, size: int, is_of_tool: bool = False) -> list[Call]:
        """List the newest calls, or those that follow the call `after`; raises Call.DoesNotExist for an unknown one."""
        older = self.up_to(self.values_list("pk", flat=True).get(public_id=after) - 1) if after else self
        return list(older.order_by(*(IN_BLOCKS if is_of_tool else ("-pk",)))[:size])

    def up_to(self, key: int) -> CallQuerySet:
        """Keep the calls up to a key; its block is said, too, where an index has blocks."""
        return self.filter(LessThanOrEqual(Block("pk"), block_of(key)), pk__lte=key)

    def newest(self, number: int, found: Sought) -> list[Call]:
        """List the newest calls that a search found, with their agents.

        Their keys first, which an index holds: to put what is found into order, whole rows would be read and sorted.
        """
        keys: list[int] = []
        for part in found.parts:
            keys += self.filter(part.condition).order_by(*part.order).values_list("pk", flat=True)[:number]
        newest = sorted(keys, reverse=True)[:number]
        return list(Call.objects.filter(pk__among=newest).select_related("agent").order_by("-pk"))

    def count_up_to(self, most: int, found: Sought) -> int:
        """Count the calls that a search found, up to a bound."""
        number = 0
        for condition in found.counted:
            if number < most:
                number += self.filter(condition).order_by()[: most - number].count()
        return number

    def answered(self) -> CallQuerySet:
        """Keep the calls that ended and that a person answered, the newest first."""
        # By the states that do not end: SQLite would take the index of states for the others.
        return self.filter(was_answered=True).exclude(state__in=UNDERWAY).order_by("-pk")

    def blocked(self) -> CallQuerySet:
        """Keep the operators' queue, the longest waiting first."""
        return self.filter(state=SqlLiteral(CallState.BLOCKED.value)).order_by("blocked_at", "pk")

    def search(self, text: str) -> CallQuerySet:
        """Keep the calls that `sought` means."""
        return self.filter(sought(text).any)

    def changed_at(self, call_ids: Collection[str]) -> dict[str, datetime]:
        """Tell when each of some calls changed last."""
        return dict(self.filter(public_id__in=call_ids).order_by().values_list("public_id", "updated_at"))

    def ended_before(self, moment: datetime) -> CallQuerySet:
        """Keep the calls that ended before a moment and were left alone since."""
        return self.filter(state__in=literals(ENDED), updated_at__lt=moment)

    def overdue(self, now: datetime) -> CallQuerySet:
        """Keep the Blocked calls that nobody answered in time; what is held at the desk was answered."""
        held = models.Q(escalations__held_answer__isnull=False, escalations__state="open")
        late = self.filter(state=SqlLiteral(CallState.BLOCKED.value), expires_at__lte=now)
        return late.exclude(pk__in=Call.objects.filter(held).values("pk")).order_by("expires_at", "pk")


def sought(text: str) -> Sought:
    """Mean the calls of tools whose name holds the text, those that bear an id that begins with it, and those with
    its words in what the agent was trying to do or in the values that it sent; without a text, every call.

    An id is a call's own, its session's, a correlation or a tool call id. Of words and ids the newest are found.
    """
    if not text:
        return Sought()
    with planned_for_values():
        tools = Tool.objects.filter(name__icontains=text).values_list("name", flat=True)
        names = set(tools[:MAX_TOOLS_FOUND])
        if Call.objects.filter(tool_name=text).order_by().exists():  # also one that nobody registered
            names.add(text)
        keys = {*_bearing(text), *call_texts.find(text, most=MAX_CALLS_OF_ID)}
    # As lists: of a subquery in an OR, PostgreSQL would read every call.
    return Sought(frozenset(names), frozenset(keys))


def _bearing(text: str) -> list[int]:
    """List calls by an id of theirs that begins so, the newest, as many of each kind as a search looks at."""
    found: list[int] = []
    attempts = Call._meta.get_field("attempts").related_model  # asked for: its module imports this one
    for rows, name, key in ((Call, "public_id", "pk"), (Call, "session_id", "pk"), (Call, "correlation_id", "pk"),
                            (attempts, "tool_call_id", "call_id")):  # fmt: skip
        if connection.vendor == "sqlite":  # compares bytes, so a range of its indexes is a beginning
            begins = {f"{name}__gte": text, f"{name}__lt": text + "\U0010ffff"}
        else:
            # On PostgreSQL the indexes below serve only LIKE with a fixed beginning; comparisons follow the locale.
            begins = {f"{name}__startswith": text}
        # In the order of the index, else all that begin so are sorted for the newest; ours begin with their time. Of
        # one id an index that is read backwards gives the newest first, too.
        kept = rows._default_manager.filter(**begins).order_by(ByLetters(F(name), descending=True))
        keys = kept.values_list(key, flat=True)
        found += keys[:MAX_CALLS_OF_ID]
    return found


AS_SEEN = Statement(lambda pk, state: Call.objects.filter(pk=pk, state=state), "pk", "state")
AS_COUNTED = Statement(lambda **seen: Call.objects.filter(**seen), "pk", "state", "attempts_made")
CALL_OF_AGENT = Statement(
    lambda agent_id, public_id: (
        Call.objects.of(agent_id).select_related("agent", "tool", "version").filter(public_id=public_id).order_by()
    ),
    "agent_id", "public_id",
)  # fmt: skip


class Call(models.Model):
    """One thing that an agent is trying to get right; keeps its id through all its attempts."""

    public_id = models.CharField(max_length=40, default=new_call_id)
    # Looked for by `call_by_agent`, as an attempt's call is by its unique number; tools and versions are never deleted.
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="calls", db_index=False)
    kind = models.CharField(max_length=20, choices=KINDS)
    tool_name = models.CharField(max_length=300)
    tool = models.ForeignKey(Tool, null=True, on_delete=models.PROTECT, related_name="calls", db_index=False)
    version = models.ForeignKey(ToolVersion, null=True, on_delete=models.PROTECT, related_name="calls", db_index=False)
    state = models.CharField(max_length=12, choices=STATES, default=CallState.PENDING)
    session_id = models.CharField(max_length=200, null=True)
    task_id = models.CharField(max_length=200, null=True)
    correlation_id = models.CharField(max_length=200, null=True)
    last_turn = models.BigIntegerField(null=True)
    last_tool_call_id = models.CharField(max_length=200)
    model = models.CharField(max_length=MAX_MODEL, null=True)  # of the newest attempt that named one
    attempts_made = models.PositiveIntegerField(default=0)
    attempts_allowed = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    was_answered = models.BooleanField(default=False)  # by a person, at least once
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    blocked_at = models.DateTimeField(null=True)
    waited_at = models.DateTimeField(null=True)  # when an agent last asked for guidance, within some seconds
    expires_at = models.DateTimeField(null=True)
    # Up to 40 kB, which SQLite reads page after page to reach what stands behind it.
    context = JSONText(null=True)

    objects = CallQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            # By letters, so that one index of PostgreSQL's finds an id and what begins so.
            models.UniqueConstraint(
                fields=("public_id",), name="call_unique_public_id", opclasses=("varchar_pattern_ops",)
            ),
            models.CheckConstraint(condition=Q(state__in=[s.value for s in CallState]), name="call_state_known"),
            models.CheckConstraint(
                condition=~Q(state=CallState.BLOCKED) | Q(blocked_at__isnull=False), name="call_blocked_has_time"
            ),
        )
        # Each goes by keys upwards, as calls come: the other way round each new one splits pages that stay half empty.
        indexes = (
            # The operators' queue and its expiry; by state first, as SQLite prefers what is equal to what is in order.
            models.Index(fields=("state", "blocked_at"), name="call_queue", condition=Q(state="blocked")),
            # What one answer may be given to.
            models.Index(
                fields=("tool_name", "fingerprint", "agent", "blocked_at"),
                name="call_by_mistake",
                condition=Q(state="blocked"),
            ),
            # Matching a submission to an open call.
            models.Index(
                fields=("agent", "session_id", "tool_name"), name="call_open_by_session", condition=~Q(state__in=ENDED)
            ),
            # An agent's own list, and the dashboard's tabs; most calls are valid, and found without.
            models.Index(fields=("agent", "id"), name="call_by_agent"),
            models.Index(fields=("state", "id"), name="call_by_state", condition=~Q(state=CallState.VALID.value)),
            # What retention forgets.
            models.Index(fields=("updated_at",), name="call_ended", condition=Q(state__in=ENDED)),
            # The dashboard's search, also with an agent who may have no call of the tool.
            models.Index("tool_name", Block("id"), "agent", name="call_by_tool_name"),
            models.Index(
                fields=("session_id",),
                name="call_by_session",
                condition=Q(session_id__isnull=False),
                opclasses=("varchar_pattern_ops",),
            ),
            models.Index(
                fields=("correlation_id",),
                name="call_by_correlation",
                condition=Q(correlation_id__isnull=False),
                opclasses=("varchar_pattern_ops",),
            ),
            # The answered ones, a few of a hundred: their list, and their search.
            models.Index(fields=("id", "agent", "state"), name="call_answered", condition=Q(was_answered=True)),
            models.Index(
                "tool_name", Block("id"), "agent", "state", name="call_answered_by_tool", condition=Q(was_answered=True)
            ),
            # Which model: most calls name none.
            models.Index(fields=("model", "id"), name="call_by_model", condition=Q(model__isnull=False)),
            # The list of all calls: those of a time, of a rare kind, and those that failed at least once.
            models.Index(fields=("created_at",), name="call_by_time", condition=Q(MILESTONE)),
            models.Index(fields=("kind", "id"), name="call_by_kind", condition=~Q(kind=Kind.TOOL_CALL.value)),
            models.Index(fields=("id",), name="call_failed", condition=~Q(fingerprint="")),
            # What failed of a tool lately: its page, and what a changed schema is tried on.
            models.Index(fields=("tool", "id"), name="call_failed_by_tool", condition=~Q(fingerprint="")),
            # The log of agents' responses: all, an agent's, a task's.
            models.Index(fields=("id",), name="call_responses", condition=Q(kind=Kind.AGENT_RESPONSE.value)),
            models.Index(
                fields=("agent", "id"), name="call_responses_agent", condition=Q(kind=Kind.AGENT_RESPONSE.value)
            ),
            models.Index(
                fields=("task_id", "id"), name="call_responses_task", condition=Q(kind=Kind.AGENT_RESPONSE.value)
            ),
        )

    def __str__(self) -> str:
        return self.public_id

    @property
    def is_of_unknown_tool(self) -> bool:
        """Tell whether nobody had registered the tool that the call named."""
        return self.version_id is None

    @property
    def has_ended(self) -> bool:
        """Tell whether no attempt can follow."""
        return CallState(self.state).has_ended

    @property
    def attempts_counted(self) -> int:
        """Count the attempts that were the agent's own to make."""
        return min(self.attempts_made, self.attempts_allowed)

    @property
    def attempts_beyond(self) -> int:
        """Count the attempts that the agent made while it was Blocked."""
        return max(self.attempts_made - self.attempts_allowed, 0)

    @property
    def expired_into(self) -> OnExpiry | None:
        """Tell what became of the call because nobody answered in time; None when that is not so."""
        if self.state == CallState.EXPIRED:
            return "expire"
        if self.state != CallState.REJECTED:
            return None
        newest = self.escalations.order_by("-round").first()
        return "reject" if newest is not None and newest.has_expired else None

    @property
    def is_unanswered(self) -> bool:
        """Tell whether nobody has answered the newest request for a person."""
        return self.state == CallState.BLOCKED or self.expired_into is not None

    @property
    def budget(self) -> Budget:
        """Give the attempts made and allowed."""
        return Budget(self.attempts_made, self.attempts_allowed)

    def is_waited_for(self, now: datetime) -> bool:
        """Tell whether an agent waits for the answer: it has asked, or a stream has, within the time of one poll."""
        return any(asked is not None and now - asked <= WAITS for asked in (self.waited_at, self.agent.streamed_at))

    def note_wait(self, now: datetime) -> None:
        """Keep that an agent waits; written at most once in a while, since a poll should cost no write."""
        if self.waited_at is None or now - self.waited_at > WAIT_NOTED:
            note(lambda: Call.objects.filter(pk=self.pk).update(waited_at=now))
            self.waited_at = now

    def move(self, target: CallState, now: datetime, **changes: Any) -> None:
        """Move to another state, a compare-and-swap; raises IllegalMoveError or LostRaceError.

        Staying where one is, as a Blocked call does when its agent fails again, is always legal. A move that counts
        an attempt compares the number of attempts, too: of two that came at once one must look again.
        """
        source = CallState(self.state)
        if target is not source and target not in LEGAL_MOVES[source]:
            raise IllegalMoveError(source, target)
        changes |= {"state": target, "updated_at": now}
        if self.pk is None:
            self._assign(changes)
            insert(self)
            return
        seen = {"pk": self.pk, "state": source.value}
        if "attempts_made" in changes:
            moved = AS_COUNTED.update(changes, **seen, attempts_made=self.attempts_made)
        else:
            moved = AS_SEEN.update(changes, **seen)
        if not moved:
            raise LostRaceError(f"{self} is no longer {source}, or has a new attempt")
        # Only now: whoever lost the race keeps the object as it was read.
        self._assign(changes)

    def hold(self) -> None:
        """Lock the call until the transaction ends, and read where it stands.

        What moves nothing takes this lock before any other: else its event could name a state that another
        transaction has left meanwhile, and stand in the trail behind the move.
        """
        told = ("state", "attempts_made", "attempts_allowed")
        held = Call.objects.select_for_update(no_key=True).only(*told).get(pk=self.pk)
        self._assign({name: getattr(held, name) for name in told})

    def _assign(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            setattr(self, name, value)


MAX_CANDIDATES = 50  # open calls of one session and tool that matching looks at


def candidates(agent: Agent, submission: Submission) -> list[Call]:
    """List the agent's open calls that a submission may continue, oldest first; without a session there are none."""
    if submission.session_id is None:
        return []
    found = CONTINUED.rows(
        agent_id=agent.pk,
        tool_call_id=submission.tool_call_id,
        session_id=submission.session_id,
        tool_name=submission.tool_name,
    )
    # Read newest first, so that the bound leaves out the oldest; matching takes them in the order in which they began.
    return sorted(found, key=lambda call: call.pk)


def _continued(agent_id: Any, tool_call_id: Any, session_id: Any, tool_name: Any) -> CallQuerySet:
    """Keep the open calls that a submission without our id may continue, the newest first."""
    by_id = Q(last_tool_call_id=tool_call_id)
    found = Call.objects.open().filter(by_id | Q(tool_name=tool_name), agent_id=agent_id, session_id=session_id)
    # What bears the same id is looked at first, however many calls of the tool were left open.
    return found.order_by(Case(When(by_id, then=0), default=1), "-pk")


CONTINUED = Statement(
    lambda **wanted: _continued(**wanted).select_related("agent", "tool", "version")[:MAX_CANDIDATES],
    "agent_id", "tool_call_id", "session_id", "tool_name",
)  # fmt: skip

"""What an operator looks for in a list of calls, and the calls that made the same mistake, over the whole queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Q
from django.utils.functional import SimpleLazyObject

from dashboard.shared.choices import MAX_OPTIONS, Choices, plain
from dashboard.shared.mistakes import MistakePattern, by_pattern, patterns_of
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.store.models import Agent, Attempt, Call, Claim, Guidance, Snooze, Tool
from retrycontract.store.models.calls import CallQuerySet
from retrycontract.store.models.tools import KINDS

AGES: Final = {
    "5m": ("5 minutes", timedelta(minutes=5)),
    "1h": ("an hour", timedelta(hours=1)),
    "1d": ("a day", timedelta(days=1)),
}
KIND_WORDS: Final = dict(KINDS)


def call_words(tool: str, agent: str, kind: str, code: str) -> dict[str, str]:
    return {
        "tool": f"Tool {tool}",
        "agent": f"Agent {agent}",
        "kind": str(KIND_WORDS.get(kind, "")),
        "code": code and f"{code} {ErrorCode(code).title}",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters(Choices):
    """Hold what was chosen; empty text is no choice.

    `like` is the id of a call whose mistake is meant. `code`, `kind` and `age` are known for no index: they hold
    where calls are few.
    """

    q: str = ""
    tool: str = ""
    agent: str = ""
    kind: str = ""
    code: str = ""
    age: str = ""
    like: str = ""

    @classmethod
    def offers(cls, name: str, value: str) -> bool:
        """Tell whether something may be chosen."""
        known = {"kind": KIND_WORDS, "code": list(ErrorCode), "age": AGES}
        return value in known.get(name, (value,))

    def bounded(self, *, are_few: bool) -> Filters:
        """Leave out what may not be asked of a list of many calls."""
        return self if are_few else replace(self, kind="", code="", age="", like="")

    @property
    def words(self) -> dict[str, str]:
        return call_words(self.tool, self.agent, self.kind, self.code) | {
            "age": self.age and f"Waits longer than {AGES[self.age][0]}",
            "like": "One mistake",
        }

    @property
    def by_agent(self) -> Q:
        """Say which calls are the chosen agent's."""
        return Q(agent=Agent.objects.filter(name=self.agent).values("pk")[:1])

    def apply(self, calls: CallQuerySet, now: datetime, *, are_all: bool = False) -> CallQuerySet:
        """Keep of some calls, or of all, what was chosen; what `q` means takes queries to tell: who asks does it."""
        if self.tool:
            calls = calls.filter(tool_name=self.tool)
        if self.agent:
            # Some calls and a search bring indexes: in that of agents SQLite would read all calls of this one.
            is_alone = are_all and not self.q
            key = Agent.objects.filter(name=self.agent).values("pk")[:1]
            calls = calls.alias(agent_key=F("agent_id") + 0).filter(self.by_agent if is_alone else Q(agent_key=key))
        if self.kind:
            calls = calls.filter(kind=self.kind)
        if self.age:
            calls = calls.filter(updated_at__lte=now - AGES[self.age][1])
        if self.code:
            code = self.code
            # The newest attempt has the number of all that were made, which needs no sorting within the subquery.
            newest = Attempt.objects.filter(call=OuterRef("pk"), is_valid=False, number=OuterRef("attempts_made"))
            calls = calls.filter(Exists(newest.filter(errors_json__contains=f'"{code}"')))
        if not self.like:
            return calls
        model = Call.objects.select_related("agent").filter(public_id=self.like).first()
        if model is None or not model.fingerprint:
            return calls.filter(public_id=self.like)
        namespace = Agent.objects.filter(namespace=model.agent.namespace)
        return calls.filter(agent__in=namespace, tool_name=model.tool_name, fingerprint=model.fingerprint)


@dataclass(frozen=True, slots=True)
class Options:
    """Hold what the filters offer."""

    tools: list[str]
    agents: list[str]
    kinds: list[tuple[str, str]]
    codes: list[ErrorCode]
    ages: list[tuple[str, str]]


def read_options() -> Options:
    tools = Tool.objects.order_by("name").values_list("name", flat=True).distinct()
    agents = Agent.objects.order_by("name").values_list("name", flat=True).distinct()
    return Options(
        plain(tools[:MAX_OPTIONS]),
        plain(agents[:MAX_OPTIONS]),
        [(value, str(word)) for value, word in KINDS],
        list(ErrorCode),
        [(name, words) for name, (words, _) in AGES.items()],
    )


READ_CALLS = 12  # of a group, the longest waiting: what their values show, hundreds more rarely change
SHOWN_MISTAKES = 3  # in a row of the list
SOON_FOUND = 100  # Blocked calls among which a page's groups mostly begin
MOST_GROUPED = 10_000  # Blocked calls that are looked at, the longest waiting


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one call with what is wrong with its newest judged attempt; `judged` has that of several calls."""

    call: Call
    judged: Mapping[int, tuple[ValidationError, ...]]
    claim: Claim | None = None  # who has it
    snooze: Snooze | None = None  # until when it is put off
    answer: Guidance | None = None  # the newest one, where the list tells of answers

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give its errors, the worst first."""
        return self.judged.get(self.call.pk, ())

    @property
    def version(self) -> str:
        """Name what its line shows of the call, until the call changes."""
        return f"{self.call.public_id}:{self.call.updated_at.timestamp()}"

    @property
    def worst(self) -> ValidationError | None:
        return max(self.errors, key=lambda error: error.severity, default=None)

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give its errors, those that are alike as one."""
        return by_pattern(self.errors)

    @property
    def others(self) -> int:
        """Count the errors beside the worst one that block execution."""
        return max(sum(error.severity is ErrorSeverity.ERROR for error in self.errors) - 1, 0)

    @property
    def goal(self) -> str:
        """Say what the agent was trying to do, when it told."""
        context = self.call.context
        goal = context.get("goal") or context.get("last_user_message") if isinstance(context, dict) else None
        return goal if isinstance(goal, str) else ""


@dataclass(frozen=True)
class Group:
    """Hold calls that made the same mistakes, oldest first; often only one. `size` counts also those not read."""

    rows: tuple[Row, ...]
    size: int
    agents: int = 1

    @property
    def is_shared(self) -> bool:
        """Tell whether several calls share the mistake."""
        return self.size > 1

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give the worst of what its calls did wrong, each with what stood there."""
        return self._mistakes[:SHOWN_MISTAKES]

    @property
    def hidden_mistakes(self) -> int:
        """Count the mistakes that the list leaves out."""
        return max(len(self._mistakes) - SHOWN_MISTAKES, 0)

    @property
    def unread(self) -> int:
        """Count the calls whose values are not shown."""
        return self.size - len(self.rows)

    @property
    def version(self) -> str:
        """Name what its line shows of its calls, until one of them changes, comes or goes."""
        return "|".join([str(self.size), str(self.agents), *(row.version for row in self.rows)])

    @property
    def takers(self) -> list[Claim]:
        """Say who has some of them, each person once."""
        return list({row.claim.operator_id: row.claim for row in self.rows if row.claim}.values())

    @cached_property
    def _mistakes(self) -> tuple[MistakePattern, ...]:
        return patterns_of([row.errors for row in self.rows])


@dataclass(frozen=True, slots=True)
class Found:
    """Hold one group as it was found: the keys of its first calls, how many it has, and of how many agents."""

    keys: tuple[int, ...]
    size: int
    agents: int


def find_groups(calls: CallQuerySet, *, beyond: tuple[datetime, int] | None, number: int) -> list[Found]:
    """Find the groups of Blocked calls that follow a place, by how long their first call waits."""
    waiting = calls.order_by("blocked_at", "pk")
    following, earlier = waiting, set[int]()
    if beyond is not None:  # the calls that stand at the place, or before it
        at, key = beyond
        before = Q(blocked_at__lt=at) | Q(blocked_at=at, pk__lte=key)
        following, earlier = waiting.exclude(before), set(waiting.filter(before).values_list("pk", flat=True))
    found: list[Found] = []
    for looked_at in (SOON_FOUND, MOST_GROUPED):
        heads = _by_mistake(following[:looked_at])
        # Only of the groups that the page may show are the calls read that stand further down, or before the place.
        mistakes = list(heads)[: number if beyond is None else looked_at]
        alike = Q(tool_name__in={tool for _, tool, _ in mistakes}, fingerprint__in={own for *_, own in mistakes})
        whole = heads | _by_mistake(waiting.exclude(fingerprint="").filter(alike)[:MOST_GROUPED])
        groups = [whole[mistake] for mistake in mistakes if whole[mistake][0][0] not in earlier]
        found = [
            Found(tuple(pk for pk, _ in members[:READ_CALLS]), len(members), len({agent for _, agent in members}))
            for members in groups[:number]
        ]
        if len(found) == number or sum(map(len, heads.values())) < looked_at:
            break
    return found


def _by_mistake(calls: CallQuerySet) -> dict[tuple[str, str, str | int], list[tuple[int, int]]]:
    """Put the keys of calls, and of their agents, below namespace, tool and mistake, in the order of the calls."""
    groups: dict[tuple[str, str, str | int], list[tuple[int, int]]] = {}
    for pk, agent, namespace, tool, fingerprint in calls.values_list(
        "pk", "agent_id", "agent__namespace", "tool_name", "fingerprint"
    ):
        # A call without a fingerprint has a mistake of its own.
        groups.setdefault((namespace, tool, fingerprint or pk), []).append((pk, agent))
    return groups


def first_calls(groups: Sequence[Found]) -> list[Call]:
    """Read the first calls of some groups, group by group, the longest waiting first; of all but one only times."""
    keys = [key for group in groups for key in group.keys]
    shown = Call.objects.select_related("agent").in_bulk([group.keys[0] for group in groups])
    alike = Call.objects.only("public_id", "state", "updated_at").in_bulk(
        [key for group in groups for key in group.keys[1:]]
    )
    found = shown | alike
    return [found[key] for key in keys if key in found]


def rows_of(calls: Sequence[Call], claims: Mapping[int, Claim], snoozes: Mapping[int, Snooze]) -> list[Row]:
    """Put beside each call who has it and until when it is put off; what is wrong with it is read when asked for."""

    def judged() -> dict[int, tuple[ValidationError, ...]]:
        newest = Attempt.objects.newest_judged(calls).defer("output", "feedback", "sealed")
        return {attempt.call_id: attempt.errors for attempt in newest}

    errors: Any = SimpleLazyObject(judged)  # lines that were drawn before need none
    return [Row(call, errors, claims.get(call.pk), snoozes.get(call.pk)) for call in calls]


def grouped(rows: Sequence[Row], found: Sequence[Found]) -> tuple[Group, ...]:
    by_key = {row.call.pk: row for row in rows}
    members = [(tuple(by_key[key] for key in group.keys if key in by_key), group) for group in found]
    return tuple(Group(shown, group.size, group.agents) for shown, group in members if shown)

"""What an operator looks for: read from the address, kept in it, and laid on a list of calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, QuerySet

from dashboard.shared.choices import MAX_OPTIONS, Choices, plain
from retrycontract.contract.codes import ErrorCode
from retrycontract.store.models import Agent, Attempt, Call, Tool
from retrycontract.store.models.calls import CallQuerySet
from retrycontract.store.models.tools import KINDS

AGES: Final = {
    "5m": ("5 minutes", timedelta(minutes=5)),
    "1h": ("an hour", timedelta(hours=1)),
    "1d": ("a day", timedelta(days=1)),
}
KIND_WORDS: Final = dict(KINDS)


def call_words(tool: str, agent: str, kind: str, code: str) -> dict[str, str]:
    """Say in words what was chosen of calls, by its name."""
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
        """Say each choice in words, by its name."""
        return call_words(self.tool, self.agent, self.kind, self.code) | {
            "age": self.age and f"Waits longer than {AGES[self.age][0]}",
            "like": "One mistake",
        }

    def apply(self, calls: CallQuerySet, now: datetime) -> CallQuerySet:
        """Keep the calls that are looked for."""
        if self.q:
            calls = calls.search(self.q)
        if self.tool:
            calls = calls.filter(tool_name=self.tool)
        if self.agent:
            calls = calls.filter(agent__in=Agent.objects.filter(name=self.agent))
        if self.kind:
            calls = calls.filter(kind=self.kind)
        if self.age:
            calls = calls.filter(updated_at__lte=now - AGES[self.age][1])
        if self.code:
            calls = calls.filter(Exists(_with_code(self.code)))
        return _like(calls, self.like) if self.like else calls


@dataclass(frozen=True, slots=True)
class Options:
    """Hold what the filters offer."""

    tools: list[str]
    agents: list[str]
    kinds: list[tuple[str, str]]
    codes: list[ErrorCode]
    ages: list[tuple[str, str]]


def read_options() -> Options:
    """Read what there is to choose from."""
    tools = Tool.objects.order_by("name").values_list("name", flat=True).distinct()
    agents = Agent.objects.order_by("name").values_list("name", flat=True).distinct()
    return Options(
        plain(tools[:MAX_OPTIONS]),
        plain(agents[:MAX_OPTIONS]),
        [(value, str(word)) for value, word in KINDS],
        list(ErrorCode),
        [(name, words) for name, (words, _) in AGES.items()],
    )


def _with_code(code: str) -> QuerySet[Attempt]:
    """Find the newest attempt of a call, when it has an error of this code."""
    newest = Attempt.objects.filter(call=OuterRef("pk"), is_valid=False, number=OuterRef("attempts_made"))
    return newest.filter(errors_json__contains=f'"{code}"')


def _like(calls: CallQuerySet, public_id: str) -> CallQuerySet:
    model = Call.objects.select_related("agent").filter(public_id=public_id).first()
    if model is None or not model.fingerprint:
        return calls.filter(public_id=public_id)
    namespace = Agent.objects.filter(namespace=model.agent.namespace)
    return calls.filter(agent__in=namespace, tool_name=model.tool_name, fingerprint=model.fingerprint)

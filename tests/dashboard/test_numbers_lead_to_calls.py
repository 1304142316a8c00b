"""Every number of the insights equals what is listed where it leads: the same calls, no more and no fewer."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape
from io import StringIO
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import UNTOLD, Generation
from retrycontract.store.models import Agent, Call, Count, Escalation, LostRaceError, Rollup, Tool
from retrycontract.store.models.counts import APART
from retrycontract.usecases.answers.deliver_answer import mark_delivered
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, RefusedAnswerError, give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.claim_call import NotBlockedError, claim_call
from retrycontract.usecases.calls.continue_call import CallEndedError
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.counts.keep_count import counted_model
from retrycontract.usecases.counts.recount import sum_up_everything, tallies_of_call
from tests.factories import RIGHT, WRONG, make_agent, make_tool, make_user, submit
from tests.management.conftest import printed

pytestmark = pytest.mark.django_db

LONG: Final = f"{'x' * 60}-{'y' * 60}"  # a model's name, and a field's
MODELS: Final = (None, "opus", "haiku", LONG)


NESTED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {},
                    "lines": {"type": "array", "items": {"properties": {"qty": {"type": "integer"}}}},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
        },
        LONG: {"type": "string"},
        "größe.a+b/c": {"type": "integer"},
    },
    "required": ["orders"],
    "additionalProperties": False,
}
NESTED_RIGHT: Final[dict[str, Any]] = {"orders": [{"id": 1}]}
NESTED_WRONG: Final[tuple[Any, ...]] = (
    {}, {"orders": 1}, {"orders": [{}, {}]}, {"orders": [{"id": 1, "made_up": 2}], "made_up": 3},
    {"orders": [{"id": 1, "lines": [{"qty": "x"}, {"qty": 1}]}]}, {"orders": [], LONG: 1}, "{",
    {"orders": [{"id": 1}], "größe.a+b/c": "VAL-008"},
    {"orders": "\",\"error_code\":\"VAL-002\",\"field_path\":\"/service\"", "service": {"region": 1}},
)  # fmt: skip
OUTPUTS: Final = {
    "deploy": (RIGHT, WRONG, WRONG, {}, {"service": 1, "region": 2, "zone": 3}),
    "orders": (NESTED_RIGHT, *NESTED_WRONG),
    "unheard_of": (RIGHT, {}),
}


@dataclass(frozen=True, slots=True)
class Added:
    """Hold what a call added to a counter, and when."""

    call: Call
    at: datetime
    count: Count
    amount: int


def everything_added() -> list[Added]:
    whole = Call.objects.select_related("agent").prefetch_related("attempts", "events", "guidance__escalation")
    return [
        Added(call, at, count, amount)
        for call in whole
        for at, tally in tallies_of_call(call)
        for count, amount in tally.items()
        if amount
    ]


def counted(added: Added, asked: dict[str, str]) -> int:
    """Say what something added to the number whose address asks so."""
    course, code = asked["course"], asked.get("code", "")
    place = {"": None, "(root)": ""}.get(asked.get("field", ""), asked.get("field"))
    measure, head = added.count.measure, added.count.label.partition(APART)[0]
    what, _, label = course.partition("-")
    is_cut = bool({"agent", "version", "model"} & asked.keys())  # then mistakes are counted by their places
    match (measure, what):
        case ("source_judged" | "source_valid", "checked" | "valid") if label == head:
            return added.amount if measure == {"checked": "source_judged", "valid": "source_valid"}[what] else 0
        case ("source_valid", "first") if head == "1":
            return added.amount
        case ("source_valid", "recovered") if head != "1":
            return added.amount
        case ("source_judged" | "source_valid", "failed") if head == "1" and not code:
            return added.amount if measure == "source_judged" else -added.amount
        case ("code_first", "failed") if head == code:
            return added.amount
        case ("source_judged" | "source_valid", "failing") if not code:
            return added.amount if measure == "source_judged" else -added.amount
        case ("place", "failing") if code and place is not None and head == f"{code} {place}".strip():
            return added.amount
        case ("failure", "failing") if head == code and place is None and not is_cut:
            return added.amount
        case ("place", "failing") if head.split()[0] == code and place is None and is_cut:
            return added.amount
        case ("place_answers", "answered") if code and head == f"{code} {place or ''}".strip():
            return added.amount
        case ("guidance", "answered") if not code:
            return added.amount
        case ("escalation", "escalated") | ("api_error", "unasked") | ("retry_text" | "retry_tokens", "cost"):
            return added.amount
        case ("guidance", "given") | ("tried", "tried") | ("worked", "worked") | ("outcome", "ended"):
            return added.amount if label == head else 0
        case ("guidance_time", "within"):
            return added.amount if label == head else 0
    return 0


def fits(added: Added, asked: dict[str, str]) -> bool:
    """Tell whether something was added in the time, of the tool and by the source that an address asks for."""
    since, until = asked.get("counted_since", ""), asked.get("counted_until", "")
    count, source = added.count, added.count.label.split(APART)[1:]
    wanted = [
        not since or added.at >= datetime.fromisoformat(since),
        not until or added.at < datetime.fromisoformat(until),
        count.tool_name == asked.get("tool", count.tool_name),
        asked.get("nameless") != "tool" or not count.tool_name,
        count.namespace == asked.get("namespace", count.namespace),
        added.call.agent.name == asked.get("agent", added.call.agent.name),
    ]
    if source:
        _, version, model = source
        wanted += [
            version == asked.get("version", version),
            model == counted_model(asked.get("model", model)),
            asked.get("nameless") != "model" or not model,
        ]
    return all(wanted)


def numbers_of(page: str) -> Iterator[tuple[str, dict[str, str], bool]]:
    """List the links of a page to lists of calls: what each says and asks for, and whether it is a sum of these."""
    for found in re.finditer(r'<a\b[^>]*href="(/calls/\?[^"]*)"[^>]*>(.*?)</a>', page, re.DOTALL):
        words = " ".join(re.sub(r"<[^>]+>", " ", found[2]).split())
        asked = {name: value for name, (value,) in parse_qs(urlsplit(unescape(found[1])).query).items()}
        around = page[max(found.start() - 80, 0) : found.end() + 80]
        # Tokens are no calls, and of one attempt several mistakes are counted.
        is_sum = re.fullmatch(r"[\d,]+( \w+)*( \w+, .*)?", words) and not re.search(
            "board-tokens|tokens, est|mistakes in failed", around
        )
        yield words, asked, bool(is_sum)


def listed(desk: Client, asked: dict[str, str]) -> set[str]:
    answered: Any = desk.get(f"/calls.csv?{urlencode(asked)}")
    assert answered.status_code == 200, (asked, answered.content)
    rows = csv.DictReader(StringIO(b"".join(answered).decode()))
    return {row["call_id"] for row in rows}


def hold_to_its_calls(desk: Client, query: str, history: list[Added]) -> Counter[str]:
    """Follow each number of a page; gives how many of each kind led somewhere."""
    followed, lists = Counter[str](), dict[str, set[str]]()
    for words, asked, is_sum in numbers_of(desk.get(f"/insights/?{query}").content.decode()):
        address = urlencode(asked)
        found = lists[address] = lists.get(address) or listed(desk, asked)
        if "course" not in asked:
            waiting = Call.objects.filter(state="blocked", tool_name__contains=asked.get("tool", ""))
            assert found == set(waiting.values_list("public_id", flat=True))
            continue
        if asked["course"] in ("checked", "waited"):  # a rate before and since, and a median
            continue
        amounts: defaultdict[str, int] = defaultdict(int)
        for added in history:
            if fits(added, asked):
                amounts[added.call.public_id] += counted(added, asked)
        assert found == {call for call, amount in amounts.items() if amount}, (query, words, asked)
        if is_sum:
            assert int(words.split()[0].replace(",", "")) == sum(amounts.values()), (query, words, asked)
        followed[asked["course"].partition("-")[0] + " of a mistake" * ("code" in asked)] += bool(found)
    return followed


REFUSALS: Final = (
    CallEndedError, LostRaceError, AlreadyAnsweredError, RefusedAnswerError, NotBlockedError, Escalation.DoesNotExist
)  # fmt: skip


class Work:
    """What agents and an operator do, at random, over two weeks until now."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.agents = [make_agent("paris"), make_agent("oslo")]
        for agent in self.agents:
            make_tool(agent)
            make_tool(agent, "orders", NESTED)
        self.operator = make_user("noah")
        self.end = timezone.now()
        self.now = self.end - timedelta(days=14)

    def go_on(self) -> None:
        calls: list[Call] = []
        while self.now < self.end:
            with suppress(*REFUSALS):
                self._act(self.chance.choice([None, *calls[-4:], *calls[-2:]]), calls)
            self.now += timedelta(minutes=self.chance.choice((0, 1, 7, 50, 90, 300)))

    def _act(self, call: Call | None, calls: list[Call]) -> None:
        if call:
            call.refresh_from_db()
        match self.chance.choices(
            ("submit", "answer", "cancel", "expire", "unasked", "schema"),
            (12, 9 if call and call.state == "blocked" else 0, 0.5, 0.5, 1, 0.2),
        )[0]:
            case "submit":
                self._submit(call, calls)
            case "unasked" if call:
                self._submit(call, calls, api_error="HTTP 429 (slow down)")
            case "answer" if call:
                escalation = call.escalations.latest("round")
                if self.chance.random() < 0.5:
                    claim_call(call, self.operator, now=self.now)
                    self.now += timedelta(minutes=self.chance.choice((0, 1, 4)))
                decision = self.chance.choice([Decision.HINT, Decision.HINT, *Decision])
                right = {"deploy": RIGHT}.get(call.tool_name, NESTED_RIGHT)
                given = give_guidance(
                    escalation, self.operator, decision, now=self.now, text="Look again.",
                    arguments=right if decision is Decision.CORRECTED else None,
                )  # fmt: skip
                if self.chance.random() < 0.8:
                    mark_delivered(given, now=self.now)
            case "cancel" if call:
                cancel_call(call, now=self.now)
            case "expire":
                expire_overdue(now=self.now)
            case "schema":
                make_tool(self.chance.choice(self.agents), schema=RIGHT_OR_NOT)

    def _submit(self, call: Call | None, calls: list[Call], **more: Any) -> None:
        agent: Agent = call.agent if call else self.chance.choice(self.agents)
        tool = call.tool_name if call else self.chance.choice(("deploy", "deploy", "orders", "orders", "unheard_of"))
        if tool == "unheard_of" and call and self.chance.random() < 0.5:
            tool = "deploy"
        model = self.chance.choice(MODELS)
        told = self.chance.choice(
            (UNTOLD, Generation(model=model), Generation(model=model, tokens_in=9), Generation(tokens_out=2))
        )
        is_guided = call is not None and call.state == "guided"
        output = None if more else self.chance.choice(OUTPUTS[tool][: 2 if is_guided else None])
        calls.append(submit(agent, output, tool=tool, call=call, at=self.now, generation=told, **more).call)


RIGHT_OR_NOT: Final[dict[str, Any]] = {"type": "object", "required": ["service"]}


def every_cut() -> list[str]:
    agent, other = Agent.objects.order_by("pk")[:2]
    tool = Tool.objects.filter(name="deploy", namespace=agent.namespace).first() or Tool.objects.order_by("pk")[0]
    version = tool.versions.order_by("pk").values_list("pk", flat=True)[0]
    model = Call.objects.exclude(model=None).values_list("model", flat=True)[0]
    return [
        "range=24h", "range=7d&by=minutes", "range=30d", f"range=30d&tool={tool.pk}", f"range=7d&tool={tool.pk}",
        f"range=30d&agent={agent.pk}", f"range=7d&agent={other.pk}&model={model}", f"range=30d&model={LONG}",
        f"range=30d&tool={tool.pk}&version={version}", f"range=30d&tool={tool.pk}&version={version}&agent={agent.pk}",
        "range=30d&by=tokens&model=opus",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_each_number_of_generated_work_is_that_of_the_calls_it_leads_to(desk: Client, seed: int) -> None:
    Work(seed).go_on()
    history = everything_added()
    if seed % 2:
        sum_up_everything(now=timezone.now())
    followed: Counter[str] = Counter()
    for query in every_cut():
        followed += hold_to_its_calls(desk, query, history)
    assert Rollup.objects.exists()
    assert followed.keys() >= {
        "first", "failed", "failed of a mistake", "failing", "failing of a mistake", "recovered", "checked", "valid",
        "escalated", "answered", "answered of a mistake", "given", "tried", "worked", "within", "ended", "cost",
        "unasked",
    }  # fmt: skip


def test_each_number_of_the_planted_demo_is_that_of_the_calls_it_leads_to(desk: Client) -> None:
    printed("seed", "--calls", "400", "--days", "9")
    history = everything_added()
    followed: Counter[str] = Counter()
    for query in every_cut()[1::3]:
        followed += hold_to_its_calls(desk, query, history)
    assert followed.keys() >= {"first", "failed", "answered of a mistake", "given", "worked", "within", "ended", "cost"}

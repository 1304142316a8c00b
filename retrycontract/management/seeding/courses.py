"""Tools as teams have them, and stories of their calls, told through the same use cases as real ones, to be copied."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import DateTimeField, ForeignKey, Model

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Generation
from retrycontract.management.demo import BOOK_FLIGHT
from retrycontract.store.models import Agent, AnswerRecord, Attempt, Call, Count, Escalation, Event, Guidance, hour_of
from retrycontract.usecases.answers.deliver_answer import mark_delivered
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import NewAttempt
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.calls.submit_attempt import submit_attempt
from retrycontract.usecases.counts.recount import tallies_of_call

TEXT: Final = {"type": "string", "minLength": 1}
DATE: Final = {"type": "string", "format": "date"}
MAIL: Final = {"type": "string", "format": "email"}
URL: Final = {"type": "string", "format": "uri"}
FLAG: Final = {"type": "boolean"}
TEXTS: Final = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 20}


class SeedTool(NamedTuple):
    """Name a tool with its schema and a call that is right."""

    name: str
    schema: dict[str, Any]
    valid: dict[str, Any]


def number(low: int, high: int) -> dict[str, Any]:
    """Make the schema of a whole number."""
    return {"type": "integer", "minimum": low, "maximum": high}


def one_of(*values: str) -> dict[str, Any]:
    """Make the schema of a choice."""
    return {"enum": list(values)}


def matching(pattern: str) -> dict[str, Any]:
    """Make the schema of a text of one form."""
    return {"type": "string", "pattern": f"^{pattern}$"}


def tool(name: str, valid: dict[str, Any], optional: str = "", /, **properties: Any) -> SeedTool:
    """Make a tool that takes these arguments and no others; `optional` names those that may be left out."""
    required = [key for key in properties if key not in optional.split()]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return SeedTool(name, schema, valid)


def table(**columns: Any) -> dict[str, Any]:
    """Make the schema of a list of objects."""
    rows = {"type": "object", "properties": columns, "required": list(columns), "additionalProperties": False}
    return {"type": "array", "items": rows, "minItems": 1}


# By the agent that registers them.
TOOLS: Final[dict[str, tuple[SeedTool, ...]]] = {
    "travel": (
        SeedTool(
            "book_flight", BOOK_FLIGHT, {"origin": "OSL", "destination": "LIS", "date": "2030-05-04", "passengers": 2}
        ),
        tool("search_hotels", {"city": "Lisbon", "check_in": "2030-05-04", "nights": 3, "stars": 4}, "stars",
             city=TEXT, check_in=DATE, nights=number(1, 30), stars=number(1, 5)),
        tool("rent_car", {"city": "Porto", "from": "2030-05-04", "days": 2, "class": "compact"},
             city=TEXT, **{"from": DATE, "days": number(1, 60), "class": one_of("compact", "family", "van")}),
        tool("convert_currency", {"amount": 120.5, "from": "EUR", "to": "NOK"},
             amount={"type": "number", "exclusiveMinimum": 0}, **dict.fromkeys(("from", "to"), matching("[A-Z]{3}"))),
        tool("get_weather", {"city": "Oslo", "unit": "celsius"}, "unit",
             city=TEXT, unit=one_of("celsius", "fahrenheit")),
        tool("plan_route", {"stops": ["Oslo", "Hamar"], "mode": "train"}, "mode",
             stops=TEXTS | {"minItems": 2}, mode=one_of("train", "car", "bike", "walk")),
        tool("cancel_booking", {"booking": "BK-204818", "reason": "ill"}, "reason",
             booking=matching("BK-[0-9]{6}"), reason=TEXT),
        tool("add_traveller", {"name": "Ida Berg", "born": "1991-02-03", "passport": "N1234567"},
             name=TEXT, born=DATE, passport=matching("[A-Z][0-9]{7}")),
    ),
    "operations": (
        tool("deploy", {"service": "web", "region": "eu-west-1", "replicas": 3}, "replicas",
             service=TEXT, region=one_of("eu-west-1", "us-east-1"), replicas=number(1, 50)),
        tool("scale_service", {"service": "web", "replicas": 5}, service=TEXT, replicas=number(0, 200)),
        tool("roll_back", {"service": "web", "version": "v1.42.0"}, service=TEXT, version=matching(r"v\d+\.\d+\.\d+")),
        tool("query_logs", {"query": "level:error", "since": "15m", "limit": 100}, "limit",
             query=TEXT, since=matching("[0-9]+[smhd]"), limit=number(1, 1_000)),
        tool("create_alert", {"name": "5xx", "metric": "http_5xx", "above": 0.02, "severity": "page"},
             name=TEXT, metric=TEXT, above={"type": "number"}, severity=one_of("info", "ticket", "page")),
        tool("silence_alert", {"alert": "5xx", "minutes": 30, "comment": "deploy"}, "comment",
             alert=TEXT, minutes=number(1, 1_440), comment=TEXT),
        tool("open_incident", {"title": "Checkout is slow", "severity": 2, "services": ["web"]},
             title=TEXT, severity=number(1, 4), services=TEXTS),
        tool("run_migration", {"database": "orders", "target": "0042_totals", "dry_run": True}, "dry_run",
             database=TEXT, target=matching("[0-9]{4}_[a-z_]+"), dry_run=FLAG),
        tool("set_flag", {"flag": "new_checkout", "on": True, "percent": 10}, "percent",
             flag=matching("[a-z_]+"), on=FLAG, percent=number(0, 100)),
        tool("restart_pod", {"namespace": "shop", "pod": "web-7d9f", "grace_seconds": 30}, "grace_seconds",
             namespace=TEXT, pod=TEXT, grace_seconds=number(0, 600)),
        tool("request_access", {"system": "billing", "role": "reader", "hours": 8, "reason": "audit"},
             system=TEXT, role=one_of("reader", "writer", "owner"), hours=number(1, 72), reason=TEXT),
        tool("restore_backup", {"database": "orders", "taken_at": "2030-05-04T03:00:00Z", "into": "orders_copy"},
             database=TEXT, taken_at={"type": "string", "format": "date-time"}, into=TEXT),
    ),
    "office": (
        tool("send_email", {"to": ["ida@example.com"], "subject": "Hello", "body": "See you."},
             to={"type": "array", "items": MAIL, "minItems": 1}, subject=TEXT, body=TEXT),
        tool("create_event", {"title": "Review", "start": "2030-05-04T09:00:00Z", "minutes": 45}, "guests",
             title=TEXT, start={"type": "string", "format": "date-time"}, minutes=number(5, 480),
             guests={"type": "array", "items": MAIL}),
        tool("create_ticket", {"project": "WEB", "title": "Fix the footer", "priority": "low"}, "labels",
             project=matching("[A-Z]{2,6}"), title=TEXT, priority=one_of("low", "normal", "high"), labels=TEXTS),
        tool("create_invoice", {"customer": "C-1009", "currency": "EUR", "lines": [{"item": "Desk", "cents": 9_900}]},
             customer=matching("C-[0-9]{4}"), currency=matching("[A-Z]{3}"),
             lines=table(item=TEXT, cents=number(0, 10_000_000))),
        tool("issue_refund", {"order": "O-48210", "cents": 1_250, "reason": "damaged"},
             order=matching("O-[0-9]{5}"), cents=number(1, 500_000), reason=one_of("damaged", "late", "other")),
        tool("update_contact", {"id": 418, "email": "ida@example.com", "phone": "+4722334455"}, "email phone",
             id=number(1, 10_000_000), email=MAIL, phone=matching(r"\+[0-9]{8,15}")),
        tool("search_documents", {"query": "leave policy", "limit": 5, "folders": ["HR"]}, "limit folders",
             query=TEXT, limit=number(1, 50), folders=TEXTS),
        tool("summarise_page", {"url": "https://example.com/a", "words": 120, "language": "en"}, "language",
             url=URL, words=number(20, 1_000), language=matching("[a-z]{2}")),
        tool("translate_text", {"text": "Good morning", "to": "nb", "formal": False}, "formal",
             text=TEXT, to=matching("[a-z]{2}"), formal=FLAG),
        tool("post_message", {"channel": "#web", "text": "Done."}, channel=matching("#[a-z-]+"), text=TEXT),
        tool("book_room", {"room": "Fjord", "date": "2030-05-04", "from_hour": 9, "hours": 2, "seats": 6}, "seats",
             room=TEXT, date=DATE, from_hour=number(6, 20), hours=number(1, 8), seats=number(1, 40)),
        tool("approve_expense", {"report": "E-2030-118", "approved": True, "comment": "ok"}, "comment",
             report=matching("E-[0-9]{4}-[0-9]{3}"), approved=FLAG, comment=TEXT),
    ),
}  # fmt: skip


COPIED: Final[tuple[type[Model], ...]] = (Call, Attempt, Escalation, Guidance, Event)  # each after what it refers to

REFERRED: Final = (*COPIED, AnswerRecord)


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """Hold a row's values, and where those stand that each copy has of its own."""

    model: type[Model]
    pk: int
    values: tuple[Any, ...]
    times: tuple[tuple[int, timedelta], ...]
    references: tuple[tuple[int, type[Model], int], ...]
    identifier: int | None
    session: int | None


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """Hold the rows of a call, what it adds to the counts, and how often each answer was given, tried and worked."""

    rows: tuple[RowTemplate, ...]
    counts: tuple[tuple[timedelta, Count, int], ...]
    answers: tuple[tuple[int, int, int], ...]
    lasted: timedelta


def template_of(call: Call) -> CallTemplate:
    """Read a call that was told."""
    began = call.created_at
    rows: list[Model] = [call, *call.attempts.all(), *call.escalations.all(), *call.guidance.all(), *call.events.all()]
    counts = tuple(
        (at - began, count, amount) for at, tally in tallies_of_call(call) for count, amount in tally.items() if amount
    )
    answers = tuple(
        (given.record_id, int(given.next_valid is not None), int(given.next_valid is True))
        for given in call.guidance.all()
        if given.record_id is not None
    )
    return CallTemplate(tuple(_row(row, began) for row in rows), counts, answers, call.updated_at - began)


def columns(model: type[Model]) -> list[str]:
    """List a model's columns in the order of a template's values."""
    return [str(field.column) for field in model._meta.concrete_fields]


def _row(row: Model, began: datetime) -> RowTemplate:
    values: list[Any] = []
    times: list[tuple[int, timedelta]] = []
    references: list[tuple[int, type[Model], int]] = []
    at: Mapping[str, int] = {field.attname: place for place, field in enumerate(row._meta.concrete_fields)}
    for place, field in enumerate(row._meta.concrete_fields):
        value = getattr(row, field.attname)
        if isinstance(field, DateTimeField) and value is not None:
            happened = row.at if isinstance(row, Event) else value  # when a copy was stored is when it happened
            times.append((place, happened - began))
            value = None
        elif isinstance(field, ForeignKey) and field.related_model in REFERRED and value is not None:
            references.append((place, field.related_model, value))
            value = None
        else:
            value = field.get_db_prep_save(value, connection)
        values.append(value)
    return RowTemplate(
        type(row), int(row.pk), tuple(values), tuple(times), tuple(references), at.get("public_id"),
        at.get("session_id"),
    )  # fmt: skip


def shifted(count: Count, at: datetime) -> Count:
    """Give a counter in the hour that a copy's moment belongs to."""
    return count._replace(hour=hour_of(at))


GOALS: Final = (
    "Finish what the customer asked for",
    "Prepare tomorrow's trip",
    "Bring the release out",
    "Clear the inbox",
)
MODELS: Final = ("model-s", "model-m", None)  # some agents name none
PAUSE: Final = timedelta(seconds=20)
THINKING: Final = timedelta(minutes=6)


@dataclass(frozen=True, slots=True)
class Story:
    """Say how a call goes and how many of a thousand go so; `is_open` when it has not ended."""

    plot: str
    share: int
    is_open: bool = False


# What a plot is written in: v a valid attempt, x a failed one; h hint, c correction, a accept, r reject, z given up.
STORIES: Final = (
    Story("v", 800), Story("xv", 120), Story("xxv", 32), Story("xxxhv", 14), Story("xxxcv", 8), Story("xxxhxv", 3),
    Story("xxxhxxhv", 1), Story("xxxa", 2), Story("xxxr", 3), Story("xz", 5), Story("xxxv", 4),
    Story("xxx", 6, is_open=True), Story("xxxh", 1, is_open=True), Story("x", 1, is_open=True),
)  # fmt: skip


@dataclass(slots=True)
class Teller:
    """Tell stories of one tool: a moment of its own, an agent, an operator, and chance."""

    agent: Agent
    operator: User
    tool: SeedTool
    chance: random.Random
    now: datetime
    call: Call | None = None
    unread: Guidance | None = None
    session: str = ""
    model: str | None = None

    def tell(self, story: Story) -> Call:
        """Let a call go as the story says."""
        self.call = self.unread = None
        wrongs = list(faults(self.tool, parsed="a" in story.plot))
        # The same mistakes come again and again: that is what groups and suggestions are for.
        (wrong,) = self.chance.choices(wrongs, [1 / (rank + 1) ** 2 for rank in range(len(wrongs))])
        self.model = self.chance.choice(MODELS)
        self.session = f"seed-{self.chance.getrandbits(64):016x}"
        for step in story.plot:
            answers: dict[str, Callable[[], Any]] = {
                "h": lambda: self._answer(Decision.HINT, text=f"Send it as here: {json.dumps(self.tool.valid)}"),
                "c": lambda: self._answer(Decision.CORRECTED, arguments=self.tool.valid),
                "a": lambda: self._answer(Decision.ACCEPT, text="Good enough for this once."),
                "r": lambda: self._answer(Decision.REJECT, text="Leave it; the customer has called."),
                "z": lambda: self.call is not None and cancel_call(self.call, now=self.now),
                "v": lambda: self._submit(self.tool.valid),
                "x": lambda: self._submit(wrong),
            }
            self.now += THINKING if step in "hcar" else PAUSE
            answers[step]()
        assert self.call is not None
        return Call.objects.get(pk=self.call.pk)

    def _submit(self, output: Any) -> None:
        if self.unread is not None:
            mark_delivered(self.unread, now=self.now)
            self.unread = None
        new = NewAttempt(
            tool=self.tool.name,
            tool_call_id=f"toolu_{self.chance.getrandbits(64):016x}",
            output=output,
            call_id=self.call.public_id if self.call else None,
            session_id=self.session,
            context={"goal": self.chance.choice(GOALS)} if self.call is None else None,
            generation=Generation(model=self.model),
        )
        attempt = submit_attempt(self.agent, new, now=self.now)
        if attempt.is_waiting:  # where everything is judged by a worker
            judge_attempt(attempt.pk, clock=lambda: self.now)
            attempt = Attempt.objects.select_related("call").get(pk=attempt.pk)
        self.call = attempt.call

    def _answer(self, decision: Decision, **words: Any) -> None:
        assert self.call is not None
        escalation = self.call.escalations.latest("round")
        self.unread = give_guidance(escalation, self.operator, decision, now=self.now, **words)


def faults(tool: SeedTool, *, parsed: bool = False) -> Iterator[Any]:
    """Give arguments that are wrong, as models get them wrong; text that is no JSON among them unless `parsed`."""
    for name in tool.schema["required"]:
        yield {key: value for key, value in tool.valid.items() if key != name}
    for name, value in tool.valid.items():
        schema = tool.schema["properties"][name]
        if "enum" in schema:
            yield tool.valid | {name: "something else"}
        elif "pattern" in schema or "format" in schema:
            yield tool.valid | {name: "not as asked"}
        elif schema.get("type") == "integer":
            yield tool.valid | {name: str(value)}
            yield tool.valid | {name: 10**9}
        elif schema.get("type") == "array":
            yield tool.valid | {name: []}
    yield tool.valid | {"note": "as discussed"}
    if not parsed:
        yield json.dumps(tool.valid)[:-1]

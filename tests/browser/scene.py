"""A desk as it looks on a working day: several agents, tools and mistakes; for pictures and for the axe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from tests.factories import answer, make_agent, make_call, make_tool, make_user, submit

FLIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "date": {"type": "string", "format": "date"},
        "cabin": {"enum": ["economy", "premium", "business", "first"]},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["origin", "destination", "date", "passengers"],
    "additionalProperties": False,
}
DEPLOY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "image": {"type": "string", "pattern": "^[a-z0-9./-]+@sha256:[0-9a-f]{64}$"},
        "region": {"enum": ["eu-west-1", "eu-central-1", "us-east-1"]},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 40},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["service", "image", "region"],
    "additionalProperties": False,
}
REFUND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"type": "string", "minLength": 10},
        "items": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["sku"]}},
    },
    "required": ["order_id", "amount_cents", "reason", "items"],
}
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {"sql": {"type": "string"}, "limit": {"type": "integer", "maximum": 1000}},
    "required": ["sql", "limit"],
}
IMAGE = "registry.acme.dev/checkout@sha256:" + "4f" * 32


@dataclass(frozen=True)
class Desk:
    """Hold what pictures are taken of."""

    operator: User
    blocked: Call
    guided: Call
    ended: Call


def make_desk(now: datetime) -> Desk:
    """Make the day: nine calls of four agents."""
    mia = make_user("mia")
    shop, travel = make_agent("support-agent"), make_agent("travel-agent")
    release, analyst = make_agent("release-bot"), make_agent("analyst")
    make_tool(shop, "issue_refund", REFUND)
    make_tool(travel, "book_flight", FLIGHT)
    make_tool(release, "deploy_service", DEPLOY)
    make_tool(analyst, "run_query", QUERY)

    def ago(**passed: float) -> datetime:
        return now - timedelta(**passed)

    flight = make_call(
        travel,
        [
            {"from": "Zurich", "destination": "LHR", "date": "14 March", "cabin": "Buisness", "passengers": "2"},
            {"origin": "Zurich", "destination": "LHR", "date": "14.03.2027", "cabin": "biz", "passengers": 2},
            {
                "origin": "Zürich",
                "destination": "London",
                "date": "2027-03-14",
                "cabin": "first class",
                "passengers": 2,
            },
        ],
        tool="book_flight",
        at=ago(minutes=47),
        session_id="trip-8841",
        task_id="itinerary",
        context={
            "goal": "Book two seats to London",
            "last_user_message": "Two business seats Zurich to London on 14 March, please. The morning one.",
            "trace_url": "https://traces.acme.dev/t/9c1f6e",
            "traveller_tier": "gold",
        },
    )
    for place, service, waits in (("europe", "checkout", 31), ("eu-west", "search", 22), ("Frankfurt", "mailer", 9)):
        wrong = {"service": service, "image": IMAGE.replace("checkout", service), "region": place, "replicas": 4}
        make_call(
            release,
            [wrong] * 3,
            tool="deploy_service",
            at=ago(minutes=waits),
            session_id=f"release-{service}",
            context={"goal": f"Roll out {service} 4.12 to Europe"},
        )
    make_call(
        shop,
        [
            {"order_id": "10442817", "amount_cents": "49.90", "reason": "broken"},
            {"order_id": "ORD-1044281", "amount_cents": 4990, "reason": "broken", "items": []},
            {"order_id": "ORD-1044281", "amount_cents": 4990, "reason": "broken", "items": []},
        ],
        tool="issue_refund",
        at=ago(hours=2, minutes=6),
        context={"goal": "Refund a lamp that arrived broken", "last_user_message": "My lamp came in pieces."},
    )
    make_call(
        analyst,
        [
            '{"sql": "select region, sum(amount) from orders',
            '{"sql": "select region", "limit": 5',
            "Sure! Here you go:",
        ],
        tool="run_query",
        at=ago(minutes=3),
        context={"goal": "Revenue by region for the weekly report"},
    )
    make_call(
        shop,
        [{"email": "ana@example.org"}] * 3,
        tool="lookup_customer",
        at=ago(seconds=40),
        context={"goal": "Find the customer who wrote in"},
    )

    guided = make_call(
        release,
        [{"service": "ledger", "image": "ledger:latest", "region": "eu-west-1"}] * 3,
        tool="deploy_service",
        at=ago(minutes=18),
        context={"goal": "Roll out ledger 2.0"},
    )
    hint = answer(
        guided,
        mia,
        text="Pin the image by digest, as registry.acme.dev/ledger@sha256:… from the build's summary.",
        grant=3,
        at=ago(minutes=16),
    )
    mark_delivered(hint, now=ago(minutes=16))
    submit(release, {"service": "ledger", "image": "ledger@sha256:12", "region": "eu-west-1"},
           tool="deploy_service", call=guided, at=ago(minutes=15))  # fmt: skip

    ended = make_call(
        travel,
        [{"origin": "ZRH", "destination": "JFK", "date": "2027-05-02", "passengers": "one"}] * 3,
        tool="book_flight",
        at=ago(hours=5),
        context={"goal": "Book a seat to New York"},
    )
    right = {"origin": "ZRH", "destination": "JFK", "date": "2027-05-02", "passengers": 1}
    given = answer(ended, mia, Decision.CORRECTED, text="", arguments=right, at=ago(hours=4, minutes=52))
    mark_delivered(given, now=ago(hours=4, minutes=52))
    acknowledge_guidance(given, now=ago(hours=4, minutes=51))
    submit(travel, right, tool="book_flight", call=ended, at=ago(hours=4, minutes=51))
    for call in (guided, ended):
        call.refresh_from_db()
    return Desk(mia, flight, guided, ended)

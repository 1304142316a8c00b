"""Tools as teams have them: a few dozen schemas, each with arguments that are valid."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from retrycontract.management.demo import BOOK_FLIGHT

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

"""What pages answer with: statuses that our script knows, the stream of changes, notices, and tables as files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.middleware import HtmxDetails

from retrycontract.front.bridge import PENDING
from retrycontract.store.models import Door, Event, Guidance, HeldAnswer
from retrycontract.usecases.notify.doorbell import DESK_BELL

UNCHANGED: Final = 204  # htmx swaps nothing
LOGIN_FIRST: Final = 401
TOO_LATE: Final = 409
REFUSED: Final = 422
TOO_MANY: Final = 429


class HtmxHttpRequest(HttpRequest):
    """Name what the htmx middleware adds to a request."""

    htmx: HtmxDetails


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether a part of a page is asked for, not the page."""
    return bool(cast(HtmxHttpRequest, request).htmx)


def by(request: HttpRequest) -> dict[str, Any]:
    """Say who does it, when, and through which door, as the use cases want to know."""
    return {"now": timezone.now(), "actor": cast(User, request.user).get_username(), "door": Door.DASHBOARD}


MEDIA_TYPE: Final = "text/event-stream"
MAX_DIGITS: Final = 18


@login_not_required  # a redirect would be an error in the browser's console; 204 tells it to come no more
@require_safe
@never_cache
def live(request: HttpRequest) -> HttpResponse:
    """Write a frame when anything happened to a call since the event `after`; the front of house asks again."""
    if not request.user.is_authenticated:
        return HttpResponse(status=UNCHANGED)
    after, newest = request.GET.get("after", ""), Event.objects.newest_id()
    is_known = after.isascii() and after.isdigit() and len(after) <= MAX_DIGITS
    has_news = is_known and int(after) < newest
    response = HttpResponse("data: changed\n\n" if has_news else "", content_type=MEDIA_TYPE)
    response[PENDING.decode()] = f"{DESK_BELL}; {reverse('dashboard:live')}?after={newest}"
    return response


SENT: Final = "sent"  # tells our script that the draft of what was sent may go


PRESSES: Final = "presses"  # in the session: how many calls each of the last group answers went to
MOST_PRESSES: Final = 20  # nothing is held for longer than it takes to send as many


def say_sent(request: HttpRequest, sent: HeldAnswer | Guidance | None, words: str, *, number: int = 1) -> None:
    """Tell the operator on whatever page comes next to whom an answer goes; one that is held can be taken back.

    What went to a `number` of calls may be taken back when some have gone out: then that is told.

    The page's words before `words` say whether it was sent: of one that is held nobody knows yet.
    """
    tags = f"{SENT}-{sent.batch}-{sent.send_at.timestamp():.0f}" if isinstance(sent, HeldAnswer) else SENT
    messages.success(request, words, extra_tags=tags)
    if isinstance(sent, HeldAnswer) and number > 1:
        presses = request.session.get(PRESSES, {}) | {sent.batch: number}
        request.session[PRESSES] = dict(list(presses.items())[-MOST_PRESSES:])


def undo_of(tags: str) -> dict[str, Any] | None:
    """Read from the tags of a message what it lets an operator take back, and until when."""
    name, _, held = (tags or "").partition("-")
    batch, _, until = held.partition("-")
    return {"batch": batch, "until": datetime.fromtimestamp(int(until), UTC)} if name == SENT and until else None


def is_sent(tags: str) -> bool:
    """Tell from the tags of a message whether it is about an answer."""
    return (tags or "").partition("-")[0] == SENT


# With these a spreadsheet takes a text for a formula, the fullwidth signs included.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


class _CsvLine:
    """Stand for a file: what is written is given back."""

    def write(self, text: str) -> str:
        return text


def export(name: str, kind: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Answer with a file of rows, in the kind csv or jsonl."""
    lines = csv_lines(columns, rows) if kind == "csv" else json_lines(columns, rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingHttpResponse(lines, content_type=TYPES[kind], headers=headers)


def refused(names: Iterable[str]) -> HttpResponse:
    """Answer that no file is made, since parts of its address choose nothing."""
    said = f"No file was made: {', '.join(names)} in the address cannot be read. Take the address from the page.\n"
    return HttpResponse(said, status=400, content_type="text/plain; charset=utf-8")


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write rows as CSV; text that a spreadsheet would run begins with an apostrophe."""
    writer = csv.writer(_CsvLine())
    yield str(writer.writerow(columns))
    for row in rows:
        cells = [json.dumps(value) if isinstance(value, dict) else _plain(value) for value in row]
        safe = [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell for cell in cells]
        yield str(writer.writerow(safe))


def json_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write each row as an object on a line of its own."""
    for row in rows:
        yield json.dumps(dict(zip(columns, map(_plain, row), strict=True))) + "\n"


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value

"""What calls went through, told by the rows of their history that the insights count: a number leads to its calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from django.db.models import DurationField, Exists, ExpressionWrapper, F, OuterRef, Q, Value
from django.db.models.lookups import GreaterThanOrEqual, LessThan

from dashboard.shared.choices import state_word
from dashboard.templatetags.desk import since
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import ENDS
from retrycontract.store.models import Attempt, Escalation, Event, Guidance
from retrycontract.usecases.counts.keep_count import (
    BUCKETS,
    LAST_NUMBER,
    LATER,
    LONGEST,
    MAX_DEPTH,
    MAX_PLACE,
    OF_UNKNOWN_TOOL,
)

FAILED, VALID, CHECKED = Q(is_valid=False), Q(is_valid=True), Q(is_valid__isnull=False)
TIMES: Final = {Attempt: "judged_at", Escalation: "opened_at", Guidance: "given_at", Event: "at"}
ROOT: Final = "(root)"  # as a field: the whole output, which has no name


@dataclass(frozen=True, slots=True)
class CourseRows:
    """Say in words what a call went through, and which rows of its history tell so."""

    words: str
    rows: type[Attempt | Escalation | Guidance | Event]
    fits: Q = Q()  # noqa: RUF009 - nobody changes it
    at: str = ""  # the time by which such a row is counted, if not the usual one

    @property
    def time(self) -> str:
        """Name the time by which such a row is counted."""
        return self.at or TIMES[self.rows]


@dataclass(frozen=True, slots=True)
class Looked:
    """Say which rows are looked at: of a time, a model, a mistake; `is_known` of registered tools, or of others."""

    since: datetime | None = None
    until: datetime | None = None
    model: str | None = None  # empty for rows that name none
    is_known: bool | None = None
    code: str = ""
    field: str = ""


def _first_after(decision: Decision) -> Q:
    """Keep attempts that were the first after an answer was read, as `follow_guidance` tells it."""
    between = Attempt.objects.filter(
        CHECKED, Q(submitted_at__gte=OuterRef("delivered_at")) | Q(submitted_at__gte=OuterRef("acknowledged_at")),
        call=OuterRef("call"), number__gt=OuterRef("base__number"), number__lt=OuterRef(OuterRef("number")),
    )  # fmt: skip
    tried = Guidance.objects.filter(
        Q(delivered_at__lte=OuterRef("submitted_at")) | Q(acknowledged_at__lte=OuterRef("submitted_at")),
        call=OuterRef("call"), decision=decision, next_valid__isnull=False, base__number__lt=OuterRef("number"),
    )  # fmt: skip
    return CHECKED & Q(Exists(tried.exclude(Exists(between))))


def _took(above: int | None, limit: int | None) -> Q:
    """Keep answers whose time in whole seconds is above one limit, and not above the other."""
    took = ExpressionWrapper(F("given_at") - F("escalation__opened_at"), DurationField())
    found = Q()
    if above is not None:
        found &= Q(GreaterThanOrEqual(took, Value(timedelta(seconds=above + 1), DurationField())))
    if limit is not None:
        found &= Q(LessThan(took, Value(timedelta(seconds=limit + 1), DurationField())))
    return found


def _of_each_kind() -> Iterator[tuple[str, CourseRows]]:
    """List those of which there is one for each number, decision, limit and end."""
    for number in (*map(str, range(1, LAST_NUMBER + 1)), LATER):
        fits = Q(number__gt=LAST_NUMBER) if number == LATER else Q(number=int(number))
        which = f"An attempt after the {LAST_NUMBER}th" if number == LATER else f"Attempt {number}"
        yield f"checked-{number}", CourseRows(f"{which} checked", Attempt, fits & CHECKED)
        yield f"valid-{number}", CourseRows(f"{which} valid", Attempt, fits & VALID)
    for decision in Decision:
        word = f"“{decision.capitalize()}”"
        yield f"given-{decision}", CourseRows(f"Answered with {word}", Guidance, Q(decision=decision))
        yield f"tried-{decision}", CourseRows(f"Tried after {word}", Attempt, _first_after(decision))
        yield f"worked-{decision}", CourseRows(f"Valid after {word}", Attempt, _first_after(decision) & VALID)
    for above, limit in pairwise((None, *BUCKETS, None)):
        name = since(timedelta(seconds=limit or BUCKETS[-1]))
        words = f"Answered within {name}" if limit else f"Answered after more than {name}"
        yield f"within-{limit or LONGEST}", CourseRows(words, Guidance, _took(above, limit))
    for state in sorted(ENDS):
        moved = Q(to_state=state) & ~Q(from_state__in=("", state))
        yield f"ended-{state}", CourseRows(f"Ended as {state_word(state).lower()}", Event, moved)


# Each feedback that nobody counted in tokens, and what was sent after the first attempt.
COST: Final = Q(number__gt=1) | (Q(tokens_in__isnull=True, tokens_out__isnull=True) & ~Q(feedback=""))
# These are offered to be chosen, the others are only led to.
OFFERED: Final = {
    "first": CourseRows("Valid at first try", Attempt, VALID & Q(number=1)),
    "failed": CourseRows("Failed at first", Attempt, FAILED & Q(number=1)),
    "failing": CourseRows("Failed at any try", Attempt, FAILED),
    "recovered": CourseRows("Valid at a later try", Attempt, VALID & Q(number__gt=1)),
    "retried": CourseRows("Several attempts", Attempt, CHECKED & Q(number__gt=1)),
    "escalated": CourseRows("A person was asked", Escalation),
    "answered": CourseRows("A person answered", Guidance),
}
COURSES: Final = OFFERED | dict(_of_each_kind()) | {
    "checked": CourseRows("Any attempt checked", Attempt, CHECKED),
    "cost": CourseRows("Spent on retries", Attempt, CHECKED & COST),
    "unasked": CourseRows("The model could not be asked", Attempt, Q(api_error__isnull=False), "submitted_at"),
    "waited": CourseRows("Answered, or still waiting", Guidance),  # whose time to guidance is told
}  # fmt: skip


def went_through(course: str, looked: Looked) -> Q:
    """Keep the calls that have a row of a course among those that are looked at."""
    kind = COURSES[course]
    rows: Any = kind.rows._default_manager.filter(kind.fits, call=OuterRef("pk")).order_by()
    if looked.since is not None:
        rows = rows.filter(**{f"{kind.time}__gte": looked.since})
    if looked.until is not None:
        rows = rows.filter(**{f"{kind.time}__lt": looked.until})
    of_attempt = {Attempt: "", Guidance: "base__"}.get(kind.rows)
    if of_attempt is not None:
        if looked.model:
            rows = rows.filter(**{f"{of_attempt}model": looked.model})
        elif looked.model is not None:
            rows = rows.filter(**{f"{of_attempt}model": None})
        if looked.code:  # cheaper to look for than the pattern, and most attempts have others
            rows = rows.filter(**{f"{of_attempt}errors_json__contains": f'"error_code":"{looked.code}"'})
        if looked.code or looked.field:
            rows = rows.filter(**{f"{of_attempt}errors_json__regex": mistake_pattern(looked.code, looked.field)})
    if looked.is_known is not None:
        unknown = Q(call__tool=None) if kind.rows is Event else _of_unknown_tool(of_attempt)
        rows = rows.exclude(unknown) if looked.is_known else rows.filter(unknown)
    found = Q(Exists(rows))
    return found | Q(Exists(Escalation.objects.open().filter(call=OuterRef("pk")))) if course == "waited" else found


def _of_unknown_tool(of_attempt: str | None) -> Q:
    """Keep rows that nobody's tool is counted for: their call may have been named rightly later."""
    if of_attempt is not None:
        return Q(call__tool=None) | Q(**{f"{of_attempt}errors_json__contains": OF_UNKNOWN_TOOL})
    # A person is asked with the verdict on an attempt; a call is named by it until then.
    asked = Attempt.objects.filter(
        call=OuterRef("call"), judged_at=OuterRef("opened_at"), errors_json__contains=OF_UNKNOWN_TOOL
    )
    return Q(call__tool=None) | Q(Exists(asked))


def mistake_pattern(code: str, field: str) -> str:
    """Write how an error that made an attempt fail looks in what is stored, its place as the counts name it."""
    # Of what an error holds the first four entries, as `to_json` writes them; within a text each quote is escaped.
    return (
        f'"error_code":"{code or "[A-Z0-9-]+"}","field_path":"{_place_pattern(code, field)}"'
        r',"message":"([^"\\]|\\.)*","severity":"error"'
    )


def _place_pattern(code: str, field: str) -> str:
    if not field:
        return '[^"]*'
    pieces = ("" if field == ROOT else field).split("...") if len(f"{code} {field}") >= MAX_PLACE else [field]
    if len(pieces) > 1:  # the counts leave out the middle of a long place
        return '[^"]*'.join(re.escape(json.dumps(piece)[1:-1]) for piece in pieces) + '(/[^"]*)?'
    steps = [] if field == ROOT else field.removeprefix("/").split("/")
    # `*` stands for an item.
    place = "".join("/" + (r"(\*|[0-9]{1,18})" if step == "*" else re.escape(json.dumps(step)[1:-1])) for step in steps)
    # What lies deeper counts there. A field that the model made up counts where it stands, so it is one deeper.
    is_deep, below = len(steps) >= MAX_DEPTH, '/[^/"]*'
    if code == ErrorCode.UNKNOWN_FIELD:
        return f"{place}{below}" + (f"({below})*" if is_deep else "")
    if is_deep:
        return f"{place}({below})*"
    return place if code else f"{place}({below})?"

"""One call's story as values: attempts and guidance, newest first, and what became of the newest guidance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Model, QuerySet, Subquery
from django.utils.html import escape

from dashboard.call.diagnosis import TONES, Change, Course, Diagnosis, Mark, compare
from dashboard.call.entries import AttemptEntry, GuidanceEntry
from retrycontract.contract.json_types import has_at_most, write_json
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.outputs.source_code import UnknownLanguageError, declared_language
from retrycontract.contract.redaction.sanitizer import elide_middle, visible
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import (
    Attempt,
    Call,
    Escalation,
    EscalationState,
    Guidance,
    HeldAnswer,
    StandingHint,
)
from retrycontract.store.models.attempts import AttemptQuerySet
from retrycontract.usecases.answers.deliver_answer import told_text
from retrycontract.usecases.answers.give_guidance import check_correction, redacted_places
from retrycontract.usecases.answers.reuse_answers import proposed_arguments

KNOWN_ATTEMPTS = 20  # an agent may go on trying while it is Blocked; the last few say everything
LISTED_ATTEMPTS = 10  # on a page, which is to have 60 kB with those that say most
NEAR_ATTEMPTS = 3  # of long ones the mistakes of so many are shown
MOST_EARLIER_CARDS = 8_000  # bytes of the cards after the newest, by estimate; of what is older the lines are shown
MOST_ROUNDS = 20  # of being asked: the last few say everything
MAX_NUMBER_DIGITS = 9  # of an attempt, in an address
NAMED_CONTEXT = ("goal", "last_user_message", "trace_url")
MOST_EDITED = 4_000  # bytes that are in a form unasked
MOST_SUMMED_UP = 1_000  # characters of the summary for a person
Row = TypeVar("Row", bound=Model)
ANSWERABLE = (CallState.BLOCKED, CallState.EXPIRED)


@dataclass(frozen=True, slots=True)
class CallHistory:
    """Hold everything that the page of one call shows."""

    call: Call
    attempts: tuple[Attempt, ...]
    guidance: tuple[Guidance, ...]
    escalations: tuple[Escalation, ...]
    expiries: tuple[datetime, ...] = ()  # when nobody had answered in time
    held: HeldAnswer | None = None  # an answer that was sent and can still be taken back
    unsent: tuple[HeldAnswer, ...] = ()  # those that their agent no longer needed when their hold was over
    whole: str = ""  # what is shown to its end: an attempt by its number, the schema, the context
    aim: int = 0  # the attempt that the address leads to
    older: OlderAttempts | None = None  # what the page lists in the place of the newest

    @property
    def version(self) -> str:
        """Digest what the page shows: every change of an attempt or a state touches the call, too."""
        return version_of(self.call, self.guidance, self.held)

    @property
    def entries(self) -> list[AttemptEntry | GuidanceEntry]:
        """Give what the page lists of attempts and guidance, newest first."""
        newest = self.attempts[0].pk if self.attempts else None
        answers = self.guidance
        if self.older is not None:
            answers = self.older.guidance
        elif self.following:  # those before stand on the pages of theirs
            answers = tuple(given for given in answers if given.given_at >= self.listed[-1].submitted_at)
        entries: list[AttemptEntry | GuidanceEntry] = [
            GuidanceEntry(given, self.expiries, self.whole) for given in answers
        ]
        room = MOST_EARLIER_CARDS
        known = self.attempts if self.older is None else self.older.attempts
        for index, (attempt, before) in enumerate(zip(self.listed, [*known[1:], None], strict=False)):
            entry = AttemptEntry(
                attempt, attempt.pk == newest, before, self.whole == str(attempt.number), self.aim == attempt.number
            )
            if not entry.is_open:
                if room >= 0:
                    room = room - entry.weight if index < NEAR_ATTEMPTS or not entry.is_cut else -1
                if room < 0:
                    entry = replace(entry, is_far=True)
            entries.append(entry)
        return sorted(entries, key=lambda entry: (entry.at, isinstance(entry, GuidanceEntry)), reverse=True)

    @property
    def listed(self) -> tuple[Attempt, ...]:
        """Give the attempts that the page lists, newest first."""
        return self.attempts[:LISTED_ATTEMPTS] if self.older is None else self.older.attempts

    @property
    def place(self) -> str:
        """Write what the page shows of the call as the end of an address: it is asked for again while it is read."""
        after = self.older.attempts[0].number + 1 if self.older is not None else ""
        return "&" + urlencode({"whole": self.whole, "attempt": self.aim or "", "after": after})

    @property
    def following(self) -> int:
        """Name the attempt after which the page with older attempts begins; 0 where there is none."""
        oldest = self.listed[-1].number if self.listed else 0
        return oldest if oldest > 1 else 0

    @property
    def older_attempts(self) -> int:
        return max(self.following - 1, 0)

    @property
    def is_on_its_way(self) -> bool:
        """Tell whether an answer is about to reach its agent: the page asks more often meanwhile."""
        is_underway = self.answer is not None and self.answer.delivered_at is None
        return self.held is not None or (self.call.state == CallState.GUIDED and is_underway)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Say what is wrong in one line, while it is."""
        judged = self.newest_judged
        if judged is None or judged.is_valid or self.call.has_ended:
            return None
        failed = [attempt for attempt in self.attempts if attempt.is_valid is False]
        return Diagnosis.of(failed, has_older=self.attempts[-1].number > 1)

    @property
    def course(self) -> Course:
        """Give what happened, to be drawn."""
        marks = [Mark(entry.at, entry.outcome[0], f"{entry.title}: {entry.outcome[1].lower()}", entry.tone)
                 for entry in (AttemptEntry(attempt, is_newest=False) for attempt in self.attempts)]  # fmt: skip
        marks += [Mark(asked.opened_at, "person", "a person was asked", "ended") for asked in self.escalations]
        marks += [
            Mark(given.given_at, "reply", f"{given.operator.get_username()} answered", "guided")
            for given in self.guidance
        ]
        state = CallState(self.call.state)
        if state.has_ended and state is not CallState.VALID:  # a valid attempt says so itself
            marks.append(Mark(self.call.updated_at, state, f"ended: {state}", TONES.get(state, "ended")))
        return Course.of(marks)

    @property
    def language(self) -> str:
        """Name the language of a source file; empty where it is not known."""
        try:
            schema = self.call.version.schema if self.call.version else None
            return declared_language(self.call.tool_name, schema).value
        except UnknownLanguageError:
            return ""

    @property
    def judged_number(self) -> int | None:
        """Give the newest attempt that has a verdict: what an answer that is written now is about."""
        return next((attempt.number for attempt in self.attempts if attempt.is_valid is not None), None)

    @property
    def is_held(self) -> bool:
        """Tell whether the output is right, and the tool waits for a person all the same."""
        newest = self.newest_judged
        return self.call.state == CallState.BLOCKED and newest is not None and bool(newest.is_valid)

    @property
    def escalation(self) -> Escalation | None:
        """Give the newest request for a person."""
        return self.escalations[0] if self.escalations else None

    @property
    def summary(self) -> str:
        """Give what a person is told of it, or how that begins and ends."""
        text = self.escalation.text if self.escalation else ""
        return text if self.whole == "escalation" else elide_middle(text, MOST_SUMMED_UP)

    @property
    def open_escalation(self) -> Escalation | None:
        """Give the request that may be answered now; also the one that nobody answered in time."""
        newest = self.escalation
        waits = newest is not None and newest.state in (EscalationState.OPEN, EscalationState.EXPIRED)
        # A held answer is an answer: who comes second is told so, as if it had been sent.
        may = waits and self.held is None
        return newest if may and self.call.state in ANSWERABLE else None

    @property
    def answer(self) -> Guidance | None:
        return self.guidance[0] if self.guidance else None

    @property
    def is_answer_late(self) -> bool:
        """Tell whether the newest guidance came after the call had expired."""
        return self.answer is not None and GuidanceEntry(self.answer, self.expiries).is_late

    @property
    def asked_at(self) -> datetime | None:
        """Tell when the person was asked whose answer the page shows, or who is to answer."""
        asked = self.answer.escalation if self.answer is not None else self.escalation
        return asked.opened_at if asked is not None else None

    @property
    def expired_at(self) -> datetime | None:
        """Tell when nobody had answered that request in time."""
        asked = self.asked_at
        return next((expired for expired in self.expiries if asked is not None and expired >= asked), None)

    def is_open(self, escalation_id: str) -> bool:
        """Tell whether that request for a person still waits for its answer."""
        return self.open_escalation is not None and self.open_escalation.public_id == escalation_id

    def answer_to(self, escalation_id: str) -> Guidance | HeldAnswer | None:
        """Give what answered that request for a person, if anything did; it may be held still."""
        if self.held is not None and self.held.escalation.public_id == escalation_id:
            return self.held
        return next((given for given in self.guidance if given.escalation.public_id == escalation_id), None)

    @property
    def told(self) -> str:
        """Give the newest guidance as its agent reads it."""
        return told_text(self.answer) if self.answer else ""

    @property
    def attempts_after_answer(self) -> list[AttemptEntry]:
        """Give what the agent tried after the newest guidance, oldest first."""
        if self.answer is None:
            return []
        later = [attempt for attempt in self.attempts if attempt.submitted_at >= self.answer.given_at]
        base = self.answer.base_id or 0
        return [AttemptEntry(attempt, is_newest=False) for attempt in reversed(later) if attempt.pk > base]

    @property
    def told_hint(self) -> StandingHint | None:
        """Give the standing hint that the agent was told, if it was told any."""
        return next((attempt.standing_hint for attempt in self.attempts if attempt.standing_hint), None)

    @property
    def newest_judged(self) -> Attempt | None:
        """Give the attempt that an answer would be about."""
        return next((attempt for attempt in self.attempts if attempt.is_valid is not None), None)

    @property
    def newest_parsed(self) -> Attempt | None:
        """Give the last attempt whose output was JSON: what a correction is written on."""
        return next((attempt for attempt in self.attempts if attempt.is_parsed), None)

    @property
    def editable_arguments(self) -> str:
        """Write the last output that parsed as JSON to edit: characters that hide are escapes in it."""
        return editable(self.newest_parsed.output) if self.newest_parsed else "{\n  \n}"

    @property
    def is_heavy(self) -> bool:
        """Tell whether the last output that parsed is so long that the form gets it only when it is to be corrected."""
        output = self.newest_parsed.output if self.newest_parsed else None
        # Indenting is slow, and makes nothing shorter; neither does writing: each value has a character at least.
        is_long = not has_at_most(MOST_EDITED, output) or len(write_json(output, ensure_ascii=False)) > MOST_EDITED
        return is_long or len(escape(self.editable_arguments).encode()) > MOST_EDITED

    @property
    def kept_places(self) -> list[str]:
        """List the places of the values that only the agent has, and that it keeps when they are left alone."""
        attempt = self.newest_parsed
        return list(redacted_places(attempt.output)) if attempt and attempt.is_redacted else []

    @property
    def suggested_arguments(self) -> str | None:
        """Write the newest judged output with its near misses mended, or None when nothing is suggested."""
        proposed = self._proposed
        return None if proposed is None else editable(proposed)

    @property
    def suggested_changes(self) -> tuple[Change, ...]:
        attempt, proposed = self.newest_judged, self._proposed
        return () if attempt is None or proposed is None else compare(attempt.output, proposed)

    @property
    def unmended(self) -> int:
        """Count the mistakes that the suggested arguments would still have."""
        return 0 if self._proposed is None else len(check_correction(self.call, self._proposed))

    @property
    def _proposed(self) -> Any | None:
        attempt = self.newest_judged
        return None if attempt is None else proposed_arguments(attempt)

    @property
    def trace(self) -> tuple[str, str] | None:
        """Give the id of the newest attempt's trace, and where it is shown; empty where nobody said where."""
        parent = next((attempt.traceparent for attempt in self.attempts if attempt.traceparent), None)
        if parent is None:
            return None
        # The version, then 32 hexadecimal digits: checked when it was taken, so that it fits into any address.
        trace_id = parent.split("-")[1]
        return trace_id, settings.RETRYCONTRACT.trace_url.replace("{trace_id}", trace_id)

    @property
    def context(self) -> dict[str, str]:
        """Give the parts of the context that have a place of their own on the page."""
        return {name: text for name, text in self._context() if name in NAMED_CONTEXT and isinstance(text, str)}

    @property
    def other_context(self) -> dict[str, Any]:
        return {name: value for name, value in self._context() if name not in self.context}

    def _context(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self.call.context, dict):
            yield from self.call.context.items()


@dataclass(frozen=True, slots=True)
class OlderAttempts:
    """Hold a page of attempts, newest first, which others followed, and what people answered meanwhile."""

    attempts: tuple[Attempt, ...]
    guidance: tuple[Guidance, ...]


def read_story(call: Call, *, whole: str = "", attempt: str = "", after: str = "") -> CallHistory:
    """Read what the page of a call shows.

    `whole` names what is shown to its end, `attempt` the attempt that is led to, and `after` the one after which the
    page begins. An older attempt that is named in one of these begins a page of its own.
    """
    held = list(HeldAnswer.objects.select_related("operator", "escalation", "call").filter(call=call))
    given = call.guidance.select_related("operator", "escalation", "base").order_by("-pk")
    newest = tuple(_attempts(call)[:KNOWN_ATTEMPTS])
    begins = _number(after) - 1 if after else _number(whole) or _number(attempt)
    return CallHistory(
        call,
        newest,
        _rounds(without_long_values(given, "base", but=("text", "rendered", "arguments", "patch"))),
        _rounds(call.escalations.order_by("-round")),
        tuple(call.events.filter(name="call.expired").order_by("pk").values_list("at", flat=True)),
        _waiting(held),
        tuple(answer for answer in held if answer.is_unsent),
        whole,
        _number(attempt),
        _read_older(call, begins) if newest and 0 < begins < newest[:LISTED_ATTEMPTS][-1].number else None,
    )


def _attempts(call: Call) -> AttemptQuerySet:
    return call.attempts.select_related("standing_hint__owner").order_by("-number").defer("sealed")


def _number(asked: str) -> int:
    """Read an attempt's number out of an address; 0 for anything else."""
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) <= MAX_NUMBER_DIGITS else 0


def _rounds(rows: QuerySet[Row]) -> tuple[Row, ...]:
    return tuple(rows[:MOST_ROUNDS])


def _read_older(call: Call, begins: int) -> OlderAttempts:
    """Read the page that begins with an attempt, which others followed."""
    attempts = tuple(_attempts(call).filter(number__lte=begins)[:LISTED_ATTEMPTS])
    before = call.attempts.filter(number__gt=begins).order_by("number").values("submitted_at")[:1]
    answers = call.guidance.select_related("operator", "escalation").filter(given_at__lt=Subquery(before))
    if attempts[-1].number > 1:
        answers = answers.filter(given_at__gte=attempts[-1].submitted_at)
    return OlderAttempts(attempts, _rounds(answers.order_by("-pk")))


def read_version(call: Call) -> str:
    """Digest a call as `CallHistory.version` does, without reading its attempts."""
    given = _rounds(without_long_values(call.guidance.order_by("-pk")))
    held = HeldAnswer.objects.select_related("escalation", "call").filter(call=call)
    return version_of(call, given, _waiting(list(without_long_values(held, "call"))))


def version_of(call: Call, guidance: tuple[Guidance, ...], held: HeldAnswer | None) -> str:
    """Digest what changes on the page of a call."""
    parts = [call.state, str(call.attempts_made), str(call.updated_at.timestamp()), str(held and held.pk)]
    parts += [f"{given.pk}:{given.delivered_at}:{given.acknowledged_at}" for given in guidance]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


MOST_INDENTED: Final = 2_000_000  # characters; more could not be sent


def editable(value: Any) -> str:
    """Write a JSON value over several lines, hidden characters as escapes that mean the same; a vast one over one."""
    pieces, left = list[str](), MOST_INDENTED
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(value):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:  # blanks before values of a hundred levels are a hundred times what they set out
            return visible(json.dumps(value, ensure_ascii=False))
    return "\n".join(visible(line) for line in "".join(pieces).split("\n"))


def _waiting(held: list[HeldAnswer]) -> HeldAnswer | None:
    return next((answer for answer in held if not answer.has_missed), None)

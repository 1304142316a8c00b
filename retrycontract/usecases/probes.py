"""Tell whoever probes how the service is: whether it can do its work, and what Prometheus counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final

from django.db import DatabaseError, connection
from django.db.models import Sum

from retrycontract.contract.lifecycle import ENDS, CallState
from retrycontract.contract.redaction.sanitizer import elide_middle, visible
from retrycontract.front.probes import Family, Sample, Type
from retrycontract.store.clock import shared_now
from retrycontract.store.models import (
    Agent,
    Attempt,
    Call,
    Channel,
    Measure,
    OutboxMessage,
    Rollup,
    WorkerBeat,
    hour_of,
)
from retrycontract.store.models.counts import APART, OF_PLACES
from retrycontract.store.outages import LEAST_ROOM, NO_ANSWER, REASONS, has_room, outage, reason_of
from retrycontract.store.schema import database_schema
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.counts.keep_count import BUCKETS, LONGEST
from retrycontract.usecases.notify.doorbell import is_heard
from retrycontract.usecases.tools.contracts import sanitizer

LONG_WAIT: Final = 60.0  # seconds; two leases: the sweep has had its chance


@dataclass(frozen=True, slots=True)
class Readiness:
    """Hold what a look at the service found; `reason` says what is wrong with the database.

    `workers` lived within the last minute.
    """

    is_database_there: bool
    is_writable: bool = True
    reason: str = ""
    is_doorbell_heard: bool = False
    workers: int = 0
    oldest_waiting_seconds: float = 0.0

    @property
    def status(self) -> str:
        """Say "ready", "degraded" (takes work in, which may wait), "not-ready" (can store nothing) or "unavailable"."""
        if not self.is_database_there:
            return "unavailable"
        if not self.is_writable:
            return "not-ready"
        is_well = self.is_doorbell_heard and self.workers and self.oldest_waiting_seconds < LONG_WAIT
        return "ready" if is_well else "degraded"

    def to_json(self) -> dict[str, Any]:
        is_silent = self.reason in ("", REASONS[NO_ANSWER])
        away = "no answer" if is_silent else "cannot be used"
        return {
            "status": self.status,
            "database": ("ok" if self.is_writable else "takes no writes") if self.is_database_there else away,
            **({"reason": self.reason} if self.reason else {}),
            "doorbell": "ok" if self.is_doorbell_heard else "unheard",
            "workers": self.workers,
            "oldest_waiting_seconds": round(self.oldest_waiting_seconds, 1),
        }


def _write(least_room: int) -> str:
    """Write one small row, for a database on a full disk still reads well; say why it is not taken, "" when it is."""
    try:
        if not has_room(least_room):
            outage.takes_no_writes(REASONS["SQLITE_FULL"])
            return REASONS["SQLITE_FULL"]
        with write_transaction():
            WorkerBeat.objects.probe(shared_now())
    except (DatabaseError, OSError) as error:
        outage.failed(error, "The database took no row of a probe")
        return reason_of(error) or "it took no row: the log says why"
    return ""


def look(*, now: datetime, least_room: int = LEAST_ROOM) -> Readiness:
    """Look at the database, its disk, the doorbell and the workers; leaves no connection open."""
    try:
        if reason := database_schema.missing():
            return Readiness(is_database_there=False, reason=reason)
        reason = _write(least_room)
        oldest = Attempt.objects.waiting().order_by("pk").values_list("submitted_at", flat=True).first()
        workers = WorkerBeat.objects.alive(shared_now()).count()
    except DatabaseError as error:
        outage.failed(error, "The database did not answer a probe")
        return Readiness(is_database_there=False, reason=reason_of(error))
    finally:
        # Each look has another thread of a pool: left open, there would be a connection for each of them.
        connection.close()
    waited = (now - oldest).total_seconds() if oldest else 0.0
    return Readiness(
        is_database_there=True,
        is_writable=not reason,
        reason=reason,
        is_doorbell_heard=is_heard(),
        workers=workers,
        oldest_waiting_seconds=max(waited, 0.0),
    )


PREFIX: Final = "retrycontract_"
MOST_TOOLS: Final = 50  # agents name tools: what is not among those with the most attempts is one label
MOST_MODELS: Final = 20  # so are models
MOST_REASONS: Final = 20  # and why a model could not be asked
MOST_AGENTS: Final = 20  # those that cause the most work
OTHERS: Final = "other"
UNKNOWN: Final = "unknown"
MAX_NAME: Final = 80
MOST_COUNTED: Final = 100_000  # open calls of one state; counting more would take longer than it tells
SETTLED: Final = timedelta(hours=2)  # of hours so long ago nothing changes: they are summed up once

COUNTED: Final = Rollup.objects.exclude(measure__in=OF_PLACES)  # places are for pages: they are too many here

Key = tuple[str, str, str, str]  # namespace, tool, measure, label
Totals = Counter[Key]
HELP: Final = {
    "attempts_total": "Judged attempts, by their number within the call and their result.",
    "failures_total": "Failed attempts, by each code that they had.",
    "model_attempts_total": "Judged attempts whose model was named, by it, their number and their result.",
    "model_errors_total": "Tries for which the model could not be asked, by why; none of them is a failure.",
    "model_tokens_total": "Tokens that agents told of, by model and direction.",
    "escalations_total": "Calls that were Blocked and escalated to a person.",
    "outcomes_total": "Ends of calls, by state.",
    "guidance_total": "Answers of people, by decision.",
    "guidance_seconds": "Time from an escalation to its answer.",
    "open_calls": "Calls that have not ended, by state.",
    "oldest_blocked_seconds": "How long the longest waiting Blocked call has waited for a person.",
    "waiting_attempts": "Attempts that wait to be judged.",
    "oldest_waiting_seconds": "How long the longest waiting attempt has waited to be judged.",
    "undelivered_messages": "Messages that are still to be delivered, by channel.",
    "given_up_messages": "Messages that were given up, by channel.",
    "work_seconds_total": "Processor time that checking took, by the agent that caused it.",
    "workers": "Workers that gave a sign of life within a minute.",
    "waiting_requests": "Requests that this process holds until there is an answer.",
}


class MetricsReader:
    """Read the metrics; remembers the sums of hours that are long over, so that no look is dear but the first."""

    def __init__(self) -> None:
        self._settled: Totals = Counter()
        self._until: datetime | None = None

    def read(self, *, now: datetime, waiting_requests: int) -> list[Family]:
        """Read them all; raises DatabaseError."""
        until = hour_of(now - SETTLED)
        if self._until is None or until > self._until:
            since = {} if self._until is None else {"hour__gte": self._until}
            self._settled.update(COUNTED.filter(hour__lt=until, **since).totals())
            self._until = until
        totals = self._settled + COUNTED.filter(hour__gte=self._until).totals()
        attempts: Counter[tuple[str, str]] = Counter()
        for (namespace, tool, measure, _), amount in totals.items():
            if measure == Measure.JUDGED:
                attempts[namespace, tool] += amount
        # Names that can be shown, in the place of those that agents gave; all but the busiest tools are one.
        busiest = sorted(attempts, key=lambda pair: (-attempts[pair], pair))[:MOST_TOOLS]
        names = {(namespace, tool): (_shown(namespace), _shown(tool) or UNKNOWN) for namespace, tool in busiest}
        shown: Totals = Counter()
        for (namespace, tool, measure, label), amount in totals.items():
            shown[(*names.get((namespace, tool), (OTHERS, OTHERS)), measure, label)] += amount
        return [*_counted(shown), *_standing(now), _gauge("waiting_requests", waiting_requests)]


def _shown(name: str) -> str:
    return visible(elide_middle(sanitizer().redact_name(name), MAX_NAME))


def _counted(totals: Totals) -> Iterator[Family]:
    yield _family("attempts_total", "counter", _attempts(totals))
    yield _family("failures_total", "counter", _of_tools(totals, Measure.FAILURE, "code"))
    yield _family("model_errors_total", "counter", _of_tools(_reasons(totals), Measure.API_ERROR, "reason"))
    # The busiest models are shown by their names; all others are one.
    seen: Counter[str] = Counter()
    for (_, _, measure, label), amount in totals.items():
        if measure == Measure.SOURCE_JUDGED and (model := label.rpartition(APART)[2]):
            seen[model] += amount
    names = {name: _shown(name) for name in sorted(seen, key=lambda name: (-seen[name], name))[:MOST_MODELS]}
    yield _family("model_attempts_total", "counter", _model_attempts(totals, names))
    tokens = _by_model(totals, Measure.TOKENS, names)
    told = (Sample(amount, (("model", name), ("direction", way))) for (name, way), amount in sorted(tokens.items()))
    yield _family("model_tokens_total", "counter", told)
    yield _family("escalations_total", "counter", _of_tools(totals, Measure.ESCALATION))
    yield _family("outcomes_total", "counter", _of_tools(totals, Measure.OUTCOME, "state"))
    decisions = _by_label(totals, Measure.GUIDANCE)
    yield _family("guidance_total", "counter", (Sample(n, (("decision", name),)) for name, n in decisions.items()))
    yield _family("guidance_seconds", "histogram", _times(totals))


def _attempts(totals: Totals) -> Iterator[Sample]:
    """Judged attempts are valid or failed; the rates of first tries and recovery follow from these two."""
    for (namespace, tool, measure, number), judged in sorted(totals.items()):
        if measure == Measure.JUDGED:
            valid = totals[namespace, tool, Measure.VALID.value, number]
            of = (("namespace", namespace), ("tool", tool), ("attempt", number))
            yield Sample(valid, (*of, ("result", "valid")))
            yield Sample(judged - valid, (*of, ("result", "failed")))


def _by_model(totals: Totals, wanted: Measure, names: dict[str, str]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for label, amount in _by_label(totals, wanted).items():
        if APART in label:
            first, *_, model = label.split(APART)
        else:
            first, _, model = label.partition(" ")
        if model:
            found[names.get(model, OTHERS), first] += amount
    return found


def _model_attempts(totals: Totals, names: dict[str, str]) -> Iterator[Sample]:
    valid = _by_model(totals, Measure.SOURCE_VALID, names)
    for (model, number), judged in sorted(_by_model(totals, Measure.SOURCE_JUDGED, names).items()):
        of = (("model", model), ("attempt", number))
        yield Sample(valid[model, number], (*of, ("result", "valid")))
        yield Sample(judged - valid[model, number], (*of, ("result", "failed")))


def _of_tools(totals: Totals, wanted: Measure, label_name: str = "") -> Iterator[Sample]:
    for (namespace, tool, measure, label), amount in sorted(totals.items()):
        if measure == wanted:
            labelled = ((label_name, label),) if label_name else ()
            yield Sample(amount, (("namespace", namespace), ("tool", tool), *labelled))


def _times(totals: Totals) -> Iterator[Sample]:
    counts = _by_label(totals, Measure.GUIDANCE_TIME)
    limits = [*map(str, BUCKETS), LONGEST]
    # Prometheus counts in each bucket those of all smaller ones as well.
    for limit, amount in zip(limits, accumulate(counts[limit] for limit in limits), strict=True):
        yield Sample(amount, (("le", "+Inf" if limit == LONGEST else limit),), "_bucket")
    yield Sample(_by_label(totals, Measure.GUIDANCE_SECONDS)[""], suffix="_sum")
    yield Sample(sum(counts[limit] for limit in limits), suffix="_count")


def _reasons(totals: Totals) -> Totals:
    reasons = _by_label(totals, Measure.API_ERROR)
    named = sorted(reasons, key=lambda reason: (-reasons[reason], reason))[:MOST_REASONS]
    found: Totals = Counter()
    for (namespace, tool, measure, reason), amount in totals.items():
        if measure == Measure.API_ERROR:
            found[namespace, tool, measure, reason if reason in named else OTHERS] += amount
    return found


def _by_label(totals: Totals, wanted: Measure) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, _, measure, label), amount in sorted(totals.items()):
        if measure == wanted:
            found[label] += amount
    return found


def _standing(now: datetime) -> Iterator[Family]:
    states = [state for state in CallState if state not in ENDS]
    open_calls = {state.value: Call.objects.in_states(state)[:MOST_COUNTED].count() for state in states}
    yield _family("open_calls", "gauge", (Sample(n, (("state", state),)) for state, n in open_calls.items()))
    blocked_at = Call.objects.blocked().values_list("blocked_at", flat=True).first()
    yield _gauge("oldest_blocked_seconds", _age(blocked_at, now))
    waiting = Attempt.objects.waiting()
    yield _gauge("waiting_attempts", waiting.count())
    submitted_at = waiting.order_by("pk").values_list("submitted_at", flat=True).first()
    yield _gauge("oldest_waiting_seconds", _age(submitted_at, now))
    # Those who caused the most are named, the others put together.
    caused = Agent.objects.filter(work_seconds__gt=0).order_by("-work_seconds", "pk")
    by_name: defaultdict[str, float] = defaultdict(float)  # two names may be shown alike
    for name, seconds in caused.values_list("name", "work_seconds")[:MOST_AGENTS]:
        by_name[_shown(name)] += seconds
    by_name[OTHERS] += (caused.order_by().aggregate(sum=Sum("work_seconds"))["sum"] or 0) - sum(by_name.values())
    work = [Sample(round(seconds, 3), (("agent", name),)) for name, seconds in by_name.items() if round(seconds, 3)]
    yield _family("work_seconds_total", "counter", work)
    yield _gauge("workers", WorkerBeat.objects.alive(shared_now()).count())
    messages = OutboxMessage.objects.all()
    yield _family("undelivered_messages", "gauge", _of_channels(lambda name: messages.unfinished(name).count()))
    given_up = messages.given_up()
    yield _family("given_up_messages", "gauge", _of_channels(lambda name: given_up.filter(channel=name).count()))


def _of_channels(count: Callable[[Channel], int]) -> Iterator[Sample]:
    return (Sample(count(channel), (("channel", channel.value),)) for channel in Channel)


def _age(moment: datetime | None, now: datetime) -> float:
    return max(round((now - moment).total_seconds(), 3), 0) if moment else 0


def _gauge(name: str, value: float) -> Family:
    return _family(name, "gauge", [Sample(value)])


def _family(name: str, kind: Type, samples: Iterable[Sample]) -> Family:
    return Family(f"{PREFIX}{name}", kind, HELP[name], tuple(samples))

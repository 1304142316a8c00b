"""Count what happens in the transaction in which it happens, and charge agents for processor time."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import ceil
from time import thread_time
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from retrycontract.contract import pointers
from retrycontract.contract.checks.tool_arguments import UNKNOWN_TOOL
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ErrorSeverity
from retrycontract.contract.json_types import WrittenJSON, write_json
from retrycontract.contract.lifecycle import CallState, Move
from retrycontract.contract.redaction.sanitizer import elide_middle, visible
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Attempt,
    Call,
    Count,
    Event,
    Guidance,
    Measure,
    Rollup,
    Source,
    Tally,
    hour_of,
)
from retrycontract.store.transactions import write_turn

# Beyond the burst, in processor seconds: what is refused adds nothing, so that only what is under way at once can come
# to more. An account that owes more was charged before the clock was set back.
MOST_OWED: Final = 100.0
LONG_READING: Final = 0.01  # seconds; what is read every day takes a few milliseconds, and is nobody's burden
SHORT_WORK: Final = 0.4  # seconds; who owes less waits for no check of whoever owes more
PER_MINUTE: Final = 30.0  # seconds that are worked off where no setting bounds them, so that it is known who goes first
NOTED: Final = 0.1  # seconds of quick checks that are kept in mind, since a write would cost more than each of them


class WorkUsedUpError(Exception):
    """Raised when an agent has caused more work than it may for now; `wait` is in whole seconds."""

    def __init__(self, wait: int) -> None:
        self.wait = wait
        super().__init__(f"the agent's outputs took more processor time than it may have; wait {wait} s")


def charge(agent_id: int, seconds: float, *, now: datetime) -> None:
    """Charge an agent at once, as what takes long is."""
    service = settings.RETRYCONTRACT
    with write_turn():
        most = service.work_burst_seconds + MOST_OWED
        Agent.charge(agent_id, seconds, per_second=_worked_off(), most=most, now=now)


@contextmanager
def reserved_work(agent_id: int, seconds: float, *, now: datetime, is_bounded: bool) -> Iterator[None]:
    """Charge an agent for what is taken in by the block and done later; what is not taken in is given back.

    If `is_bounded`, raises WorkUsedUpError where the account is overdrawn by now: of many outputs that come at once,
    each found it as it was before the first of them.
    """
    service = settings.RETRYCONTRACT
    if not is_bounded or not service.work_seconds_per_minute:
        charge(agent_id, seconds, now=now)
    else:
        room = service.work_burst_seconds
        with write_turn():
            has_room = Agent.reserve(
                agent_id, seconds, per_second=_worked_off(), room=room, most=room + MOST_OWED, now=now
            )
        if not has_room:
            raise WorkUsedUpError(max(1, seconds_overdrawn(Agent.objects.get(pk=agent_id), now=now)))
    try:
        yield
    except BaseException:
        charge(agent_id, -seconds, now=now)
        raise


def note_work(agent_id: int, seconds: float, *, now: datetime) -> None:
    """Charge an agent for a quick check, in sums that are worth a write."""
    with _noting:
        _noted[agent_id] += seconds
        due = _noted.pop(agent_id) if _noted[agent_id] >= NOTED else 0
    if due:
        charge(agent_id, due, now=now)


@contextmanager
def charged_reading(agent_id: int) -> Iterator[None]:
    """Charge an agent for what the block reads to it, where that takes as long as a check."""
    begun = thread_time()
    yield
    if (seconds := thread_time() - begun) > LONG_READING:
        note_work(agent_id, seconds, now=timezone.now())


def charge_reading(token: str, seconds: float, *, now: datetime) -> int:
    """Charge the agent of a key for what was read of its requests before it was known what they ask.

    Gives the whole seconds that it has to wait until more is read.
    """
    if seconds <= LONG_READING or (key := ApiKey.objects.authenticate(token, now)) is None:
        return 0
    note_work(key.agent_id, seconds, now=now)
    return seconds_overdrawn(key.agent, now=now)


def refuse_overdrawn(agent: Agent, *, now: datetime) -> None:
    """Raise WorkUsedUpError while the account of an agent, as it was just read, is overdrawn."""
    if wait := seconds_overdrawn(agent, now=now):
        raise WorkUsedUpError(wait)


def seconds_overdrawn(agent: Agent, *, now: datetime) -> int:
    """Tell how many whole seconds an agent is to wait until its account allows more checking, 0 for none."""
    service = settings.RETRYCONTRACT
    if not service.work_seconds_per_minute:
        return 0
    per_second = _worked_off()
    wait = agent.work_until - now.timestamp() - service.work_burst_seconds / per_second
    return ceil(wait) if 0 < wait <= MOST_OWED / per_second else 0


def goes_first(work_until: float, submitted_at: datetime) -> bool:
    """Tell whether a dear output is so short, and its agent's account owes so little, that it goes past longer ones.

    It was charged for when it came in, so that the account has owed at least its cost since then.
    """
    return (work_until - submitted_at.timestamp()) * _worked_off() <= SHORT_WORK


def _worked_off() -> float:
    """Give the processor seconds that an account works off in a second."""
    per_minute: float = settings.RETRYCONTRACT.work_seconds_per_minute or PER_MINUTE
    return per_minute / 60


# Lost when the process ends, and then not charged: less than `NOTED` for each agent.
_noted: defaultdict[int, float] = defaultdict(float)
_noting = threading.Lock()


OF_RECOVERY: Final = ("call", "number", "is_valid", "errors_json", "model")  # without outputs, which may be large
LAST_NUMBER: Final = 10  # attempts counted one by one: the largest budget; those that a person granted on top are one
LATER: Final = "more"
MOST_PLACES: Final = 8  # of one attempt: the first mistakes say what the field is
MAX_DEPTH: Final = 4  # names of a place; deeper ones are counted where they hang
MAX_PLACE: Final = 80  # characters
MAX_LABEL: Final = 120  # characters of a place, once what is invisible is written out
LONGEST_WORK: Final = timedelta(minutes=30)  # on one call: who comes back later has done something else meanwhile
LONGEST: Final = "longer"
AT: Final = "at "  # begins the label of an answer's own time
CHARACTERS_OF_TOKEN: Final = 4  # a rule of thumb: every model counts its own
UNNAMED: Final = "unknown"  # the model of an attempt that told its tokens only
# Answers are a matter of minutes while somebody watches, of hours over night, of days over a weekend.
BUCKETS: Final = (60, 300, 900, 3_600, 14_400, 86_400, 604_800)  # seconds
MINUTE, HOUR, DAY = 60, 3_600, 86_400
OF_UNKNOWN_TOOL: Final = f'"keyword":"{UNKNOWN_TOOL}"'  # in the errors of an attempt as they are stored
BLOCKING: Final = ErrorSeverity.ERROR.name.lower()

CLAIMED, RELEASED = "call.claimed", "call.released"

Steps = list[tuple[Measure, str, int]]


def count_verdict(attempt: Attempt, verdict: Move, *, source: str, now: datetime, tried: Decision | None) -> None:
    """Count a judged attempt and what became of its call; one that could not be read was not judged.

    `tried` is the answer of a person that the attempt is the first made with.
    """
    if attempt.is_valid is None:
        return
    steps = steps_of_attempt(attempt)
    if attempt.is_valid and attempt.number > 1:
        steps += steps_of_recovery(attempt.call.attempts.filter(number__lt=attempt.number).only(*OF_RECOVERY))
    if tried is not None:
        steps += steps_of_try(tried, attempt.is_valid)
    if verdict.opens_escalation:
        steps.append((Measure.ESCALATION, "", 1))
    _count(attempt.call, [*steps, *steps_of_move(source, verdict.state)], now, tool=tool_of_attempt(attempt))


def count_unasked(attempt: Attempt, *, source: str, now: datetime) -> None:
    """Count a try for which the model could not be asked: no attempt of the model's, and none of its mistakes."""
    steps: Steps = [(Measure.API_ERROR, unasked_because(attempt), 1)]
    _count(attempt.call, [*steps, *steps_of_move(source, attempt.call.state)], now)


def unasked_because(attempt: Attempt) -> str:
    """Name in few words why the model could not be asked: what stands before the name of the error's class."""
    return visible(elide_middle((attempt.api_error or "").partition(" (")[0], MAX_PLACE))[:MAX_PLACE]


def count_guidance(call: Call, given: Guidance, *, source: str, now: datetime) -> None:
    """Count a person's answer, the time it took, and the call's end if it is one."""
    events = Event.objects.filter(call=call, name__in=(CLAIMED, RELEASED), at__gte=given.escalation.opened_at)
    answered = steps_of_answer(given, given.base, work_on(given, events.order_by("pk")))
    _count(call, [*answered, *steps_of_move(source, call.state)], now)


def count_end(call: Call, *, source: str, now: datetime) -> None:
    """Count a call that has ended without a verdict or an answer."""
    _count(call, steps_of_move(source, call.state), now)


def steps_of_attempt(attempt: Attempt) -> Steps:
    """Say what a judged attempt adds: one by its number, one for each code and place that failed, and what it cost."""
    label = str(attempt.number) if attempt.number <= LAST_NUMBER else LATER
    steps: Steps = [(Measure.JUDGED, label, 1), *_cost(attempt)]
    source = _source(attempt)
    steps += [(Measure.SOURCE_JUDGED, source.label(label), 1)]
    steps += [(Measure.SOURCE_VALID, source.label(label), int(bool(attempt.is_valid)))]
    if attempt.is_valid:
        return [*steps, (Measure.VALID, label, 1)]
    codes = {error["error_code"] for error in _blocking(attempt)}
    places, tokens = _places(attempt), (attempt.tokens_in or 0) + (attempt.tokens_out or 0)
    if attempt.tokens_in is None and attempt.tokens_out is None:  # then what it wrote and was answered says it
        tokens = (_length(attempt.output) + len(attempt.feedback)) // CHARACTERS_OF_TOKEN
    if attempt.number == 1:
        steps += [(Measure.CODE_FIRST, source.label(code), 1) for code in codes]
    steps += [(Measure.FAILURE, code, 1) for code in codes]
    steps += [(Measure.PLACE, source.label(place), 1) for place in places]
    return [*steps, *((Measure.PLACE_TOKENS, source.label(place), tokens // len(places)) for place in places)]


def steps_of_recovery(before: Iterable[Attempt]) -> Steps:
    """Say what the first valid attempt adds for each mistake of the call's first attempt: the call came right.

    `before` are the attempts that came before it.
    """
    attempts = list(before)
    first = next((one for one in attempts if one.number == 1 and one.is_valid is False), None)
    if first is None or any(one.is_valid for one in attempts):
        return []
    codes = {error["error_code"] for error in _blocking(first)}
    return [(Measure.CODE_RECOVERED, _source(first).label(code), 1) for code in codes]


def steps_of_answer(given: Guidance, base: Attempt | None, worked: timedelta) -> Steps:
    """Say what a person's answer to the attempt `base` adds; `worked` is how long they had the call."""
    seconds = max(int((given.given_at - given.escalation.opened_at).total_seconds()), 0)
    bucket = next((str(limit) for limit in BUCKETS if seconds <= limit), LONGEST)
    # As exact as durations are written: there are few of these, and what they say stays when the calls are forgotten.
    written = seconds - seconds % (1 if seconds < MINUTE else MINUTE if seconds < DAY else HOUR)
    steps: Steps = [
        (Measure.GUIDANCE, str(given.decision), 1),
        (Measure.GUIDANCE_TIME, bucket, 1),
        (Measure.GUIDANCE_TIME, f"{AT}{written}", 1),
        (Measure.GUIDANCE_SECONDS, "", seconds),
    ]
    if base is None:
        return steps
    source, places = _source(base), _places(base)
    for place in places:
        label, share = source.label(place), int(worked.total_seconds()) // len(places)
        steps += [(Measure.PLACE_ANSWERS, label, 1), (Measure.PLACE_SECONDS, label, share)]
    return steps


def work_on(given: Guidance, events: Iterable[Event]) -> timedelta:
    """Tell how long the operator had the call before the answer, of what happened to it since it was Blocked.

    Nothing where they had not taken it on: nobody knows how long somebody looks at a page.
    """
    taken: datetime | None = None
    for event in events:
        if event.at > given.given_at:
            break
        if event.name in (CLAIMED, RELEASED):
            # Cut as `Event.record` cuts the name of an actor.
            is_theirs = event.name == CLAIMED and event.actor == given.operator.get_username()[:200]
            taken = event.at if is_theirs else None
    return min(given.given_at - taken, LONGEST_WORK) if taken else timedelta()


def steps_of_try(decision: str, is_valid: bool) -> Steps:
    """Say what the first attempt after an answer was read adds."""
    return [(Measure.TRIED, str(decision), 1), (Measure.WORKED, str(decision), int(is_valid))]


def steps_of_move(source: str, target: str) -> Steps:
    """Say what a move of a call adds: its outcome when it has ended by it."""
    has_ended = source != target and CallState(target).has_ended
    return [(Measure.OUTCOME, str(target), 1)] if has_ended else []


def _cost(attempt: Attempt) -> Steps:
    """Count what would not have been sent, had the first attempt been valid: tokens where they were told.

    Feedback is read with the next attempt, so that an agent that counts its tokens has counted it there.
    """
    if attempt.tokens_in is None and attempt.tokens_out is None:
        again = _length(attempt.output) if attempt.number > 1 else 0
        return [(Measure.RETRY_TEXT, "", again + len(attempt.feedback))]
    told = {"in": attempt.tokens_in or 0, "out": attempt.tokens_out or 0}
    retried = sum(told.values()) if attempt.number > 1 else 0
    by_model: Steps = [
        (Measure.TOKENS, f"{way} {counted_model(attempt.model or UNNAMED)}", amount) for way, amount in told.items()
    ]
    return [*by_model, (Measure.RETRY_TOKENS, "", retried)]


def _length(output: Any) -> int:
    return len(output.text if isinstance(output, WrittenJSON) else write_json(output, separators=(",", ":")))


def _source(attempt: Attempt) -> Source:
    call = attempt.call
    version = call.version_id if tool_of_attempt(attempt) else None  # it may have got one since
    return Source(str(call.agent_id), str(version or ""), counted_model(attempt.model) if attempt.model else "")


def _blocking(attempt: Attempt) -> list[Mapping[str, Any]]:
    return [error for error in attempt.errors_json if error["severity"] == BLOCKING]


def _places(attempt: Attempt) -> list[str]:
    """Name code and place of each error; a field that the model made up counts where it stands."""
    found = set()
    # A thousand errors of one list stand in few places, and all writers wait until these are told.
    for code, pattern in {(error["error_code"], pointers.pattern(error["field_path"])) for error in _blocking(attempt)}:
        tokens = pointers.tokens(pattern)
        if code == ErrorCode.UNKNOWN_FIELD:
            tokens = tokens[:-1]
        place = pointers.from_tokens(tokens[:MAX_DEPTH])
        found.add(visible(elide_middle(f"{code} {place}".strip(), MAX_PLACE))[:MAX_LABEL])
    return sorted(found)[:MOST_PLACES]


def counted_model(name: str) -> str:
    """Give the name that a model is counted under: a long one without its middle."""
    return visible(elide_middle(name, MAX_PLACE))[:MAX_PLACE]


def tool_of_attempt(attempt: Attempt) -> str:
    """Name the tool that an attempt was judged by, or nothing: the call may have been named rightly later."""
    is_of_unknown_tool = any(error["keyword"] == UNKNOWN_TOOL for error in attempt.errors_json)
    return "" if is_of_unknown_tool else tool_of_call(attempt.call)


def tool_of_call(call: Call) -> str:
    """Name the registered tool of a call, or nothing."""
    return "" if call.tool_id is None else call.tool_name


def tally_of(steps: Steps, at: datetime, *, namespace: str, tool: str) -> Tally:
    """Put steps into the hour, the namespace and the tool that they belong to."""
    tally: Tally = Counter()
    for measure, label, amount in steps:
        tally[Count(hour_of(at), namespace, tool, measure.value, label)] += amount
    return tally


def _count(call: Call, steps: Steps, at: datetime, *, tool: str | None = None) -> None:
    name = tool_of_call(call) if tool is None else tool
    Rollup.objects.add(tally_of(steps, at, namespace=call.agent.namespace, tool=name))

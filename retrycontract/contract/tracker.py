"""What is known of open calls, in one process: their attempts and histories, and where the next attempt finds them."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.forking import renew_in_children
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.matching import Submission, match
from retrycontract.contract.redaction.sanitizer import elide_middle

MAX_HISTORY = 10  # entries kept for one call
MAX_HISTORY_BYTES = 10_000  # of one call's history, as JSON
MAX_CALLS = 50_000  # calls kept; a process that tracks more should use the service


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """Hold one failed attempt as the history tells it: its number, its errors and when it was judged.

    `omitted` counts the errors that a bounded history has no room for.
    """

    number: int
    errors: tuple[ValidationError, ...]
    at: datetime | None = None
    omitted: int = 0


class RetryTracker(Protocol):
    """Count the attempts of calls and keep their histories, by call id."""

    def increment_attempt(self, call_id: str) -> int:
        """Count one more attempt and return its number, from 1."""

    def get_current_attempt(self, call_id: str) -> int:
        """Return the number of the last attempt; 0 for a call that is not known."""

    def record_error(self, call_id: str, errors: Sequence[ValidationError], *, at: datetime | None = None) -> None:
        """Append the errors of the current attempt to the call's history."""

    def get_history(self, call_id: str) -> list[AttemptRecord]:
        """Return a copy of the call's history, oldest first; empty for a call that is not known."""

    def has_exceeded_max_retries(self, call_id: str, max_attempts: int | None = None) -> bool:
        """Tell whether the call has made `max_attempts` attempts or more."""

    def clear(self, call_id: str) -> None:
        """Forget the call."""


@dataclass(slots=True)
class _Track:
    attempts: int = 0
    history: deque[tuple[AttemptRecord, int]] = field(default_factory=deque)
    size: int = 0


class InMemoryRetryTracker:
    """Track attempts in this process: thread-safe, O(1) for each call, bounded in calls, entries and bytes.

    When it is full the call that finished first is forgotten, else the one that began first.
    """

    def __init__(
        self, *, max_attempts: int = 3, max_calls: int = MAX_CALLS, max_history_bytes: int = MAX_HISTORY_BYTES
    ) -> None:
        self._max_attempts, self._max_calls, self._max_bytes = max_attempts, max_calls, max_history_bytes
        self._tracks: OrderedDict[str, _Track] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._renew_locks()
        renew_in_children(self, InMemoryRetryTracker._renew_locks)

    def _renew_locks(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    def increment_attempt(self, call_id: str) -> int:
        """Count one more attempt and return its number, from 1."""
        with self._lock:
            track = self._track(call_id)
            # A call that goes on after its end is no longer the first to be forgotten.
            self._finished.pop(call_id, None)
            track.attempts += 1
            return track.attempts

    def get_current_attempt(self, call_id: str) -> int:
        """Return the number of the last attempt; 0 for a call that is not known."""
        with self._lock:
            track = self._tracks.get(call_id)
            return track.attempts if track else 0

    def record_error(self, call_id: str, errors: Sequence[ValidationError], *, at: datetime | None = None) -> None:
        """Append the errors of the current attempt; the oldest entries make room when the history is full."""
        with self._lock:
            track = self._track(call_id)  # also of a call that nobody has counted yet: its errors are not lost
            record, size = self._bounded(AttemptRecord(max(track.attempts, 1), tuple(errors), at))
            track.history.append((record, size))
            track.size += size
            while len(track.history) > MAX_HISTORY or track.size > self._max_bytes:
                _, dropped = track.history.popleft()
                track.size -= dropped

    def get_history(self, call_id: str) -> list[AttemptRecord]:
        """Return a copy of the call's history, oldest first; empty for a call that is not known."""
        with self._lock:
            track = self._tracks.get(call_id)
            return [record for record, _ in track.history] if track else []

    def has_exceeded_max_retries(self, call_id: str, max_attempts: int | None = None) -> bool:
        """Tell whether the call has made `max_attempts` attempts or more (default: the tracker's own)."""
        return self.get_current_attempt(call_id) >= (max_attempts or self._max_attempts)

    def finish(self, call_id: str) -> None:
        """Mark the call as ended, so that it is the first to go when room is needed."""
        with self._lock:
            if call_id in self._tracks:
                self._finished[call_id] = None

    def clear(self, call_id: str) -> None:
        """Forget the call."""
        with self._lock:
            self._tracks.pop(call_id, None)
            self._finished.pop(call_id, None)

    def _track(self, call_id: str) -> _Track:
        if call_id not in self._tracks:
            while len(self._tracks) >= self._max_calls:
                oldest = next(iter(self._finished or self._tracks))
                self._finished.pop(oldest, None)
                self._tracks.pop(oldest, None)
            self._tracks[call_id] = _Track()
        return self._tracks[call_id]

    def _bounded(self, record: AttemptRecord) -> tuple[AttemptRecord, int]:
        """Keep as many of the errors as fit into half the byte limit, so that the last attempt always fits."""
        size, most = 0, self._max_bytes // 2
        for kept, error in enumerate(record.errors):
            room = most - size
            size += len(json.dumps(error.to_json()))
            if size > most:
                only = () if kept else (_shortened(error, room),)
                shown = record.errors[:kept] or only
                return replace(record, errors=shown, omitted=len(record.errors) - len(shown)), most
        return record, size


def _shortened(error: ValidationError, room: int) -> ValidationError:
    """Cut the three texts of an error that alone is too large; an escaped character takes up to twelve bytes."""
    # A quarter for each of the three texts, and one for what stands around them.
    most = room // (12 * 4)
    return replace(
        error,
        field_path=elide_middle(error.field_path, most),
        message=elide_middle(error.message, most),
        expected_value=None,
        actual_value=None,
        keyword=elide_middle(error.keyword, most),
        hint=None,
        patch=(),
    )


class UnknownCallError(LookupError):
    """Raised for a `call_id` that has ended or was never ours."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        super().__init__(
            f"no open call has the id {call_id!r}: it ended, or is not of this contract; leave call_id out"
        )


class OtherToolError(ValueError):
    """Raised when an attempt names a call of another tool."""

    def __init__(self, call_id: str, tool_name: str) -> None:
        self.call_id, self.tool_name = call_id, tool_name
        super().__init__(f"the call {call_id!r} is of the tool {tool_name!r}; leave call_id out to begin a new one")


@dataclass(slots=True)
class TrackedCall:
    """Remember an open call between its attempts; `lock` is held while one of them is judged."""

    call_id: str
    tool_name: str
    session_id: str | None
    allowed: int
    state: CallState = CallState.PENDING
    last_turn: int | None = None
    last_tool_call_id: str = ""
    is_of_unknown_tool: bool = False
    first_output: str = ""
    last: Any = None  # what became of its newest attempt
    first_tool_call_id: str = ""  # of that output
    bucket: tuple[str, str] = field(init=False)  # where its next attempt looks for it
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.bucket = _bucket(Submission(self.tool_name, self.last_tool_call_id, self.session_id))


class TrackedCalls:
    """Keep the calls of one process that have not ended, by where their next attempt looks for them.

    Thread-safe. When it is full the oldest call is forgotten, of which `forget` is told the id.
    """

    def __init__(self, forget: Callable[[str], None]) -> None:
        self._forget_more = forget
        self._calls: OrderedDict[str, TrackedCall] = OrderedDict()
        self._buckets: dict[tuple[str, str], dict[str, TrackedCall]] = {}
        self._lock = threading.Lock()
        renew_in_children(self, TrackedCalls._renew_locks)

    def _renew_locks(self) -> None:
        """Begin with locks that nobody holds, and put every call where its next attempt looks for it."""
        self._lock, self._buckets = threading.Lock(), {}
        for call in self._calls.values():
            call.lock = threading.Lock()
            self._buckets.setdefault(call.bucket, {})[call.call_id] = call

    def get(self, call_id: str) -> TrackedCall | None:
        with self._lock:
            return self._calls.get(call_id)

    def begins_one(self, submission: Submission, call_id: str | None) -> bool:
        """Tell whether an attempt can continue none of the calls."""
        return call_id is None and not self._buckets.get(_bucket(submission))

    @contextmanager
    def held(
        self, submission: Submission, call_id: str | None, begin: Callable[[], TrackedCall]
    ) -> Iterator[TrackedCall]:
        """Find the call of an attempt, or keep the one that `begin` makes, and hold its lock.

        Raises UnknownCallError, OtherToolError and AmbiguousCallError.
        """
        while True:
            call = self._find(submission, call_id) if call_id is not None else self._match(submission, begin)
            with call.lock:
                if not call.state.has_ended:  # another thread may have ended it while we waited
                    yield call
                    return

    def keep_findable(self, call: TrackedCall) -> None:
        """Move a call to where its next attempt looks for it: `call_id` may have come with a provider's new id."""
        bucket = _bucket(Submission(call.tool_name, call.last_tool_call_id, call.session_id))
        with self._lock:
            if bucket != call.bucket and call.call_id in self._calls:
                self._leave(call)
                call.bucket = bucket
                self._buckets.setdefault(bucket, {})[call.call_id] = call

    def end(self, call: TrackedCall) -> None:
        with self._lock:
            self._forget(call)

    def _find(self, submission: Submission, call_id: str) -> TrackedCall:
        with self._lock:
            # One error for what ended and what never was: nothing is kept of a call that has ended.
            if call_id not in self._calls:
                raise UnknownCallError(call_id)
            call = self._calls[call_id]
            if call.tool_name != submission.tool_name and not call.is_of_unknown_tool:
                raise OtherToolError(call_id, call.tool_name)
            return call

    def _match(self, submission: Submission, begin: Callable[[], TrackedCall]) -> TrackedCall:
        with self._lock:
            candidates = list(self._buckets.get(_bucket(submission), {}).values())
            if found := match(submission, candidates, is_one_conversation=True):
                return found
            call = begin()
            if len(self._calls) >= MAX_CALLS:
                # The first one is the oldest, as calls are never put in anew.
                self._forget(next(iter(self._calls.values())))
            self._calls[call.call_id] = call
            self._buckets.setdefault(call.bucket, {})[call.call_id] = call
            return call

    def _forget(self, call: TrackedCall) -> None:
        # A call that makes room for others may be under way in another thread, which ends it once more.
        if self._calls.pop(call.call_id, None):
            self._leave(call)
        self._forget_more(call.call_id)

    def _leave(self, call: TrackedCall) -> None:
        neighbours = self._buckets[call.bucket]
        del neighbours[call.call_id]
        if not neighbours:
            del self._buckets[call.bucket]


def _bucket(submission: Submission) -> tuple[str, str]:
    """Say where the calls lie that an attempt may continue: its session, else the provider's id."""
    if submission.session_id is None:
        return "id", submission.tool_call_id
    return "session", submission.session_id

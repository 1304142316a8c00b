"""Count attempts and keep their history: the protocol, and the bounded in-memory implementation."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from retrycontract.contract.errors import ValidationError
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
    finished: bool = False
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

"""Write transactions: one at a time in each process where the database has a single writer anyway, and in batches."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from django.db import OperationalError, connection, transaction

from retrycontract.store.outages import BUSY, is_busy, outage

# What took longer is rolled back: readers of events look back no further than a transaction may last.
LONGEST_SECONDS: Final = 30.0


class WritersQueue:
    """Let one thread in at a time, in the order in which they came, and again within.

    A lock of Python's own goes to whoever asks first when it is free: a thread that writes in a loop keeps others out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = deque[tuple[int, threading.Lock]]()
        self._owner, self._depth = 0, 0

    @property
    def is_within(self) -> bool:
        """Tell whether the thread that asks was in before it entered last."""
        return self._depth > 0

    def __enter__(self) -> None:
        self.enter()

    def enter(self, timeout: float = -1) -> bool:
        """Wait for one's turn, and leave the queue when it takes longer than so many seconds; tell whether it came."""
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return True
        called = threading.Lock()
        with self._lock:
            if not self._owner:
                self._owner = me
                return True
            called.acquire()
            self._waiting.append((me, called))
        if called.acquire(timeout=timeout):  # whoever leaves releases it
            return True
        with self._lock:
            if (me, called) not in self._waiting:  # it was called at this moment
                return True
            self._waiting.remove((me, called))
        return False

    def __exit__(self, *_: object) -> None:
        if self._depth:
            self._depth -= 1
            return
        with self._lock:
            if self._waiting:
                self._owner, called = self._waiting.popleft()
                called.release()
            else:
                self._owner = 0


# SQLite lets one writer in and makes the others poll; a queue in the process is fair (p99 723 ms -> 17 ms).
# Entered again within, since the admin runs use cases, which open one of these themselves, inside its own.
_writer = WritersQueue()


class SharedPatience:
    """Let those who write wait together, not one after the other, for a lock that another process holds.

    Who waited in vain did so for everybody: for a second whoever comes is refused, then the next one waits a second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused_until = 0.0  # 0 while nobody waited in vain

    @property
    def is_over(self) -> bool:
        """Tell whether whoever comes is refused."""
        return self._clock() < self._refused_until

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Refuse the block or let it try; of those who come here one is in at a time."""
        if self.is_over:
            error = sqlite3.OperationalError("the database is still locked")
            error.sqlite_errorname = BUSY
            raise OperationalError("the database is still locked") from error
        try:
            with waiting_at_most(TRIED_FOR) if self._refused_until else nullcontext():
                yield
        except BaseException as error:
            self._refused_until = self._clock() + TRIED_FOR if is_busy(error) else 0.0
            raise
        self._refused_until = 0.0


TRIED_FOR: Final = 1.0  # seconds; a lock that lasts longer than the busy timeout is no transaction of another command
_patiences = defaultdict[str, SharedPatience](SharedPatience)  # by the database's file


def _patience() -> SharedPatience:
    return _patiences[str(connection.settings_dict["NAME"])]


@contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """Have SQLite wait for others' locks for so long within the block."""
    connection.ensure_connection()
    opened = connection.connection
    opened.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
    try:
        yield
    finally:
        if connection.connection is opened:
            opened.execute(f"PRAGMA busy_timeout = {connection.settings_dict['OPTIONS'].get('timeout', 5) * 1000:.0f}")


@contextmanager
def _turn() -> Iterator[None]:
    with _writer, nullcontext() if _writer.is_within else _patience().turn():
        yield


@contextmanager
def write_transaction(*, longest: float = LONGEST_SECONDS) -> Iterator[None]:
    """Run the block in one transaction; on SQLite after waiting for the other writers of this process.

    Raises OperationalError when it took longer than `longest` seconds where several write at once: it is rolled back.
    """
    if connection.vendor == "sqlite":
        # The queue comes before the transaction: a thread that held SQLite's lock and waited for the
        # queue would block the first one in it.
        with _turn(), transaction.atomic():
            yield
    else:
        began = time.monotonic()
        with transaction.atomic():
            yield
            # Inside the block, so that raising rolls it back.
            if time.monotonic() - began > longest:
                raise OperationalError("the transaction took too long and was rolled back; do it again")
    outage.written()


@contextmanager
def write_turn() -> Iterator[None]:
    """Run one statement that is a transaction by itself; on SQLite after waiting for the other writers, as above."""
    if connection.vendor == "sqlite":
        with _turn():
            yield
    else:
        yield
    outage.written()


NOTED_WITHIN: Final = 0.25  # seconds; under load a turn comes in a tenth of it


def note(write: Callable[[], object]) -> None:
    """Write what may as well be missing, such as when a key was used last: who only reads neither waits nor fails."""
    with suppress(OperationalError):
        if connection.vendor != "sqlite":
            write()
        elif not _patience().is_over and _writer.enter(NOTED_WITHIN):
            try:
                with waiting_at_most(NOTED_WITHIN):
                    write()
            finally:
                _writer.__exit__()


FIRST_BATCH: Final = 10  # rows that megabytes hang on would keep all writers waiting for seconds
BATCH_SECONDS: Final = 0.1  # of one transaction: nobody waits long for it
LONGEST_SWEEP: Final = 1.25  # of each sweep, so that it keeps up with what comes in and leaves room for it


def in_batches(take: Callable[[int], int], *, most: int, clock: Callable[[], float] = time.monotonic) -> int:
    """Call `take` with a number of rows until it gives fewer or its time is over; returns how many rows it took.

    Each call is one transaction. The number, at most `most`, doubles after a quick one and halves after one that took
    twice as long as it should: in between, most of it is what any number costs.
    """
    begun = clock()
    end, taken, size = begun + LONGEST_SWEEP, 0, min(FIRST_BATCH, most)
    while begun < end:
        done = take(size)
        taken += done
        if done < size:
            break
        took, begun = clock() - begun, clock()
        if took < BATCH_SECONDS:
            size = min(size * 2, most)
        elif took > 2 * BATCH_SECONDS:
            size = max(size // 2, 1)
    return taken


# Eighteen digits fit a bigint whatever they are, and so do eleven in base 36.
WRITTEN = re.compile(r"[0-9]{1,18}(?:\.[0-9a-z]{1,11}(?:-[0-9a-z]{1,11})*)?")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class EventRow:
    """Name a row of the log; `is_settled` when no row before it can appear any more."""

    id: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Position:
    """Everything up to the id `settled` was read or is passed over, and these ids `beyond` it.

    Between them rows may still appear: transactions do not end in the order in which they took their ids.
    """

    settled: int = 0
    beyond: frozenset[int] = frozenset()

    def rows_to_look_at(self, size: int) -> int:
        """Say how many rows after `settled` are sure to hold the next `size` unread ones."""
        return len(self.beyond) + size

    def unread(self, rows: Sequence[EventRow], size: int) -> list[int]:
        """List the next ids of these rows, which follow `settled` in order."""
        return [row.id for row in rows if row.id not in self.beyond][:size]

    def after(self, read: Collection[int], rows: Sequence[EventRow]) -> Position:
        """Go on behind what was read, and settle what no row can precede any more."""
        known = self.beyond | set(read)
        settled = self.settled
        for row in rows:
            if row.id not in known:
                break
            if row.is_settled:
                settled = row.id
        return Position(settled, frozenset(row_id for row_id in known if row_id > settled))

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read what `str` has written; raises ValueError."""
        if not WRITTEN.fullmatch(text):
            raise ValueError("no position")
        settled, _, steps = text.partition(".")
        last, beyond = int(settled), []
        for step in steps.split("-") if steps else ():
            last += int(step, 36)
            beyond.append(last)
        return cls(int(settled), frozenset(beyond))

    def __str__(self) -> str:
        """Write it short: a stream has one in every address that it asks."""
        steps = []
        for before, after in pairwise((self.settled, *sorted(self.beyond))):
            number, digits = after - before, ""
            while number:
                number, digit = divmod(number, 36)
                digits = DIGITS[digit] + digits
            steps.append(digits)
        return f"{self.settled}.{'-'.join(steps)}" if self.beyond else str(self.settled)

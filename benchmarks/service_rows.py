"""The tables of the service: throughput and latency beside floors that the same processes serve."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from benchmarks import calls
from benchmarks.load import Ask, Load, hammer
from benchmarks.report import Goal, duration, ratio, table
from benchmarks.service import Site, embedded, scaled
from tests.serving.servers import postgresql_programs, redis_server

CONNECTIONS = 8
POLLS, STREAMS = 2_000, 500
BLOCKED = 30  # calls of each agent that wait for a person and fill the heaviest page
HEAVY_PAGE = "/"


@dataclass(frozen=True, slots=True)
class Effort:
    """Say how many rounds there are, and how long one turn of each row takes."""

    rounds: int = 5
    seconds: float = 2.0
    share: int = 1


THOROUGH = Effort()
QUICK = Effort(rounds=1, seconds=0.2, share=100)


@dataclass(frozen=True, slots=True)
class Way:
    """Hold one way of asking, and what goes on meanwhile."""

    ask: Ask
    connections: int = CONNECTIONS
    during: Callable[[], AbstractContextManager[None]] = nullcontext


Rounds = dict[str, list[Load]]


def missing_servers() -> str:
    """Say which server cannot be started here; nothing when all can."""
    return "" if redis_server() and postgresql_programs() else "no Redis or no PostgreSQL here"


def at_the_door(effort: Effort) -> str:
    """POST to verdict in one process, beside one authenticated INSERT; alone, below a page, beside a crowd."""
    with embedded() as site:
        site.block_calls(BLOCKED)
        invalid, valid = site.submits(calls.FOUR_FAULTS), site.submits([calls.VALID])
        floor = site.floor("/api/floor/rows", calls.FOUR_FAULTS)
        ways = {"floor": Way(floor), "valid": Way(valid), "invalid": Way(invalid)}
        first = _race(site, ways, effort)
        page = site.page(HEAVY_PAGE)
        second = _race(site, {"alone": Way(invalid), "page": Way(invalid, during=lambda: _looping(page))}, effort)
        polls, streams = POLLS // effort.share, STREAMS // effort.share
        own = site.service.new_keys(*(f"reader-{number}" for number in range(streams)))  # each has a stream of its own
        own[: len(site.keys)] = site.keys[:streams]
        crowd = _race(
            site,
            {
                "alone": Way(invalid),
                "polls": Way(invalid, during=lambda: site.crowd(polls, 0)),
                "crowd": Way(invalid, during=lambda: site.crowd(polls, streams, own)),
                "audience": Way(invalid, during=lambda: site.crowd(0, streams)),
            },
            effort,
        )
    rows = [
        ("floor: the authenticated endpoint with one INSERT", *_cells(first["floor"]), "", "", ""),
        _row("POST a valid call: verdict stored and answered", first, "valid", "floor", 0.5, 3, 1.5),
        _row(
            "POST a call with 4 errors: verdict and feedback stored and answered", first, "invalid", "floor", 0.5, 3, 2
        ),
        ("submits alone", *_cells(second["alone"]), "", "", ""),
        _row(f"submits while `{HEAVY_PAGE}` loops", second, "page", "alone", 0.5),
        ("submits alone", *_cells(crowd["alone"]), "", "", ""),
        _row(f"submits while {polls:,} long polls are open", crowd, "polls", "alone", 0.95),
        _row(f"submits while {polls:,} long polls and {streams:,} streams are open", crowd, "crowd", "alone", 0.95),
        _row(f"submits, each event written to {streams // len(site.keys):,} streams", crowd, "audience", "alone", None),
    ]
    return table(HEAD, rows)


def through_celery(effort: Effort) -> str:
    """POST to verdict through Celery, Redis and PostgreSQL, beside a bare job on the same stack."""
    with scaled() as site:
        ours, floor = site.submits(calls.FOUR_FAULTS), site.floor("/api/floor/jobs", calls.FOUR_FAULTS)
        ways = {
            "floor 1": Way(floor, 1), "ours 1": Way(ours, 1), "floor 4": Way(floor, 4), "ours 4": Way(ours, 4),
        }  # fmt: skip
        done = _race(site, ways, effort)
    rows = [
        ("floor: INSERT, ring, UPDATE by the worker; 1 connection", *_cells(done["floor 1"]), "", "", ""),
        _row("POST a call with 4 errors, judged by the worker; 1 connection", done, "ours 1", "floor 1", None, 2, 2),
        ("floor; 4 connections", *_cells(done["floor 4"]), "", "", ""),
        _row("POST a call with 4 errors; 4 connections", done, "ours 4", "floor 4", 0.8),
    ]
    return table(HEAD, rows)


HEAD = ("one web process", "answers a second", "p50", "p99", "processor time", "throughput", "latency", "work")


def _race(site: Site, ways: Mapping[str, Way], effort: Effort) -> Rounds:
    """Ask in turns, each way once a round; one turn of each goes before and is not counted."""
    rounds: Rounds = {name: [] for name in ways}
    for number in range(effort.rounds + 1):
        for name, way in ways.items():
            with way.during():
                used = site.processor_seconds()
                load = hammer(site.port, way.ask, seconds=effort.seconds, connections=way.connections)
                load = replace(load, processor=site.processor_seconds() - used)
            if number:
                rounds[name].append(load)
    return rounds


def _row(
    what: str,
    rounds: Rounds,
    name: str,
    floor: str,
    least: float | None = None,
    most: float | None = None,
    most_work: float | None = None,
) -> tuple[str, ...]:
    """Write the median of the rounds' ratios: each turn beside the floor's turn of the same round.

    Goals: the least throughput, the most latency (p99 where a throughput is asked for, else p50), the most work.
    """
    pairs = list(zip(rounds[name], rounds[floor], strict=True))
    rate = statistics.median(one.rate / other.rate for one, other in pairs)
    p50 = statistics.median(one.p50 / other.p50 for one, other in pairs)
    p99 = statistics.median(one.p99 / other.p99 for one, other in pairs)
    reached = "" if least is None else f": >= {least:g}x: {'yes' if rate >= least else '**no**'}"
    latency = f"p99 {ratio(p99)}" if least is not None else f"p50 {ratio(p50)}"
    within = "" if most is None else f": {Goal(most).verdict(p99 if least is not None else p50)}"
    work = statistics.median(one.work / other.work for one, other in pairs)
    done = "" if most_work is None else f": {Goal(most_work).verdict(work)}"
    return (what, *_cells(rounds[name]), f"{ratio(rate)}{reached}", f"{latency}{within}", f"{ratio(work)}{done}")


def _cells(loads: list[Load]) -> tuple[str, ...]:
    rate = statistics.median(load.rate for load in loads)
    p50, p99 = (statistics.median(times) for times in ([x.p50 for x in loads], [x.p99 for x in loads]))
    work = statistics.median(load.work for load in loads)
    return f"{rate:,.0f}", duration(p50), duration(p99), duration(work)


@contextmanager
def _looping(look: Callable[[], object]) -> Iterator[None]:
    """Look at a page again and again while the block runs."""
    over = threading.Event()

    def loop() -> None:
        while not over.is_set():
            look()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

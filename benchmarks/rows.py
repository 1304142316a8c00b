"""The tables of the report: each function measures one and writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from time import process_time
from typing import Any

import re2

from benchmarks import calls, contract, floors
from benchmarks.clock import Effort, Timing, in_turn, race
from benchmarks.hostile import CASES, MEGABYTE, Case, milliseconds_per_megabyte
from benchmarks.report import Goal, duration, ratio, table
from retrycontract import (
    ErrorAggregator,
    ErrorCode,
    ErrorFormatter,
    InMemoryRetryTracker,
    ValidationError,
    ValueSanitizer,
)

HOSTILE = 64_000  # bytes: the most that is judged at the door; what is larger has a worker's time limit
RUN = 16  # characters of a secret in a row that count as leaked
FIELDS = ("origin", "destination", "passengers", "saet", "cabin", "flexible", "api_key", "email")
Peers = Mapping[str, Any]


def feedback(effort: Effort) -> str:
    """Bytes to the feedback's text, four errors."""
    schema = calls.BOOK_FLIGHT
    floor, bare, text = floors.same_parts(schema), floors.bare_text(schema), contract.text(schema)
    given = calls.FOUR_FAULTS
    timings = race(
        {
            "floor": in_turn(floor, given),
            "bare": in_turn(bare, given),
            "text": in_turn(text, given),
            "near miss": in_turn(text, calls.FOUR_WITH_A_NEAR_MISS),
            "whole": in_turn(contract.whole(schema), given),
        },
        effort,
    )
    least = timings["floor"]
    return table(
        ("bytes to feedback, 4 errors", "time", "of the floor", "goal"),
        [
            ("floor: `json.loads`, jsonschema-rs, f-strings that write the same parts", _both(least), "1x", ""),
            (
                "the same with the engine's own messages only",
                _both(timings["bare"]),
                ratio(timings["bare"].over(least)),
                "",
            ),
            _row("ours: read, check, explain, sanitise, hints, format", timings["text"], least, Goal(4)),
            _row("the same, one of them a near miss: what was meant is said", timings["near miss"], least, Goal(6)),
            _row("`RetryContract.check`: attempts counted, history kept", timings["whole"], least),
        ],
    )


def recorded_calls(effort: Effort) -> str:
    """Bytes to feedback on wrong calls that real models made, each beside the floor on the same call."""
    folder = os.environ.get("RETRYCONTRACT_CORPUS")
    if folder is None:
        return "Not measured: RETRYCONTRACT_CORPUS names no folder of recorded calls."
    lines = (Path(folder) / "real_invalid_calls.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = [row for row in map(json.loads, lines) if row["kind"] == "schema_violation"]
    times, ratios = [], []
    for row in recorded[:: effort.share]:
        given = [row["arguments_raw"].encode()]
        functions = {"floor": floors.same_parts(row["schema"]), "ours": contract.text(row["schema"])}
        timings = _race_on(given, functions, effort)
        times.append(timings["ours"].best)
        ratios.append(timings["ours"].over(timings["floor"]))
    return table(
        (f"{len(times)} recorded calls, near misses on", "time", "of the floor", "goal"),
        [
            _quantile("p50 of the calls", 0.5, times, ratios, Goal(5)),
            _quantile("p95 of the calls", 0.95, times, ratios, Goal(10)),
        ],
    )


def _quantile(
    what: str, share: float, times: list[float], ratios: list[float], goal: Goal
) -> tuple[str, str, str, str]:
    at = min(int(len(times) * share), len(times) - 1)
    times_over = sorted(ratios)[at]
    return what, duration(sorted(times)[at]), ratio(times_over), goal.verdict(times_over)


def verdicts(effort: Effort) -> str:
    """Bytes to the verdict on a valid call."""
    schema, arguments = calls.BOOK_FLIGHT, [calls.VALID]
    timings = _race_on(
        arguments,
        {
            "floor": floors.bare_verdict(schema),
            "jsonschema": floors.reference_verdict(schema),
            "examine": contract.findings(schema),
            "whole": contract.whole(schema),
        },
        effort,
    )
    floor = timings["floor"]
    return table(
        ("bytes to verdict, valid", "time", "of the floor", "goal"),
        [
            ("floor: `json.loads`, jsonschema-rs", _both(floor), "1x", ""),
            _row("`json.loads`, jsonschema", timings["jsonschema"], floor),
            _row("ours: strict parse, check", timings["examine"], floor),
            _row("`RetryContract.check`: tracked, too", timings["whole"], floor, Goal(3)),
        ],
    )


def beside_peers(effort: Effort, peers: Peers) -> str:
    """The same four errors through the peers' own paths."""
    ours = _race_on(calls.FOUR_FAULTS, {"ours": contract.text(calls.BOOK_FLIGHT)}, effort)["ours"]
    rows = [("ours", _both(ours), "1x", "")]
    for name, rounds in peers["timings"].items():
        theirs = Timing(tuple(rounds))
        most = 3 if name.startswith("instructor") else 1
        goal = "" if name.startswith("pydantic:") else Goal(most).verdict(ours.over(theirs))
        rows.append((name, _both(theirs), ratio(ours.over(theirs)), goal))
    return table(("bytes to feedback, 4 errors", "time", "ours takes", "goal"), rows)


def what_is_told(peers: Peers) -> str:
    """The call with eight faults, and six hundred like ones."""
    ours = contract.text(calls.BOOK_FLIGHT)(calls.EIGHT_FAULTS)
    many = len(contract.text(calls.IMPORT_ORDERS)(calls.unnamed_orders(600)))
    texts, counts = {"ours": ours, **peers.get("texts", {})}, {"ours": many, **peers.get("characters_of_600", {})}
    return table(
        ("8 faults", "characters", "faults told", "secret leaked", "600 like faults: characters"),
        [
            (name, f"{len(text):,}", f"{_told(text)}", "yes" if _leaks(text) else "no", f"{counts[name]:,}")
            for name, text in texts.items()
        ],
    )


def large_arguments(effort: Effort) -> str:
    """One megabyte of arguments with 600 errors."""
    count, kilobytes = 600 // effort.share, 1000 // effort.share
    leaves = calls.orders(count, wrong=True, kilobytes=kilobytes)
    missing = calls.orders(count, wrong=False, kilobytes=kilobytes)
    rows = []
    for what, schema, arguments in (
        (f"{count} leaf errors", calls.IMPORT_ORDERS, leaves),
        (f"{count} names missing at the root", calls.many_fields(count), missing),
    ):
        actions = {"floor": json.loads, "text": contract.text(schema), "whole": contract.whole(schema)}
        timings = _race_on([arguments], actions, effort)
        floor = timings["floor"]
        rows += [
            (f"floor: `json.loads` of {len(arguments):,} bytes", _both(floor), "1x", ""),
            _row(f"{what}: feedback", timings["text"], floor, Goal(5)),
            _row(f"{what}: `RetryContract.check`", timings["whole"], floor),
        ]
    return table(("1 MB of arguments", "time", "of the floor", "goal"), rows)


def reporting(effort: Effort) -> str:
    """Format ten errors, aggregate up to a thousand."""
    ten, aggregator = _errors(10), ErrorAggregator()
    actions: dict[str, Callable[[], object]] = {"format 10": lambda: ErrorFormatter().format_errors("t", ten, 1, 3)}
    for count in (10, 250, 500, 1000):
        actions[f"aggregate {count:,}"] = partial(aggregator.aggregate, _errors(count))
    goals = {"format 10": Goal(100, " µs"), "aggregate 10": Goal(100, " µs"), "aggregate 1,000": Goal(1000, " µs")}
    return table(
        ("errors", "time", "goal"),
        [
            (name, _both(timing), goals[name].verdict(timing.best * 1e6) if name in goals else "")
            for name, timing in race(actions, effort).items()
        ],
    )


def tracking(effort: Effort) -> str:
    """Count an attempt and read the count, however many calls are tracked."""
    timings = race({f"{count:,}": _counted(count) for count in (10, 1000, 40_000)}, effort)
    first = next(iter(timings.values()))
    return table(
        ("calls tracked", "count an attempt, read the count", "of the first row"),
        [(name, _both(timing), ratio(timing.over(first))) for name, timing in timings.items()],
    )


def _counted(calls_tracked: int) -> Callable[[], object]:
    tracker = InMemoryRetryTracker()
    names = [f"call-{number}" for number in range(calls_tracked)]
    for name in names:
        tracker.increment_attempt(name)
    following = cycle(names)

    def count() -> int:
        name = next(following)
        tracker.increment_attempt(name)
        return tracker.get_current_attempt(name)

    return count


def registration(effort: Effort) -> str:
    """Take tools in, beside checking their schemas against the metaschema."""
    schemas, source = _schemas()
    schemas = schemas[: len(schemas) // effort.share or 1]
    timings = race(
        {
            "floor": partial(_each, floors.check_schema, schemas),
            "ours": partial(_each, contract.register, schemas),
        },
        replace(effort, rounds=min(effort.rounds, 3), turn=0.0),
    )
    floor = timings["floor"]
    return table(
        (f"register {len(schemas):,} tools ({source})", "time", "of the floor", "goal"),
        [
            ("floor: `check_schema`", _both(floor), "1x", ""),
            _row("ours: `register`", timings["ours"], floor, Goal(2)),
        ],
    )


def growth(effort: Effort) -> str:
    """Double the errors, then the bytes: the ratio to the row before stays at two or less."""
    examined = contract.text(calls.IMPORT_ORDERS)
    inputs = {f"{n} errors": calls.orders(n // effort.share or 1, wrong=True) for n in (75, 150, 300, 600)}
    inputs |= {
        f"10 errors, {size} kB": calls.orders(10, wrong=True, kilobytes=size // effort.share)
        for size in (125, 250, 500, 1000)
    }
    timings = race({name: partial(examined, given) for name, given in inputs.items()}, effort)
    rows, before = [], None
    for name, timing in timings.items():
        first = before is None or name.startswith("10 errors, 125")
        rows.append((name, _both(timing), "" if first or before is None else ratio(timing.over(before))))
        before = timing
    return table(("feedback", "time", "of the row before"), rows)


def hostile_calls(effort: Effort) -> str:
    """The calls that give each keyword most to say, at a quarter of the size and at the whole."""
    size = HOSTILE // effort.share
    costs = {name: (_once(case, size // 4), _once(case, size)) for name, case in CASES.items()}
    dearest = sorted(costs.items(), key=lambda cost: -cost[1][1])[:15]
    steepest = sorted(costs.items(), key=lambda cost: -cost[1][1] / cost[1][0])
    steepest = [cost for cost in steepest if cost[1][1] > 0.01][:5]
    head = (f"of {len(costs)} calls of {size // 1000} kB", "a quarter of it", "whole", "growth", "goal")
    return table(
        head,
        [
            (name, duration(least), duration(most), ratio(most / least), Goal(250, " ms").verdict(most * 1000))
            for name, (least, most) in dict([*dearest, *steepest]).items()
        ],
    )


def _once(case: Case, size: int) -> float:
    run, arguments = contract.text(case.schema), case.arguments(size)
    started = process_time()
    run(arguments)
    return process_time() - started


def worst_inputs(effort: Effort) -> str:
    """The sanitiser on the inputs that make careless scanners slow."""
    costs = milliseconds_per_megabyte(MEGABYTE // effort.share)
    rows = [(name, f"{cost:.0f} ms", Goal(100, " ms").verdict(cost)) for name, cost in list(costs.items())[:10]]
    return table((f"the slowest 10 of {len(costs)}, redact and preview", "per MB", "goal"), rows)


def ordinary_inputs(effort: Effort) -> str:
    """The sanitiser on what models write every day: program text, documents, the arguments of recorded calls."""
    most, sanitizer = MEGABYTE // effort.share, ValueSanitizer()
    rows = []
    library, packages = Path(json.__file__).parent.parent, Path(re2.__file__).parent.parent
    corpus = os.environ.get("RETRYCONTRACT_CORPUS")
    texts = {
        "program text: Python's own library": library.rglob("*.py"),
        "documents: ours": (Path(__file__).parent.parent / "docs").rglob("*.md"),
        "documents: those of installed packages": packages.glob("*.dist-info/METADATA"),
        "JSON lines: the recorded calls": Path(corpus).glob("*.jsonl") if corpus else (),
    }
    for name, paths in texts.items():
        text = "".join(path.read_text("utf-8", "replace") for path in sorted(paths)[:400])[:most]
        if not text:
            continue
        timing = race({"redact": partial(sanitizer.redact, text)}, replace(effort, rounds=min(effort.rounds, 5)))
        cost = timing["redact"].best * 1000 * MEGABYTE / len(text)
        size = f"{len(text) / MEGABYTE:.1g} MB"
        rows.append((f"{name}, {size}, again", f"{cost:.0f} ms per MB", Goal(150, " ms").verdict(cost)))
    if corpus is not None:
        lines = (Path(corpus) / "real_valid_calls.jsonl").read_text(encoding="utf-8").splitlines()
        given = [json.loads(json.loads(line)["arguments_raw"]) for line in lines]
        for when in ("for the first time", "again"):
            started = process_time()
            for arguments in given:
                sanitizer.redact(arguments)
            each = (process_time() - started) / len(given)
            rows.append((f"arguments of {len(given)} recorded calls, {when}", f"{duration(each)} each", ""))
    return table(("redact", "time", "goal"), rows)


def _race_on(
    arguments: Sequence[bytes], functions: Mapping[str, Callable[[bytes], object]], effort: Effort
) -> dict[str, Timing]:
    return race({name: in_turn(run, arguments) for name, run in functions.items()}, effort)


def _row(what: str, timing: Timing, floor: Timing, goal: Goal | None = None) -> tuple[str, str, str, str]:
    times = timing.over(floor)
    return what, _both(timing), ratio(times), goal.verdict(times) if goal else ""


def _both(timing: Timing) -> str:
    return f"{duration(timing.best)} ({duration(timing.median)})"


def _told(text: str) -> int:
    """Count the fields that a text names once the arguments that it echoes are taken out."""
    echoes = (json.loads(calls.EIGHT_FAULTS), calls.BOOK_FLIGHT)
    for echo in echoes:
        text = text.replace(str(echo), "").replace(json.dumps(echo), "")
    return sum(field in text for field in FIELDS)


def _leaks(text: str) -> bool:
    starts = range(len(calls.SECRET) - RUN + 1)
    return any(calls.SECRET[start : start + RUN] in text for start in starts)


def _errors(count: int) -> list[ValidationError]:
    return [
        ValidationError(
            ErrorCode.TYPE_MISMATCH,
            f"/orders/{number}/field_{number % 7}",
            "Type mismatch: expected integer, got string",
            expected_value="integer >= 1",
            actual_value='"many"',
            keyword="type",
        )
        for number in range(count)
    ]


def _each(action: Callable[[Any], None], values: list[Any]) -> None:
    for value in values:
        action(value)


def _schemas() -> tuple[list[Any], str]:
    folder = os.environ.get("RETRYCONTRACT_CORPUS")
    if folder is None:
        return [calls.BOOK_FLIGHT, calls.IMPORT_ORDERS, calls.many_fields(50)], "a built-in sample"
    lines = (Path(folder) / "real_tools.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["schema"] for line in lines], "published tools"

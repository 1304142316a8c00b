"""What must be quick takes few steps; how long a step takes is measured by `make bench`."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from types import FrameType
from typing import Any

import pytest

from benchmarks.calibrate_costs import yardstick
from retrycontract import (
    ErrorAggregator,
    ErrorCode,
    ErrorFormatter,
    EscalationFormatter,
    InMemoryRetryTracker,
    ValidationError,
)
from retrycontract.contract.feedback.answer import examine_and_redact
from retrycontract.contract.outputs.json_text import end_of_value, fault_in
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.cost_table import YARDSTICK
from retrycontract.contract.schemas.costs import Weight
from retrycontract.contract.schemas.reading_costs import OF_PART
from retrycontract.contract.schemas.telling_costs import SECOND, Estimate
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.languages import compiler_of
from tests.bombs import Bomb, known, seeded

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "RESULTS.md"
MICROSECONDS = {"ns": 0.001, "µs": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
TEN = [
    ValidationError(ErrorCode.TYPE_MISMATCH, f"/field{number}", "Type mismatch", keyword="type") for number in range(10)
]


def steps(work: Callable[[], Any]) -> int:
    """Count the instructions of Python that a piece of work takes; what is remembered is filled before."""
    work()
    made = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal made
        frame.f_trace_opcodes = True
        made += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return made


@pytest.mark.parametrize(("row", "limit"), [("format 10", 1_000), ("aggregate 10", 100)])
def test_what_was_measured_is_within_the_limit(row: str, limit: float) -> None:
    """Limits are in microseconds."""
    found = re.search(rf"^\| {row} \| ([0-9.,]+) (ns|µs|ms|s) ", RESULTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert float(found[1].replace(",", "")) * MICROSECONDS[found[2]] < limit


def test_a_message_of_ten_errors_takes_a_bounded_number_of_steps() -> None:
    assert steps(lambda: ErrorFormatter().format_errors("t", TEN, 1, 3)) < 30_000


def test_ten_errors_are_aggregated_in_a_bounded_number_of_steps() -> None:
    assert steps(lambda: ErrorAggregator().aggregate(TEN)) < 6_000


def test_tracking_takes_as_many_steps_among_forty_thousand_calls_as_alone() -> None:
    def track(tracker: InMemoryRetryTracker) -> None:
        tracker.increment_attempt("mine")
        tracker.record_error("mine", TEN[:1])
        tracker.get_history("mine")
        tracker.clear("mine")

    alone, crowded = InMemoryRetryTracker(), InMemoryRetryTracker()
    for number in range(40_000):
        crowded.increment_attempt(str(number))
    assert steps(lambda: track(crowded)) == steps(lambda: track(alone)) < 2_000


NULLS: Any = ValidationError(None, None, None, severity=None, keyword=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("errors", [None, [], [None], [None, TEN[0]], [NULLS], [NULLS, NULLS, TEN[0]]])
def test_nulls_of_a_developer_are_no_exception(errors: Any) -> None:
    assert ErrorFormatter().format_errors(None, errors, 1, 3).startswith("Validation failed for tool ''")  # type: ignore[arg-type]
    assert all(ErrorAggregator().aggregate(errors))
    history = [None, errors] if errors is None else errors
    assert EscalationFormatter().format_escalation("t", "c", history, 3).startswith("Tool 't' validation failed")


def estimate(schema: Any, value: Any) -> Estimate:
    return Weight.of(schema).estimate(value)


def test_large_numbers_that_must_differ_are_weighed_by_their_pairs() -> None:
    unique = {"uniqueItems": True}
    small, twice = (estimate(unique, [2**64 + n for n in range(count)]).valid for count in (1_000, 2_000))
    assert twice > 3 * small
    assert small > 50 * estimate(unique, list(range(1_000))).valid
    assert estimate(unique, [{"a": [2**64 + n]} for n in range(1_000)]).valid > small


@pytest.mark.parametrize("keyword", ["const", "minimum", "multipleOf"])
def test_numbers_with_a_fraction_weigh_more_than_whole_ones(keyword: str) -> None:
    def weigh(part: float) -> float:
        tests = [{keyword: number + 10_000 + part} for number in range(200)]
        return estimate({"items": {"not": {"anyOf": tests}}}, list(range(100))).valid

    assert weigh(0.5) > 5 * weigh(0)


def searched_for(texts: list[str]) -> tuple[list[str], float]:
    """Give what is searched to estimate a list of texts, and the estimate, where each character takes 1,000 ns."""
    asked: list[str] = []

    def search(text: str) -> float:
        asked.append(text)
        return 1_000 * len(text)

    return asked, Weight.of(True).estimate(texts, search=search).valid


TOLD = "the password of "
UNTOLD = "lorem ipsum dolo"


@pytest.mark.parametrize(
    ("texts", "is_asked"),
    [
        ([TOLD * 50], False), ([TOLD * 60], True), ([UNTOLD * 150], False), ([UNTOLD * 250], True),
        (["пароль в тексте " * 60], True), ([TOLD] * 500, False), ([TOLD * 10] * 6, True), ([TOLD * 6_000], True),
    ],
)  # fmt: skip
def test_what_long_texts_take_is_asked_of_parts_of_them(texts: list[str], is_asked: bool) -> None:
    """It hangs on hundreds of patterns; what is short, or names no secret, is soon searched."""
    asked, cost = searched_for(texts)
    assert bool(asked) is is_asked
    length = sum(map(len, texts))
    assert sum(map(len, asked)) <= (OF_PART if length < 3_000 else 3 * OF_PART + 2)
    assert not asked or 100 * length < cost < 2_000 * length


def test_parts_of_long_texts_are_from_all_of_them() -> None:
    """What is dear may stand at the end."""
    asked, _ = searched_for(["begin " * 100 + TOLD * 2_000, UNTOLD * 3_000, UNTOLD * 2_000 + "password end " * 30])
    (sample,) = asked
    assert "begin begin" in sample
    assert UNTOLD in sample
    assert "password end" in sample


def test_a_long_text_that_is_wrong_is_searched_once() -> None:
    """It was for the history, for what an error shows of it, alone and beside its neighbours."""
    text = "".join(f"key{number}=a1B2c3D4e5F6{number} and so on\n" for number in range(60))

    def check(schema: Any) -> Callable[[], object]:
        tool = CompiledTool.of(Tool(name="tool", input_schema={"properties": {"a": schema}}), compiler_of)
        return lambda: examine_and_redact({"a": text}, tool, ValueSanitizer(), tool_name="tool")

    assert steps(check({"type": "integer"})) < 1.5 * steps(check({"type": "string"}))


def test_a_value_that_fails_every_alternative_is_not_explained_for_each_of_them() -> None:
    """The steps of explaining are bounded, and so is what is estimated for them."""
    union = {"anyOf": [{"const": number} for number in range(400)]}
    some, many = list(range(5_000, 7_000)), list(range(5_000, 9_000))
    told = [estimate({"items": union}, values).explaining for values in (some, many)]
    judged = [estimate({"items": {"not": union}}, values).valid for values in (some, many)]
    assert told[1] - told[0] < 1.2 * (judged[1] - judged[0])


def test_the_whole_schema_is_not_read_again_for_each_alternative_that_is_explained() -> None:
    """Each has parts of its own, which are compiled when they are first asked."""

    def explain(count: int) -> int:
        branches = [{"type": "array", "maxItems": 1, "items": {"const": number}} for number in range(count)]
        schema, value = {"additionalProperties": {"anyOf": branches}}, {"k": list(range(200))}

        def work() -> None:
            tool = CompiledTool.of(Tool(name="tool", input_schema=schema), compiler_of)
            examine_and_redact(value, tool, ValueSanitizer(), tool_name="tool")

        return steps(work)

    assert explain(180) < 1.5 * explain(60)


@pytest.mark.parametrize("pattern", [r"^\p{L}{1,200}$", r"^(\p{L}|\p{N}|\p{S}){1,499}x$", r"^[\P{Lu}]{1,300}$"])
def test_classes_of_unicode_that_are_repeated_weigh_more_than_letters(pattern: str) -> None:
    letters = pattern.replace("p{", "").replace("P{", "").replace("}|", "|")
    assert Weight.of({"pattern": pattern}).compiling > 50 * Weight.of({"pattern": letters}).compiling


@pytest.mark.parametrize(
    "pattern",
    [
        ".{0,60000}", ".{60000}", ".{20000,}", r"[\s\S]{0,65535}", "(?=a).{0,60000}", "(?:.{0,300}){0,300}",
        r"\S{9000}", "[^a]{0,20000}", "((?:[^/]{0,90}/){0,90}){2}",
        r"\p{L}{0,999}", "(?P<n>.{9999})", "(?:(?:a|.){500}){20}",
        r"^[\]\p{L}]{900}", "[]a]{1}.{30000}", r"\u00e4.{0,40000}", "(?i:.{30000})",
        "(?<=a.{30000})b", "(?<!.{30000})b", "(?:a{0})" + "{999999}" * 60, r"\b" + "{999999}" * 60,
    ],
)  # fmt: skip
def test_what_repeats_wide_classes_thousands_of_times_is_compiled_by_children(pattern: str) -> None:
    """Such a pattern is short: of `.{0,60000}` 1,000 repetitions were counted, of `.{60000}` none."""
    assert Weight.of({"pattern": pattern}).compiling > 0.05 * SECOND


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z][a-z0-9-]{0,62}$", "^.{1,2000}$", r"^\d{4}-\d{2}-\d{2}$", r"^(?:[^@\s]{1,64})@(?:[^@\s]{1,255})$",
        "^[A-Za-z0-9+/]{1,9000}={0,2}$", r"^[\p{L}\p{M}' -]{0,40}$", "(", "{3}", "a{", "[", "\\",
    ],
)  # fmt: skip
def test_what_schemas_have_every_day_is_compiled_at_the_door(pattern: str) -> None:
    assert Weight.of({"pattern": pattern}).compiling < 0.05 * SECOND


def test_a_name_in_any_script_is_compiled_at_the_door() -> None:
    assert Weight.of({"pattern": r"^\p{Lu}[\p{L}\p{M}' -]{0,63}$"}).compiling < 0.1 * SECOND


@pytest.mark.parametrize(
    ("item", "most"), [(7, 60), (0.5, 60), ([], 400)], ids=["numbers", "fractions", "lists"]
)  # fmt: skip
def test_what_holds_no_text_is_looked_through_in_few_steps(item: Any, most: int) -> None:
    value = {"a": [item] * 20_000}
    assert steps(lambda: fault_in(value)) < 60 * 20_000
    assert steps(lambda: ValueSanitizer().redact(value)) < most * 20_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000 + "]" * 200_000, json.dumps([[]] * 100_000), json.dumps([*range(100_000)]),
        json.dumps([{"k": "]"}] * 50_000), json.dumps({f"k{number}": ["a", 1] for number in range(50_000)}),
    ],
    ids=["side by side", "lists", "numbers", "objects", "members"],
)  # fmt: skip
def test_where_a_value_ends_is_found_in_few_steps(text: str) -> None:
    assert end_of_value(f"{text}]", 0) == len(text)
    assert steps(lambda: end_of_value(text, 0)) < 10_000


LARGE: list[Any] = [
    list(range(40_000)), {f"k{number}": number for number in range(20_000)}, [{"a": [1, 2]}] * 10_000,
    {"rows": [f"text {number}" for number in range(30_000)]},
]  # fmt: skip


@pytest.mark.parametrize("value", LARGE, ids=["numbers", "names", "objects", "texts"])
def test_about_how_much_is_asked_of_a_part_of_a_large_value(value: Any) -> None:
    weight = Weight.of({"items": {"maximum": 9}, "additionalProperties": {"items": {"minLength": 1}}})
    whole, about = weight.estimate(value), weight.estimate(value, samples=True)
    assert 0.8 < about.valid / whole.valid < 1.25
    assert steps(lambda: weight.estimate(value, samples=True)) < 250_000


@pytest.mark.parametrize("value", [*LARGE, "lorem " * 200_000], ids=["numbers", "names", "objects", "texts", "prose"])
def test_what_is_known_to_be_dear_by_its_length_is_not_looked_through(value: Any) -> None:
    weight = Weight.of({"items": {"maximum": 9}, "additionalProperties": {"items": {"minLength": 1}}})
    assert weight.estimate(value, stop=5_000_000).valid > 5_000_000
    assert steps(lambda: weight.estimate(value, stop=5_000_000)) < 1_200


def test_pairs_of_a_part_of_a_value_are_weighed_as_those_of_all() -> None:
    weight, value = Weight.of({"uniqueItems": True}), [2**64 + number for number in range(6_000)]
    assert 0.8 < weight.estimate(value, samples=True).valid / weight.estimate(value).valid < 1.25


BOMBS = int(os.environ.get("RETRYCONTRACT_BOMBS", "100"))


def taken(bomb: Bomb, pace: float) -> tuple[float, float]:
    """Give the processor time of a check over what was estimated for it, which knows whether there is a mistake.

    Beside it that of the first check, which compiles what mistakes are told by, over the estimates of both.
    """
    try:
        tool = CompiledTool.of(Tool(name="tool", input_schema=bomb.schema), compiler_of)
    except InvalidSchema:
        return 0.0, 0.0  # what cannot be registered costs nothing
    weight, times = Weight.of(bomb.schema), list[float]()
    for _ in range(3):
        started = process_time()
        found = examine_and_redact(bomb.value, tool, ValueSanitizer(), tool_name="tool")
        times.append((process_time() - started) * 1e9)

    def search(text: str) -> float:
        started = process_time()
        ValueSanitizer().redact(text)
        return (process_time() - started) * SECOND / pace

    # Parts of long texts are searched to tell, which takes longer the first time.
    estimate = min((weight.estimate(bomb.value, search=search) for _ in range(2)), key=lambda each: each.valid)
    weighed = estimate.valid + (0 if found.findings.is_valid else estimate.explaining)
    return min(times) / weighed, times[0] / (weighed + weight.compiling)


@pytest.mark.soak
@pytest.mark.timeout(1_200)
def test_no_bomb_takes_three_times_what_is_estimated_for_it() -> None:
    """How fast this machine is, next to that of the table, shows by work that takes about the same on each."""
    pace = [yardstick()]
    ratios, firsts = {}, {}
    bombs = [*known()[1:], *seeded(15, BOMBS)]
    gc.freeze()  # a collection that looks through all of them would count as the work of one
    for number, bomb in enumerate(bombs):
        if number % 100 == 99:
            pace.append(yardstick())
        both = [taken(bomb, pace[0] * 1e9 / YARDSTICK) for _ in range(2)]
        if any(both[0]):
            ratios[bomb.name], firsts[bomb.name] = (min(each) for each in zip(*both, strict=True))
    floor = median(pace) * 1e9 / YARDSTICK
    ratios, firsts = ({name: cost / floor for name, cost in each.items()} for each in (ratios, firsts))
    ordered = sorted(ratios.values())
    within = sum(ratio >= 1 / 3 for ratio in ordered)
    print(f"\nbombs={len(ordered)} dearest={ordered[-1]:.2f} median={median(ordered):.2f} cheapest={ordered[0]:.3f} "
          f"within_three={within} under_a_tenth={sum(ratio < 0.1 for ratio in ordered)} pace={floor:.2f}")  # fmt: skip
    print("\n".join(f"{ratio:.3f} {name}" for name, ratio in ratios.items() if not 0.1 <= ratio <= 1))
    print(f"first checks: dearest={max(firsts.values()):.2f} median={median(firsts.values()):.2f}")
    assert {name: ratio for each in (ratios, firsts) for name, ratio in each.items() if ratio > 3} == {}
    assert within > 0.98 * len(ordered), "too many take less than a third of what is estimated for them"
    assert median(ordered) > 0.5, "the table is from a machine that is not like this one: measure it again"

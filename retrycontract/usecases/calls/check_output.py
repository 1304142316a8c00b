"""Check an output: here when that is provably quick, else in a child process that can be cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns, thread_time, thread_time_ns
from typing import Any, Final

from django.conf import settings

from retrycontract.checking import Question, judge_apart
from retrycontract.children.pool import MEGABYTE, Death, Limits, bound_shared_pool
from retrycontract.contract.checks.reading import read_output
from retrycontract.contract.checks.tool_arguments import Rejection
from retrycontract.contract.feedback.answer import Examined, examine_and_redact
from retrycontract.contract.json_types import read_written
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.json_text import HAS_VALUE, JsonFault, depth_fault, read_json, with_zeros
from retrycontract.contract.schemas.costs import Weight
from retrycontract.contract.schemas.reading_costs import of_long
from retrycontract.contract.schemas.telling_costs import SECOND, Estimate
from retrycontract.contract.tool import Tool
from retrycontract.usecases.tools.contracts import PinnedContract, sanitizer

DESK: Final = "desk"  # the account of operators, whose pages check, too
DOOR_SECONDS: Final = 0.005  # a request may hold the others up for so long, by estimate
SOURCE_SECONDS: Final = 5.0  # of processor time: a compiler takes longer than a schema, and reads up to 2 MB
ANYTHING: Final = Weight.of(True)  # what a tool that nobody registered takes
TEXT_SECONDS: Final = 1e-7  # per character of what is no JSON, to find out why
FILE_SECONDS: Final = 1.5e-6  # per character of a source file: from 0.2 for JSON to 1.9 for Python of many lists
BRACKET_SECONDS: Final = 6e-8  # per bracket of a text that nests too deep


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """Hold an output and what its agent says of it; `known_tools` where nobody registered the one that it named.

    An output that is WrittenJSON is read by the child process alone.
    """

    output: Any
    tool_name: str
    known_tools: tuple[str, ...] = ()
    finish_reason: str | None = None
    callback_error: Rejection | None = None
    said: str | None = None  # the model's words, where there is no output


@dataclass(frozen=True, slots=True)
class Checked:
    """Hold what was found, and the seconds of processor time that it took; `crashed` when it took its process down."""

    examined: Examined
    cpu_seconds: float
    duration_us: int
    crashed: bool = False


def check(submitted: Submitted, contract: PinnedContract | None, *, key: object) -> Checked:
    """Check an output where that is right for it; `key` says on whose account."""
    if is_quick(submitted, contract):
        return check_here(submitted, contract)
    return ask_child(submitted, contract.declared if contract else None, key)


def check_here(submitted: Submitted, contract: PinnedContract | None) -> Checked:
    """Check an output in this very thread."""
    # Two clocks: the account is charged for what this thread computed, whatever others did meanwhile; people are told
    # how long it took.
    began, started = perf_counter_ns(), thread_time()
    examined = examine_and_redact(
        read_written(submitted.output),
        contract.compiled if contract else None,
        sanitizer(),
        tool_name=submitted.tool_name,
        known_tools=submitted.known_tools,
        finish_reason=submitted.finish_reason,
        callback_error=submitted.callback_error,
        said=submitted.said,
    )
    return Checked(examined, thread_time() - started, (perf_counter_ns() - began) // 1000)


def check_apart(
    submitted: Submitted, contract: PinnedContract | None, key: object, *, goes_first: bool = False
) -> Checked:
    """Check an output out of the queue in a child process, for no longer than the settings allow.

    One that `goes_first` may have the place that the queue leaves free.
    """
    return ask_child(submitted, contract.declared if contract else None, key, is_queued=not goes_first)


def ask_child(
    submitted: Submitted,
    declared: Tool | None,
    key: object,
    *,
    at_once: int | None = None,
    charge: Callable[[float], None] = lambda _seconds: None,
    is_queued: bool = False,
) -> Checked:
    """Check an output in a child process by a tool as it is declared; raises InvalidSchema.

    With `at_once` TooManyWaitingError is raised while so many checks of the same account are under way. `charge` is
    told the processor seconds, also of a schema that is refused.
    """
    question = Question.of(
        submitted.output,
        declared,
        settings.CONTRACT,
        tool_name=submitted.tool_name,
        known_tools=submitted.known_tools,
        finish_reason=submitted.finish_reason,
        callback_error=submitted.callback_error,
        said=submitted.said,
    )
    bound_children()
    seconds = settings.RETRYCONTRACT.check_seconds
    if declared is not None and declared.kind is Kind.SOURCE_FILE:
        seconds = max(seconds, SOURCE_SECONDS)
    began = perf_counter_ns()
    told = judge_apart(
        question, sanitizer(), key=key, at_once=at_once, cpu_seconds=seconds, charge=charge, is_queued=is_queued
    )
    duration_us = (perf_counter_ns() - began) // 1000
    return Checked(told.examined, told.cpu_seconds, duration_us, crashed=told.death is Death.CRASH)


def bound_children() -> None:
    """Give the children of this process the limits that the settings name."""
    service = settings.RETRYCONTRACT
    # One more than attempts may have: who registers or tries a schema, or has caused little work so far, waits for no
    # output that takes seconds.
    processes, queued = service.children + 1, service.children
    memory = service.check_memory_mb * MEGABYTE
    bound_shared_pool(Limits(memory=memory, processes=processes, queued=queued, has_spare=True))


def is_quick(submitted: Submitted, contract: PinnedContract | None) -> bool:
    """Tell whether an output is checked within a few milliseconds, whatever is wrong with it.

    Of what takes longer to explain than to judge, it is enough when there is nothing to explain.
    """
    if contract is None:
        value = submitted.output
        return _is_short(value) or _estimate(ANYTHING, value).seconds <= DOOR_SECONDS
    if contract.declared.kind is Kind.SOURCE_FILE:
        return False
    value, fault = _value_of(submitted.output)
    if fault is not None:
        is_short = _is_short(submitted.output) or (fault.kind is FaultKind.DEPTH and _is_nearly_all_brackets(value))
        return is_short and contract.use()
    estimate = _estimate(contract.weight, value)
    # Compiling comes last: what is dear to judge is judged elsewhere, whatever its schema takes.
    if estimate.valid > DOOR_SECONDS * SECOND or not contract.use():
        return False
    schema = contract.compiled.schema
    return estimate.seconds <= DOOR_SECONDS or (
        # The engine knows no bound of depth: alone it would call valid what the checks refuse.
        depth_fault(value, schema.max_depth) is None and bool(schema.validator.is_valid(value))
    )


def estimated_seconds(submitted: Submitted, contract: PinnedContract | None) -> float:
    """Tell about how long a check takes, never more than it may."""
    most = float(settings.RETRYCONTRACT.check_seconds)
    if contract is None or contract.declared.kind is Kind.SOURCE_FILE:
        text = str(submitted.output)
        return min(most, _text_seconds(text) if contract is None else FILE_SECONDS * len(text))
    value, fault = _value_of(submitted.output)
    if fault is not None:
        return min(most, _text_seconds(submitted.output))
    return min(most, contract.weight.estimate(value, search=_search, samples=True).seconds)


def _value_of(output: Any) -> tuple[Any, JsonFault | None]:
    """Read an output as the check will; with a fault it is none, and only its text can be looked at."""
    if not isinstance(output, str):
        return output, None
    value, fault = read_output(output)
    if fault is not None and fault.within is not None:
        value, fault = read_json(fault.within)
    if fault is None or fault.kind in HAS_VALUE:
        return (value if fault is None else with_zeros(value)), None
    return output, fault


def _is_nearly_all_brackets(text: str) -> bool:
    """Tell text that is too deep, and short but for its brackets: there is no fault to seek, and they hide nothing."""
    brackets = sum(map(text.count, "[]{}"))
    return (len(text) - brackets) * TEXT_SECONDS + brackets * BRACKET_SECONDS <= DOOR_SECONDS


def _is_short(output: Any) -> bool:
    return isinstance(output, str) and _text_seconds(output) <= DOOR_SECONDS


def _text_seconds(text: str) -> float:
    return TEXT_SECONDS * len(text) + sum(of_long([text], _search)) / SECOND


def _estimate(weight: Weight, value: Any) -> Estimate:
    # It stops once it is over the bound: to estimate all of a huge value would hold up the door by itself.
    return weight.estimate(value, search=_search, stop=DOOR_SECONDS * SECOND)


def _search(text: str) -> float:
    global _searched
    known, taken = _searched  # together: other threads search, too
    if known != hash(text):
        started = thread_time_ns()
        sanitizer().redact(text)
        taken = thread_time_ns() - started
        _searched = hash(text), taken
    return taken


# What the last search took: what is found to be dear is rated at once. The text may hold secrets, so it is not kept.
_searched: tuple[int, float] = (0, 0.0)

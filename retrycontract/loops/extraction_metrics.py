"""What an extraction cost: attempts, time and tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass

from retrycontract.loops.engine import Run
from retrycontract.loops.model import Completion

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ExtractionMetrics:
    """Count attempts, turns, seconds and tokens; `is_estimated` when a provider reported no usage.

    Where it did not, the tokens are a quarter of the characters.
    """

    attempts: int
    turns: int
    wall_seconds: float
    tokens_in: int
    tokens_out: int
    is_estimated: bool


def measure(run: Run, seconds: float, sent: int) -> ExtractionMetrics:
    """Sum up a run; `sent` are the characters of all messages, as often as they were sent."""
    usages = [completion.usage for completion in run.completions]
    reported = [usage for usage in usages if usage is not None]
    is_estimated = len(reported) < len(usages) or not usages
    if is_estimated:
        written = sum(_written(completion) for completion in run.completions)
        given, taken = sent // CHARACTERS_PER_TOKEN, written // CHARACTERS_PER_TOKEN
    else:
        given, taken = sum(use.input_tokens for use in reported), sum(use.output_tokens for use in reported)
    return ExtractionMetrics(run.attempts, run.calls, seconds, given, taken, is_estimated)


def _written(completion: Completion) -> int:
    arguments = (call.arguments for call in completion.tool_calls)
    return len(completion.text) + sum(len(each if isinstance(each, str) else json.dumps(each)) for each in arguments)

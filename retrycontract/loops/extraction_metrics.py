"""What a loop cost: attempts, time and tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass

from retrycontract.loops.asking import CHARACTERS_PER_TOKEN, Account
from retrycontract.loops.model import Completion


@dataclass(frozen=True, slots=True)
class ExtractionMetrics:
    """Count attempts, turns, seconds and tokens; `is_estimated` when a provider reported no usage.

    Where it did not, the tokens are a quarter of the characters. `api_errors` are the turns without an answer.
    """

    attempts: int
    turns: int
    wall_seconds: float
    tokens_in: int
    tokens_out: int
    is_estimated: bool
    api_errors: int = 0


def measure(account: Account, *, attempts: int, seconds: float) -> ExtractionMetrics:
    """Sum up a run."""
    usages = [completion.usage for completion in account.completions]
    reported = [usage for usage in usages if usage is not None]
    # One completion without a report and all is estimated: a part that was reported is no total.
    is_estimated = len(reported) < len(usages) or not usages
    if is_estimated:
        written = sum(_written(completion) for completion in account.completions)
        given, taken = account.sent // CHARACTERS_PER_TOKEN, written // CHARACTERS_PER_TOKEN
    else:
        given, taken = sum(use.input_tokens for use in reported), sum(use.output_tokens for use in reported)
    return ExtractionMetrics(attempts, account.calls, seconds, given, taken, is_estimated, account.api_errors)


def _written(completion: Completion) -> int:
    arguments = (call.arguments for call in completion.tool_calls)
    return len(completion.text) + sum(len(each if isinstance(each, str) else json.dumps(each)) for each in arguments)

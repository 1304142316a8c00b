"""Ask the model, wait out what passes, and keep account of what was read, said and spent; and what that cost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, TypedDict

from retrycontract.loops.failures import ApiFailure
from retrycontract.loops.models import Completion, Message, Model, OfferedTool, as_written

DELAY = 1.0  # seconds after an API error; long enough for a hiccup, and the budget is small anyway
LONGEST_WAIT = 300.0  # seconds for one Retry-After: who is told to come back in an hour should not hold a loop open
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ApiPatience:
    """Give API errors a budget of their own, so that they cost none of the model's attempts.

    A loop waits for at most `errors` of them, and `seconds` in all: first `delay` seconds, each time `factor` times as
    long up to `longest`, less a random part (`jitter`, 0 to 1) so that many agents do not come back together.
    """

    errors: int = 8
    seconds: float = 120.0
    delay: float = DELAY
    factor: float = 2.0
    longest: float = 30.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if self.errors < 1 or not self.seconds > 0 or self.delay < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError("api_patience needs errors >= 1, seconds > 0, delay >= 0, factor >= 1 and jitter 0 to 1")

    def pause(self, number: int, chance: float) -> float:
        """Give the seconds to wait after error `number`, counted from 1; `chance` is random, 0 to 1."""
        try:
            whole = min(self.longest, self.delay * self.factor ** (number - 1)) if self.delay else 0.0
        except OverflowError:  # a power that is no float any more: `longest` is reached long before
            whole = self.longest
        return whole * (1 - self.jitter * chance)


class AskingOptions(TypedDict, total=False):
    """How the model is asked, in every loop; all of it is optional.

    `delay` seconds follow an API error, more where the provider asks for more; with `api_patience` such errors have a
    budget of their own. `wait_for_guidance` is how many seconds a Blocked call waits for a person. `call_id` continues
    a call that an earlier run left. `details` go along with every attempt to a service. `sleep`, `timer` (seconds) and
    `chance` (0 to 1) can be handed in.
    """

    max_attempts: int | None
    call_id: str | None
    wait_for_guidance: float | None
    delay: float
    api_patience: ApiPatience | None
    details: dict[str, Any]
    sleep: Callable[[float], Any]
    timer: Callable[[], float]
    chance: Callable[[], float]


def known_options(options: Any, known: Any) -> Any:
    """Give a loop's options back; raises TypeError for one that `known`, a TypedDict, does not name."""
    for name in options.keys() - known.__optional_keys__ - known.__required_keys__:
        nearest = get_close_matches(name, known.__optional_keys__, n=1)
        raise TypeError(f"there is no option {name!r}" + (f", did you mean {nearest[0]!r}?" if nearest else ""))
    return options


def conversation(given: Any) -> tuple[Message, ...]:
    """Give the messages that a loop begins with; raises TypeError for what is none."""
    if isinstance(given, Sequence) and all(isinstance(each, Mapping) and "role" in each for each in given):
        return tuple(given)
    raise TypeError(f"the messages are {given!r:.80}: give a list such as [{{'role': 'user', 'content': …}}]")


def now() -> datetime:
    """Tell the time, for dates that providers send."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Asker:
    """Hold how the model is asked; `sleep` may return an awaitable in an event loop."""

    model: Model
    sleep: Callable[[float], Any] = time.sleep
    delay: float = DELAY
    wait_for_guidance: float | None = None
    patience: ApiPatience | None = None
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        """Refuse what could only fail after the model was paid for."""
        if not _is_time(self.delay):
            raise ValueError(f"delay is {self.delay!r}: give seconds, 0 or more")
        if self.wait_for_guidance is not None and not _is_time(self.wait_for_guidance):
            raise ValueError(f"wait_for_guidance is {self.wait_for_guidance!r}: give seconds, 0 or more, or None")
        if not isinstance(self.patience, ApiPatience | None):
            raise TypeError(f"api_patience is {self.patience!r}: give an ApiPatience, or None")

    @classmethod
    def of(cls, model: Model, options: Any) -> Asker:
        return cls(
            model,
            options["sleep"],
            options.get("delay", DELAY),
            options.get("wait_for_guidance"),
            options.get("api_patience"),
            options.get("timer", time.monotonic),
            options.get("chance", random.random),
        )

    def pause(self, failure: ApiFailure, number: int, waited: float) -> float | None:
        """Give the seconds to wait after API error `number`; None where patience is at its end, or there is none."""
        if self.patience is None or number > self.patience.errors:
            return None
        pause = max(self.patience.pause(number, self.chance()), failure.retry_after)
        return pause if waited + pause <= self.patience.seconds else None

    def usual_pause(self, failure: ApiFailure) -> float:
        """Give the seconds to wait after an API error that costs an attempt."""
        return max(self.delay, min(failure.retry_after, LONGEST_WAIT))


@dataclass(slots=True)
class Account:
    """Sum up what the model read, said and spent: in all, and since the last attempt, for that attempt's report."""

    completions: list[Completion] = field(default_factory=list)
    calls: int = 0
    api_errors: int = 0
    waited: float = 0.0  # seconds, for API errors within the patience
    sent: int = 0  # characters of all messages and tool declarations, as often as they were sent
    untold: list[tuple[str, Completion, float]] = field(default_factory=list)  # prompt, answer, seconds

    def note_request(self, messages: Sequence[Message], tools: Sequence[OfferedTool]) -> None:
        """Count a request before it is made."""
        self.calls += 1
        declared = ({"name": each.name, "description": each.description, "schema": each.parameters} for each in tools)
        # `default`: contents may be objects of a provider's package.
        self.sent += sum(len(as_written(part)) for part in (*messages, *declared))

    def note_answer(self, messages: Sequence[Message], completion: Completion, seconds: float) -> None:
        """Keep an answer for the report of the next attempt."""
        self.completions.append(completion)
        self.untold.append((newly_read(messages), completion, seconds))

    def report(self, model: Model) -> dict[str, Any]:
        """Tell how an attempt came about; what several turns took stands at the first attempt after them."""
        if not self.untold:
            return {}
        prompts, completions, seconds = zip(*self.untold, strict=True)
        self.untold = []
        usages = [completion.usage for completion in completions if completion.usage is not None]
        # A sum of some would pass for the sum of all.
        is_measured = len(usages) == len(completions)
        name = getattr(model, "name", None)
        return {
            "model": name if isinstance(name, str) and name else None,
            "prompt": "\n\n".join(prompts),
            "said": "\n\n".join(filter(None, (completion.text for completion in completions))) or None,
            "tokens_in": sum(usage.input_tokens for usage in usages) if is_measured else None,
            "tokens_out": sum(usage.output_tokens for usage in usages) if is_measured else None,
            "seconds": round(sum(seconds), 3),
        }


def newly_read(messages: Sequence[Message]) -> str:
    """Give the text of the messages that the model had not read before: those after its own last one."""
    own = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    fresh = messages[own[-1] + 1 :] if own else messages
    texts = []
    for message in fresh:
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        said = [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
        texts.append(content if isinstance(content, str) else "\n".join(said))
    return "\n\n".join(filter(None, texts))


def _is_time(seconds: Any) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0


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
    usages = [completion.usage for completion in account.completions]
    reported = [usage for usage in usages if usage is not None]
    # One completion without a report and all is estimated: a part that was reported is no total.
    is_estimated = len(reported) < len(usages) or not usages
    if is_estimated:
        arguments = [call.arguments for completion in account.completions for call in completion.tool_calls]
        written = sum(len(completion.text) for completion in account.completions)
        written += sum(len(as_written(each)) for each in arguments)
        given, taken = account.sent // CHARACTERS_PER_TOKEN, written // CHARACTERS_PER_TOKEN
    else:
        given, taken = sum(use.input_tokens for use in reported), sum(use.output_tokens for use in reported)
    return ExtractionMetrics(attempts, account.calls, seconds, given, taken, is_estimated, account.api_errors)

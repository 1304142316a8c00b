"""A model that answers from a script, and both flavours of every loop behind one face."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from retrycontract import loops
from retrycontract.loops import Completion, ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

FLAVOURS = ("sync", "async")


@dataclass
class Script:
    """Answer each call with the next entry, the last one stays; an exception is raised in place of an answer."""

    flavour: str
    answers: list[Any]
    seen: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Count the calls."""
        return len(self.seen)

    @property
    def prompts(self) -> list[str]:
        """Give the last message of each call."""
        return [messages[-1]["content"] for messages in self.seen]

    def complete(self, messages: Sequence[Any], /, *, tools: Any = ()) -> Completion | Awaitable[Completion]:
        """Take a call in."""
        self.seen.append(list(messages))
        self.tools.append(tools)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return self._later(found) if self.flavour == "async" else self._now(found)

    def sleep(self, seconds: float) -> Any:
        """Let no time pass."""
        self.slept.append(seconds)
        return asyncio.sleep(0) if self.flavour == "async" else None

    def run(self, loop: str, *args: Any, **options: Any) -> Any:
        """Run a loop with this model, its synchronous or its asynchronous form."""
        if self.flavour == "async":
            return asyncio.run(self.begun(loop, *args, **options))
        return getattr(loops, loop)(self, *args, **{"sleep": self.sleep, **options})

    def begun(self, loop: str, *args: Any, **options: Any) -> Any:
        """Give the asynchronous form of a loop, to be awaited."""
        return getattr(loops, f"{loop}_async")(self, *args, **{"sleep": self.sleep, **options})

    @staticmethod
    def _now(found: Any) -> Completion:
        if isinstance(found, BaseException):
            raise found
        return found if isinstance(found, Completion) else Completion(found)

    async def _later(self, found: Any) -> Completion:
        await asyncio.sleep(0)
        return self._now(found)


def calling(*calls: tuple[str, Any], text: str = "", **fields: Any) -> Completion:
    """Make a turn that calls tools: each a name and its arguments, text or the parsed value."""
    made = [ToolCall(f"c{number}", name, arguments) for number, (name, arguments) in enumerate(calls)]
    return Completion(text, tuple(made), **fields)


def submitting(data: Any, **fields: Any) -> Completion:
    """Make a turn that submits data."""
    return calling(("submit", json.dumps({"data": data})), **fields)

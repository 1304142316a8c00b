"""Write a loop once and drive it twice: in the caller's thread, and in an event loop.

A loop is a generator. It yields steps, callables without arguments that touch the world outside (a model, a service,
the clock), and is sent what each returned, or is thrown what it raised. In an event loop a step may return an
awaitable.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Step: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Step, Any, T]


class AsynchronousError(TypeError):
    """Raised when a model, client or callback of a synchronous loop has to be awaited."""

    def __init__(self) -> None:
        super().__init__(
            "a synchronous loop was given something that must be awaited: hand in a synchronous model, client and "
            "callbacks, or use the loop whose name ends in _async"
        )


def drive(steps: Steps[T]) -> T:
    """Take every step in this thread and return the loop's result; raises AsynchronousError."""
    try:
        step = next(steps)
        while True:
            try:
                result = _settled(step())
            except Exception as error:  # noqa: BLE001 - the loop decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        found: T = done.value
        return found


async def drive_async(steps: Steps[T]) -> T:
    """Take every step in the running event loop and return the loop's result."""
    try:
        step = next(steps)
        while True:
            try:
                result = step()
                result = await result if inspect.isawaitable(result) else result
            # Not BaseException: a cancellation is for the task, and no loop may go on after it.
            except Exception as error:  # noqa: BLE001 - the loop decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        found: T = done.value
        return found


def _settled(result: Any) -> Any:
    if not inspect.isawaitable(result):
        return result
    if hasattr(result, "close"):
        result.close()  # else Python warns that it was never awaited
    raise AsynchronousError

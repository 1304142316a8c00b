"""Hold foreign receivers to a time limit, whatever they do: hang, drip, or never resolve."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

from retrycontract.usecases.courier import UndeliveredError


def within(seconds: float, work: Callable[[], None], *, abort: Callable[[], None]) -> None:
    """Run the work, at most so long; then `abort` it and raise UndeliveredError. Raises what the work raises.

    A thread of its own, because looking up a name cannot be interrupted; the abandoned one ends soon after.
    """
    outcome: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            outcome.put(error)
        else:
            outcome.put(None)

    Thread(target=run, name="retrycontract-delivery", daemon=True).start()
    try:
        error = outcome.get(timeout=seconds)
    except Empty:
        abort()
        raise UndeliveredError(f"no answer within {seconds:g} seconds") from None
    if error is not None:
        raise error

"""What one key sends takes a child process from the others no longer than it must."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.handing_over import refuses_around
from retrycontract.contract.outputs.no_attempt import no_attempt

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = "lorem ipsum dol " * 50_000


def seconds(work: Callable[[], object]) -> float:
    """Tell what some work takes of this thread."""
    begun = thread_time()
    work()
    return thread_time() - begun


def test_words_without_an_end_are_not_looked_through_as_one_sentence() -> None:
    answer = f'{WORDS}{{"s": "x"}}'
    once = min(seconds(lambda: no_attempt(answer, kind=Kind.AGENT_RESPONSE)) for _ in range(3))
    assert min(seconds(lambda: refuses_around(answer, Kind.AGENT_RESPONSE)) for _ in range(3)) < 8 * once


def test_what_forbids_a_value_is_found_behind_many_words() -> None:
    assert refuses_around(f'{WORDS}. Do not send this: {{"s": "x"}}', Kind.AGENT_RESPONSE)

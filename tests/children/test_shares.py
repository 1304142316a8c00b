"""What one key sends leaves a child process to the others, and takes it no longer than it must."""

from __future__ import annotations

import os
from time import thread_time
from typing import TYPE_CHECKING

import pytest

from retrycontract.config.service_settings import PREFIX, load
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.handing_over import refuses_around
from retrycontract.contract.outputs.no_attempt import no_attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = "lorem ipsum dol " * 50_000


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux says which processors one may use")
@pytest.mark.parametrize("processors", [1, 2, 3])
def test_there_are_two_children_where_there_are_two_processors(tmp_path: Path, processors: int) -> None:
    all_of_them = os.sched_getaffinity(0)
    if len(all_of_them) < processors:
        pytest.skip("this machine has fewer")
    os.sched_setaffinity(0, sorted(all_of_them)[:processors])
    try:
        assert load({f"{PREFIX}DATA_DIR": str(tmp_path)}).children == min(processors, 2)
    finally:
        os.sched_setaffinity(0, all_of_them)


def seconds(work: Callable[[], object]) -> float:
    """Tell what some work takes of this thread."""
    begun = thread_time()
    work()
    return thread_time() - begun


def test_words_without_an_end_are_not_looked_through_as_one_sentence() -> None:
    answer = f'{WORDS}{{"s": "x"}}'
    once = min(seconds(lambda: no_attempt(answer, kind=Kind.AGENT_RESPONSE)) for _ in range(3))
    assert min(seconds(lambda: refuses_around(answer, Kind.AGENT_RESPONSE)) for _ in range(3)) < 3 * once


def test_what_forbids_a_value_is_found_behind_many_words() -> None:
    assert refuses_around(f'{WORDS}. Do not send this: {{"s": "x"}}', Kind.AGENT_RESPONSE)

"""The children: what may not be finished ends alone, and nobody waits for somebody else's work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrycontract.checking import Question
from retrycontract.children.pool import (
    MEGABYTE,
    ChildDiedError,
    ChildProcess,
    ChildUnavailableError,
    Death,
    Limits,
    Pool,
)
from retrycontract.children.turns import TooManyWaitingError, Turns
from retrycontract.contract.configuration import RetryConfiguration
from tests.bombs import endless
from tests.serving.threads import eventually

HANG = 60  # seconds after which a test has hung


@pytest.fixture
def small() -> Iterator[Pool]:
    pool = Pool(Limits(processes=1))
    yield pool
    pool.close()


def faults(pool: Pool, source: str) -> list[Any]:
    found: list[Any] = pool.run("compile", ("python", source)).answer
    return found


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows counts no processor time of a child")
def test_a_job_is_cut_off_when_it_has_worked_for_its_time(small: Pool) -> None:
    with pytest.raises(ChildDiedError) as died:
        small.run("judge", endless(), cpu_seconds=0.2)
    assert (died.value.death, died.value.cpu_seconds) == (Death.WORK, 0.2)
    assert faults(small, "x = 1\n") == []


def test_a_job_is_cut_off_by_the_clock_where_nothing_else_does() -> None:
    pool = Pool(Limits(seconds=3, processes=1))
    try:
        pool.run("compile", ("python", "x = 1"))
        with pytest.raises(ChildDiedError) as died:
            pool.run("judge", endless(), cpu_seconds=100)
        assert died.value.death is Death.WORK
    finally:
        pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long another process has worked")
def test_a_job_that_was_given_no_time_is_done_anew_and_not_blamed() -> None:
    pool = Pool(Limits(seconds=2, processes=1))
    try:
        assert faults(pool, "x = 1\n") == []
        os.kill(pool._idle[0]._child.pid, signal.SIGSTOP)
        assert faults(pool, "y = 2\n") == []
        os.kill(pool._idle[0]._child.pid, signal.SIGSTOP)
        with pytest.raises(TooManyWaitingError):  # whose sender waits for the answer is told to come again
            pool.run("judge", endless(), at_once=2)
    finally:
        pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
def test_a_job_that_takes_too_much_memory_ends_alone() -> None:
    pool = Pool(Limits(memory=64 * MEGABYTE, processes=1))
    try:
        with pytest.raises(ChildDiedError) as died:
            pool.run("judge", endless())
        assert died.value.death in (Death.MEMORY, Death.CRASH)  # the engine has no answer to having none
        assert faults(pool, "x = 1\n") == []
    finally:
        pool.close()


def test_a_child_that_is_killed_is_replaced(small: Pool) -> None:
    assert faults(small, "x = 1\n") == []
    (process,) = small._idle
    os.kill(process._child.pid, signal.SIGKILL)
    assert len(faults(small, "x = = 1\n")) == 1
    assert process not in small._idle


def test_a_child_serves_many_jobs_and_is_replaced_when_worn() -> None:
    pool = Pool(Limits(jobs=2, processes=1))
    try:
        faults(pool, "x = 1\n")
        (first,) = pool._idle
        faults(pool, "x = 1\n")
        assert first not in pool._idle
        assert first._child.poll() is not None
    finally:
        pool.close()


def test_many_threads_share_few_processes(small: Pool) -> None:
    sources = [f"x{number} = 1\n" * number + "y = =\n" for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda source: faults(small, source), sources))
    assert [fault[2] for (fault,) in found] == [number + 1 for number in range(40)]
    assert len(small._idle) == 1


def test_the_child_reads_no_environment_and_no_working_directory(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(f"{tmp_path}/json.py", "w", encoding="utf-8") as trap:  # noqa: PTH123 - a plain file
        trap.write("raise SystemExit\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(str(tmp_path))
    pool = Pool(Limits(processes=1))
    try:
        assert faults(pool, "x = 1\n") == []
    finally:
        pool.close()


def test_without_an_interpreter_nothing_is_said_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ChildUnavailableError, match="no process can be started"):
        ChildProcess(Limits())


def test_a_large_process_keeps_its_children_too() -> None:
    code = (
        "held = bytearray(400_000_000)\n"
        "from retrycontract.children.pool import Pool\n"
        "pool = Pool()\n"
        "pool.run('compile', ('python', 'x = 1'))\n"
        "print(len(pool._idle))\n"
        "pool.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_warm_child_knows_how_to_judge(small: Pool) -> None:
    small.warm()
    question = Question(output={}, tool_name="tool", schema="true", configuration=RetryConfiguration())
    assert small.run("judge", question).answer["errors"] == []
    assert len(small._idle) == 1


class Crowd:
    """Callers in threads that hold their turn until they are told to go on."""

    def __init__(self, turns: Turns) -> None:
        self._turns, self.began = turns, list[str]()
        self._changed = threading.Condition()
        self._go_on = threading.Semaphore(0)

    def add(self, key: str, *, is_queued: bool = False) -> None:
        """Have somebody ask for a turn."""
        asked = threading.Event()

        def hold() -> None:
            asked.set()
            with self._turns.taken(key, is_queued=is_queued):
                with self._changed:
                    self.began.append(key)
                    self._changed.notify_all()
                self._go_on.acquire()

        before = sum(map(len, self._turns._waiting.values())) + len(self.began)
        threading.Thread(target=hold, daemon=True).start()
        asked.wait(HANG)
        with self._changed:
            self._changed.wait_for(
                lambda: sum(map(len, self._turns._waiting.values())) + len(self.began) > before, timeout=0.5
            )

    def wait_for(self, number: int) -> list[str]:
        """Wait until so many have begun."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.began) >= number, HANG), self.began
            return self.began[:number]

    def end(self, number: int = 1) -> None:
        """Let so many end."""
        self._go_on.release(number)


def test_keys_take_turns_however_many_jobs_one_of_them_has() -> None:
    crowd = Crowd(Turns(1))
    for key in ("a", "a", "a", "a", "b", "c"):
        crowd.add(key)
    for number in range(1, 7):
        crowd.wait_for(number)
        crowd.end()
    assert crowd.began[:4] == ["a", "a", "b", "c"]  # the first took the free place before anybody else asked


def test_one_key_never_holds_every_place() -> None:
    crowd = Crowd(Turns(2))
    for key in ("a", "a", "a"):
        crowd.add(key)
    assert crowd.wait_for(1) == ["a"]
    crowd.add("b")
    assert crowd.wait_for(2) == ["a", "b"]
    crowd.end(4)
    crowd.wait_for(4)


def test_what_came_out_of_a_queue_leaves_a_place_for_who_waits_for_an_answer() -> None:
    crowd = Crowd(Turns(2, 1))
    for key in ("a", "b", "c"):
        crowd.add(key, is_queued=True)
    assert crowd.wait_for(1) == ["a"]
    crowd.add("d")
    assert crowd.wait_for(2) == ["a", "d"]
    crowd.end(4)
    assert sorted(crowd.wait_for(4)) == ["a", "b", "c", "d"]


def test_a_key_with_jobs_under_way_may_be_refused() -> None:
    turns = Turns(1)
    with turns.taken("a"), pytest.raises(TooManyWaitingError), turns.taken("a", at_once=1):
        pass
    with turns.taken("a", at_once=1):
        pass


def test_who_waits_for_an_answer_does_not_wait_for_ever_for_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six keys at once with a file that takes two seconds each: the last of them was answered after half a minute."""
    monkeypatch.setattr("retrycontract.children.turns.LONGEST_TURN", 0.1)
    turns = Turns(1)
    with turns.taken("a"), pytest.raises(TooManyWaitingError), turns.taken("b", at_once=2):
        pass
    with turns.taken("b", at_once=1):
        pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows interrupts no thread that waits")
def test_who_is_interrupted_while_waiting_takes_no_place_with_them() -> None:
    turns = Turns(1)
    crowd = Crowd(turns)
    crowd.add("a")
    crowd.wait_for(1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt), turns.taken("b"):
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not turns._waiting
    crowd.end(2)
    crowd.add("c")
    assert crowd.wait_for(2) == ["a", "c"]


def test_of_children_that_were_started_while_others_worked_no_more_stay_than_may_work() -> None:
    pool = Pool(Limits(processes=1, seconds=HANG))
    schema = json.dumps({"items": {"anyOf": [{"const": number} for number in range(400)]}})
    asked = Question(
        output=[*range(5_000, 13_000)], tool_name="tool", schema=schema, configuration=RetryConfiguration()
    )  # fmt: skip
    pool.warm()
    try:
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(pool.run, "judge", asked, cpu_seconds=HANG)
            eventually(lambda: not pool._idle)
            pool.warm()
            done.result()
        assert len(pool._idle) == 1
    finally:
        pool.close()


def test_a_spare_is_started_while_others_work_and_in_the_place_of_one_that_is_worn() -> None:
    pool = Pool(Limits(processes=2, seconds=HANG, has_spare=True, jobs=3))
    try:
        for _ in range(4):  # the one that is started ready was asked once before
            pool.run("compile", ("python", "x = 1"))
            eventually(lambda: pool._idle)
        assert len(pool._idle) == 1
        (idle,) = pool._idle
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(pool.run, "judge", endless(), cpu_seconds=2)
            eventually(lambda: pool._idle and idle not in pool._idle)
            (spare,) = pool._idle
            pool.run("compile", ("python", "x = 1"))
            assert pool._idle == [spare], "it did the job, and nobody started another"
            assert isinstance(done.exception(HANG), ChildDiedError)
    finally:
        pool.close()


def test_a_pool_that_was_closed_keeps_no_child() -> None:
    pool = Pool(Limits(processes=1))
    pool.close()
    assert faults(pool, "x = 1\n") == []
    assert pool._idle == []

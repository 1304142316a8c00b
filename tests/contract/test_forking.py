"""A process that is forked while other threads check goes on checking: nothing there waits for threads that are not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]
# In a process of its own: this one has threads, whose locks a fork would copy.
BEFORE = """
import os, signal, threading, time
from retrycontract import RetryContract, Tool
tool = Tool(name="t", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}}, max_attempts=10)
def forked(work):
    child = os.fork()
    if not child:
        signal.alarm(10)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""
A_THREAD_THAT_BEGINS_A_CALL = """
begun, ended = threading.Event(), threading.Event()
def new_id():
    if threading.current_thread() is not threading.main_thread():
        begun.set()
        ended.wait()
    return os.urandom(8).hex()
c = RetryContract([tool], new_id=new_id)
call = c.check("t", "1", {"a": "x"})
threading.Thread(target=c.check, args=("t", "2", {"a": "x"}), daemon=True).start()
begun.wait()
def work():
    assert c.check("t", "3", {"a": "x"}).attempt == 1
    assert c.check("t", "4", {"a": "x"}, call_id=call.call_id).attempt == 2
assert forked(work) == 0
ended.set()
assert c.check("t", "5", {"a": "x"}, call_id=call.call_id).attempt == 2
"""
A_THREAD_THAT_HOLDS_A_CALL = """
judging, ended = threading.Event(), threading.Event()
def slow(value):
    if threading.current_thread() is not threading.main_thread():
        judging.set()
        ended.wait()
    return []
c = RetryContract([tool, Tool(name="slow", input_schema={}, checks=(slow,))])
call = c.check("slow", "1", "{").call_id
threading.Thread(target=c.check, args=("slow", "2", {}), kwargs={"call_id": call}, daemon=True).start()
judging.wait()
assert forked(lambda: c.check("slow", "3", {}, call_id=call)) == 0
"""
THREADS_THAT_CHECK = """
c = RetryContract([tool])
def check():
    while True:
        c.check("t", "1", {"a": f"key: {os.urandom(60).hex()} password={os.urandom(4).hex()}"})
for _ in range(2):
    threading.Thread(target=check, daemon=True).start()
time.sleep(0.3)
for number in range(25):
    text = f"key: {os.urandom(60).hex()} = {number}"
    assert forked(lambda: [c.check("t", f"{number}", {"a": text}) for _ in range(3)]) == 0
"""


@pytest.mark.parametrize("threads", [A_THREAD_THAT_BEGINS_A_CALL, A_THREAD_THAT_HOLDS_A_CALL, THREADS_THAT_CHECK],
                         ids=["begins-a-call", "holds-a-call", "check"])  # fmt: skip
def test_a_forked_process_checks_whatever_other_threads_were_at(threads: str) -> None:
    code = f"{BEFORE}{threads}\nos._exit(0)"
    ran = subprocess.run([sys.executable, "-c", code], timeout=120, check=False, capture_output=True)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")


def test_a_fork_within_a_check_does_not_wait_for_itself() -> None:
    code = f"""{BEFORE}
c = RetryContract([tool, Tool(name="f", input_schema={{}}, checks=(lambda _: [][forked(lambda: None):],))])
started = time.monotonic()
assert c.check("f", "1", {{}}).status == "valid" and c.check("t", "1", {{"a": 1}}).status == "valid"
assert time.monotonic() - started < 0.9
os._exit(0)"""
    ran = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, capture_output=True)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")

"""Dear schemas without a service: the library and what stands on it judge by them in a child process alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.children import pool
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.admission import APART, DearSchema
from retrycontract.judging.judge import Examiner
from retrycontract.mcp.extractions import ExtractionRequest, ExtractionStep
from retrycontract.mcp.results import ResultContract
from tests.bombs import known
from tests.contract.test_admission_hostile import doubled

LOOK_AROUND = {"properties": {"a": {"type": "string", "pattern": "^(?!.*[.]{2})[a-z.]+$"}}, "required": ["a"]}
DEAR: dict[str, tuple[Any, Any, Any]] = {
    "look-around": (LOOK_AROUND, {"a": "a.b"}, {"a": "a..b"}),
    "backreference": ({"properties": {"a": {"pattern": r"^(a+)-\1$"}}}, {"a": "aa-aa"}, {"a": "aa-a"}),
    "6,000 values": ({"properties": {"a": {"enum": list(range(6_000))}}}, {"a": 5_999}, {"a": 6_000}),
    "expansion": (doubled(15, "anyOf"), "x", 1),
    "300 patterns": ({"anyOf": [{"pattern": f"^x{n}$"} for n in range(300)]}, "x7", "x300"),
    "a long pattern": ({"properties": {"a": {"pattern": f"^({'b' * 600})?$"}}}, {"a": ""}, {"a": "c"}),
}


def contract(schema: Any, **fields: Any) -> RetryContract:
    return RetryContract([Tool(name="t", input_schema=schema, **fields)])


@pytest.mark.parametrize("name", DEAR)
@pytest.mark.parametrize("is_text", [True, False], ids=["text", "value"])
def test_a_dear_schema_is_judged_by_without_a_service(name: str, is_text: bool) -> None:
    schema, *outputs = DEAR[name]
    library = RetryContract()
    assert library.register(Tool(name="t", input_schema=schema))[0].reason.startswith(APART)
    right, wrong = (json.dumps(each) if is_text or isinstance(each, str) else each for each in outputs)
    taken = library.check("t", "1", right)
    assert (taken.status, taken.arguments) == ("valid", outputs[0])
    refused = library.check("t", "2", wrong)
    assert refused.status == "retry"
    assert "too much work" not in refused.tool_result.content  # type: ignore[union-attr]


def test_what_would_take_a_minute_is_cut_off_and_a_failed_attempt() -> None:
    bomb = known()[0]
    found = contract(bomb.schema | {"$defs": {"never": {"pattern": "^(?!x)"}}}).check("t", "1", bomb.value)
    assert (found.status, found.errors[0].error_code) == ("retry", ErrorCode.OBJECT_SCHEMA_VIOLATION)
    assert "too much work to check" in found.errors[0].message


class Word(str):
    """A type of the caller's own, which a child does not know."""

    __slots__ = ()


OUTPUTS: list[Any] = [
    "", "{", "I cannot do that.", "```json\n{\"a\": \"a.b\"}\n```", b"\xff", '{"a": NaN}', None, {"a": float("nan")},
    {"a": 10**5_000}, {"a": object()}, {1: 2}, OrderedDict(a="a.b"), Word('{"a": "a.b"}'), Word('{"a": 1}'),
    {"a": ["x"]}, {"a": "\ud800"}, {"b": 1}, {"a": "ghp_" + "a1B2" * 9}, [[[]]],
]  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.TOOL_CALL, Kind.AGENT_RESPONSE, Kind.EXTRACTION])
@pytest.mark.parametrize("at", range(len(OUTPUTS)))
def test_a_child_finds_what_this_process_finds(kind: Kind, at: int) -> None:
    """The same schema but for a part that nothing here meets is judged here."""
    cheap = {"properties": {"a": {"type": "string", "pattern": "^[a-z.]+$"}}, "required": ["a"]}
    dear = cheap | {"$defs": {"never": {"pattern": "^(?!x)"}}}
    # The tool's name and all else is the same: so must every word of the feedback be.
    here, there = (contract(schema, kind=kind).check("t", "1", OUTPUTS[at]) for schema in (cheap, dear))
    assert there.status == here.status
    assert there.errors == here.errors
    assert repr(there.arguments) == repr(here.arguments)


def test_a_child_is_sent_what_types_of_the_callers_are_as_json() -> None:
    value = OrderedDict(a=Word("a.b"), b=(Word("c"),))
    found = contract(LOOK_AROUND, strict=False).check("t", "1", value)
    assert found.status == "valid"
    assert found.arguments is value


def test_the_developers_own_checks_run_after_a_child_and_see_what_it_read() -> None:
    seen: list[Any] = []

    def check(value: Any) -> list[ValidationError]:
        seen.append(value)
        return [ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "/a", "not this one")]

    library = contract(LOOK_AROUND, checks=(check,))
    assert library.check("t", "1", '{"a": "a..b"}').errors[0].keyword == "pattern"
    assert library.check("t", "2", '{"a": "a.b"}').errors[0].message == "not this one"
    assert seen == [{"a": "a.b"}]
    rejected = contract(LOOK_AROUND).check("t", "1", '{"a": "a.b"}', callback_error="not now")
    assert "not now" in rejected.errors[0].message


def test_loops_and_mcp_judge_by_dear_schemas_too() -> None:
    tool = Tool(name="t", input_schema=LOOK_AROUND | {"examples": [{"a": "a.b"}]}, kind=Kind.EXTRACTION)
    assert Examiner(tool).examine('{"a": "a.b"}').is_valid
    assert "a.b" in ExtractionRequest(ExtractionStep.EXAMPLE, tool).example()
    results = ResultContract(ValueSanitizer(), enforces=True)
    assert results._compile("t", LOOK_AROUND) is not None


def test_a_dear_schema_is_refused_where_no_child_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    pool.bound_shared_pool(pool.Limits(processes=3))  # none that another test has started
    try:
        with pytest.raises(DearSchema, match="look-around"):
            contract(LOOK_AROUND)
    finally:
        pool.bound_shared_pool(pool.Limits())


ORDINARY = "t = Tool(name='t', input_schema={'properties': {'a': {'pattern': '^a$'}}})"
SURROUNDINGS = {
    "a script": "assert judge() == 'valid'",
    "a thread": "import threading; t = threading.Thread(target=judge); t.start(); t.join()",
    "a thread that the program does not wait for": "import threading; "
    "threading.Thread(target=lambda: [judge() for _ in range(99)], daemon=True).start(); judge()",
    "an event loop": "import asyncio\n"
    "async def main(): return await asyncio.gather(*map(asyncio.to_thread, [judge] * 9))\n"
    "assert asyncio.run(main()) == ['valid'] * 9",
    "a fork": "judge(); pid = os.fork(); assert judge() == 'valid'\nif pid: assert os.waitpid(pid, 0)[1] == 0",
    "a fork that leaves at once": "judge(); pid = os.fork()\n"
    "if not pid: judge(); os._exit(0)\nassert os.waitpid(pid, 0)[1] == 0; assert judge() == 'valid'",
    "the end of the interpreter": "import atexit; atexit.register(judge)",
    "an exception": "judge(); raise SystemExit(0)",
}


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_nothing_hangs_and_no_process_is_left(name: str) -> None:
    """From standard input, as from a notebook: there is no main module that could be imported once more."""
    before = (
        "import os; from retrycontract import RetryContract, Tool\n"
        f"c = RetryContract([Tool(name='t', input_schema={LOOK_AROUND!r})])\n"
        "def judge(): return c.check('t', os.urandom(8).hex(), {'a': 'a.b'}).status\n"
    )
    # What outlives it would keep this pipe open, and the call from returning.
    held, kept = os.pipe()
    try:
        ran = subprocess.run(
            [sys.executable, "-"], input=(before + SURROUNDINGS[name]).encode(), timeout=120, check=False,
            capture_output=True, pass_fds=(kept,),
        )  # fmt: skip
    finally:
        os.close(kept)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")
    os.close(held)


def test_an_ordinary_schema_starts_no_process() -> None:
    code = (
        "from retrycontract import RetryContract, Tool; from retrycontract.children import pool\n"
        f"{ORDINARY}; assert RetryContract([t]).check('t', '1', {{'a': 'a'}}).status == 'valid'\n"
        "assert pool._shared is None"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_many_threads_share_the_children() -> None:
    library = contract(LOOK_AROUND)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: library.check("t", f"{n}", {"a": "a.b"}).status, range(40)))
    assert found == ["valid"] * 40
    assert len(pool.shared_pool()._idle) <= pool.Limits().processes


def test_an_event_loop_goes_on_while_a_child_judges() -> None:
    from retrycontract.judging.in_process_judge import InProcessJudge

    judge = InProcessJudge(contract(LOOK_AROUND), "t", took={"t": 0.0})
    assert not judge.is_quick("t", {"a": "a.b"})
    assert asyncio.run(asyncio.to_thread(judge.contract.check, "t", "1", {"a": "a.b"})).status == "valid"

"""Approvals and answers of OpenAI's Agents SDK behind the guard, with models that are written here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.test_recipes import AGENTS_SDK, Stage
from tests.loops.wire import answering
from tests.serving.desk import Desk
from tests.serving.service import Service

pytestmark = [pytest.mark.processes, pytest.mark.soak]

PROGRAM = """
import json, re, sys
from typing import Annotated, Any
from agents import Agent, FunctionTool, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents import ToolGuardrailFunctionOutput, tool_input_guardrail
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import AfterValidator, Field
from retrycontract.client import Client
from retrycontract.client.frameworks import openai_agents_tools

set_tracing_disabled(True)
told, seen, ran = json.loads(sys.argv[1]), [], []

class Scripted(Model):
    def __init__(self, answers, requests):
        self.answers, self.requests, self.number = list(answers), requests, 0

    async def get_response(self, *args, **kwargs):
        self.number += 1
        calls = self.answers.pop(0) if self.answers else []
        output = [
            ResponseFunctionToolCall(call_id=f"c{self.number}_{at}", name="erase", arguments=text, type="function_call")
            for at, text in enumerate(calls)
        ] or [
            ResponseOutputMessage(id="m", role="assistant", status="completed", type="message",
                                  content=[ResponseOutputText(text="Done.", type="output_text", annotations=[])])
        ]
        return ModelResponse(output=output, usage=Usage(requests=self.requests), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError

async def policy(context, arguments, call_id):
    seen.append(arguments)
    return arguments.get("depth", 0) > 3

@tool_input_guardrail
def watched(data):
    return ToolGuardrailFunctionOutput(output_info=None)

def plain(depth: int = 5) -> str:
    ran.append(depth)
    return f"erased {depth}"

def patterned(depth: int, path: Annotated[str, Field(pattern="^/")]) -> str:
    return plain(depth)

def changed(depth: Annotated[int, AfterValidator(lambda depth: depth * 10)]) -> str:
    return plain(depth)

async def by_hand(context, text):
    return plain(**json.loads(text))

kind = told["kind"]
schema = {"type": "object", "properties": {"depth": {"type": "integer"}}}
made = {
    "by hand": lambda: FunctionTool("erase", "", schema, by_hand, strict_json_schema=False, needs_approval=policy),
    "always": lambda: function_tool(needs_approval=True, strict_mode=False, name_override="erase")(plain),
    "watched": lambda: function_tool(strict_mode=False, name_override="erase", tool_input_guardrails=[watched])(plain),
    "never": lambda: function_tool(strict_mode=False, name_override="erase")(plain),
}
functions = {"plain": plain, "patterned": patterned, "changed": changed}
tool = made[kind]() if kind in made else (
    function_tool(needs_approval=policy, strict_mode=False, name_override="erase")(functions[kind])
)
with Client() as client, client.session():
    tools = openai_agents_tools(client, [tool], timeout=told.get("timeout", 0)) if told["guards"] else [tool]
    agent = Agent("a", model=Scripted(told["answers"], told.get("requests", 1)), tools=tools)
    found = Runner.run_sync(agent, "Erase.")
    asked = len(found.interruptions)
    while found.interruptions and told.get("approves"):
        state = found.to_state()
        for each in found.interruptions:
            state.approve(each)
        found = Runner.run_sync(agent, state)
outputs = [str(item.output) for item in found.new_items if item.type == "tool_call_output_item"]
print(json.dumps({"asked": asked, "seen": seen, "ran": ran, "outputs": outputs}))
"""


@pytest.fixture
def stage(service: Service, keys: Iterator[str], desk: Desk, python: Path) -> Stage:
    return Stage(service, next(keys), desk, python)


def erasing(stage: Stage, kind: str, *answers: list[str], guards: bool = True, **further: Any) -> Any:
    told = {"kind": kind, "answers": answers, "guards": guards, **further}
    with answering((200, {})) as wire:
        done = stage.run(AGENTS_SDK, wire, "-c", PROGRAM, json.dumps(told))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("plain", "{}"),
        ("plain", '{"depth": 1}'),
        ("plain", '{"depth": 7}'),
        ("plain", '{"depth": "7"}'),
        ("plain", '{"depth": 7'),
        ("patterned", '{"depth": 1, "path": "/a"}'),
        ("changed", '{"depth": 1}'),
        ("by hand", '{"depth": 1}'),
        ("by hand", '{"depth": 7}'),
        ("always", '{"depth": 1}'),
    ],
)
def test_an_approval_is_asked_for_where_the_sdk_asks_for_it(stage: Stage, kind: str, text: str) -> None:
    plain, guarded = (erasing(stage, kind, [text], guards=each) for each in (False, True))
    assert guarded == plain


def test_what_was_approved_runs(stage: Stage) -> None:
    assert erasing(stage, "plain", ["{}"], approves=True)["ran"] == [5]


@pytest.mark.parametrize(
    ("kind", "depth", "ran"),
    [("plain", 7, []), ("plain", 1, [1]), ("always", 1, []), ("watched", 1, []), ("never", 7, [7])],
)
def test_what_a_person_corrects_runs_where_nobody_had_to_be_asked(
    stage: Stage, kind: str, depth: int, ran: list[int]
) -> None:
    answers = [['{"depth": "much"}']] * 3
    told = {"kind": kind, "answers": answers, "guards": True, "approves": True, "timeout": 60}
    right = {"decision": "corrected", "arguments": json.dumps({"depth": depth})}
    with answering((200, {})) as wire:
        done = stage.play(AGENTS_SDK, wire, "-c", PROGRAM, json.dumps(told), **right)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ran"] == ran
    assert found["outputs"][-1].startswith(f"erased {depth}" if ran else "This call was not run: a person has correct")


@pytest.mark.parametrize("requests", [0, 1])
def test_answers_are_told_apart_whether_or_not_a_model_counts_its_requests(stage: Stage, requests: int) -> None:
    wrong = ['{"depth": "much"}', '{"depth": "more"}']
    found = erasing(stage, "never", wrong, wrong, requests=requests)
    assert [f"(attempt {number}/3)" in each for number, each in zip((1, 1, 2, 2), found["outputs"], strict=True)] == (
        [True] * 4
    )
    assert [call["attempts_made"] for call in stage.calls] == [2, 2]

"""Each recipe as a process of its own, between a scripted model and the running service, and a person at the desk."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.loops.wire import Wire, answering, anthropic_says, openai_responds, openai_says
from tests.serving.desk import Desk
from tests.serving.service import ROOT, AgentClient, Service
from tests.serving.threads import eventually

WRONG = {"origin": "Zurich", "destination": "LHR", "cabin": "business"}
RIGHT = {"origin": "ZRH", "destination": "LHR", "cabin": "business"}
BOOKED = "The flight from ZRH to LHR is booked in business."


@dataclass(frozen=True)
class Recipe:
    """One file of examples/, and what its provider's server says."""

    file: str
    says: Callable[..., Any]
    told_as: str = '"role": "tool"'
    tool: str = "book_flight"

    def script(self, *steps: Any) -> list[Any]:
        """Say each step: arguments as a call with an id of its own, a text as the end."""
        return [
            self.says(step) if isinstance(step, str) else self.says(None, (self.tool, step), first=number)
            for number, step in enumerate(steps)
        ]


OPENAI = Recipe("openai_agent.py", openai_says)
RESPONSES = Recipe("openai_responses_agent.py", openai_responds, '"type": "function_call_output"')
ANTHROPIC = Recipe("anthropic_agent.py", anthropic_says, '"is_error": true')
PYDANTIC_AI = Recipe("pydantic_ai_agent.py", openai_says)
LANGGRAPH = Recipe("langgraph_agent.py", openai_says)
LANGCHAIN = Recipe("langchain_agent.py", openai_says)
AGENTS_SDK = Recipe("openai_agents_agent.py", openai_responds, '"type": "function_call_output"')
LITELLM = Recipe("litellm_agent.py", openai_says)
INSTRUCTOR = Recipe("instructor_agent.py", openai_says, tool="Flight")
RECIPES = [OPENAI, RESPONSES, ANTHROPIC, PYDANTIC_AI, LANGGRAPH, LANGCHAIN, AGENTS_SDK]

STUBBORN = """
import asyncio, litellm
from examples.litellm_agent import TOOLS
from retrycontract.client import AsyncClient
from retrycontract.client.frameworks import litellm_callback

async def main():
    async with AsyncClient() as client:
        litellm.callbacks = [litellm_callback(client, timeout=0)]
        answer = await litellm.acompletion(model="openai/m", messages=[{"role": "user", "content": "Go."}], tools=TOOLS)
        choice = answer.choices[0]
        print(choice.message.tool_calls, choice.finish_reason, choice.message.content[:17])

asyncio.run(main())
"""


@dataclass
class Stage:
    """A person's desk, an agent of the test's own, and the frameworks' Python."""

    service: Service
    key: str
    desk: Desk
    python: Path

    @property
    def calls(self) -> list[Any]:
        """List the agent's calls with their histories."""
        agent = AgentClient(self.service, self.key)
        listed = agent.send("GET", "/calls").body["calls"]
        return [agent.send("GET", f"/calls/{call['call_id']}").body for call in listed]

    def play(self, recipe: Recipe, wire: Wire, *program: str, **answer: str) -> subprocess.CompletedProcess[str]:
        """Run a recipe, and answer at the desk once it is stuck."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.run, recipe, wire, *program)
            eventually(lambda: running.done() or any(call["state"] == "blocked" for call in self.calls), within=120)
            blocked = [call["call_id"] for call in self.calls if call["state"] == "blocked"]
            assert blocked, running.result()
            assert not running.done()
            self.desk.answer(blocked[0], **answer)
            return running.result(60)

    def run(self, recipe: Recipe, wire: Wire, *program: str) -> subprocess.CompletedProcess[str]:
        """Run a recipe as its user would, or another program in its place."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LANG", "RETRYC"))}
        environment |= {
            "OPENAI_BASE_URL": f"{wire.url}/v1", "ANTHROPIC_BASE_URL": wire.url,
            "OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "ANTHROPIC_API_KEY": "none", "MODEL": "m",
            "RETRYCONTRACT_URL": self.service.url, "RETRYCONTRACT_API_KEY": self.key, "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        command = [self.python, *(program or (ROOT / "examples" / recipe.file,))]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


# Frameworks have an environment of their own, which is made for this alone.
pytestmark = [pytest.mark.processes, pytest.mark.soak]


@pytest.fixture
def stage(service: Service, keys: Iterator[str], desk: Desk, python: Path) -> Stage:
    return Stage(service, next(keys), desk, python)


@contextmanager
def model(recipe: Recipe, *steps: Any) -> Iterator[Wire]:
    """Serve a model that takes these steps."""
    with answering(*recipe.script(*steps)) as wire:
        yield wire


def conversation(wire: Wire, turn: int) -> list[Any]:
    """Give all that the model read in a turn."""
    body = wire.bodies[turn]
    found: list[Any] = body["input"] if "input" in body else body["messages"]
    return found


def read(wire: Wire, turn: int) -> str:
    """Give what the model read in a turn that it had not read before."""
    return json.dumps(conversation(wire, turn)[len(conversation(wire, turn - 1)) :])


def assert_two_failures_were_fed_back(recipe: Recipe, wire: Wire, stage: Stage) -> Any:
    """Hold the first three turns to the story, and give the one call that they are."""
    for number in (1, 2):
        assert recipe.told_as in read(wire, number)
        assert f"(attempt {number}/3)" in read(wire, number)
        assert "/origin (VAL-" in read(wire, number)
    [call] = stage.calls
    assert [attempt["is_valid"] for attempt in call["attempts"][:3]] == [False] * 3
    return call


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.file)
def test_a_stuck_agent_reads_a_persons_hint_and_runs_its_tool_once(stage: Stage, recipe: Recipe) -> None:
    with model(recipe, WRONG, WRONG, WRONG, RIGHT, "Done.") as wire:
        done = stage.play(recipe, wire, text="Airports have IATA codes.")
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    call = assert_two_failures_were_fed_back(recipe, wire, stage)
    assert "This call is now Blocked" in read(wire, 3)
    assert "> Airports have IATA codes." in read(wire, 3)
    assert BOOKED in read(wire, 4)
    assert json.dumps(conversation(wire, 4)).count(BOOKED) == 1
    assert (call["state"], len(call["attempts"])) == ("valid", 4)


@pytest.mark.parametrize(
    "recipe", [OPENAI, PYDANTIC_AI, LANGGRAPH, LANGCHAIN, AGENTS_SDK], ids=lambda recipe: recipe.file
)
def test_corrected_arguments_are_run_without_asking_the_model(stage: Stage, recipe: Recipe) -> None:
    with model(recipe, WRONG, WRONG, WRONG, "Done.") as wire:
        done = stage.play(recipe, wire, decision="corrected", arguments=json.dumps(RIGHT))
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    call = assert_two_failures_were_fed_back(recipe, wire, stage)
    assert BOOKED in read(wire, 3)
    assert (call["state"], len(call["attempts"])) == ("valid", 4)


@pytest.mark.parametrize("recipe", [ANTHROPIC, PYDANTIC_AI, LANGCHAIN, AGENTS_SDK], ids=lambda recipe: recipe.file)
def test_what_a_person_rejects_is_told_and_never_run(stage: Stage, recipe: Recipe) -> None:
    with model(recipe, WRONG, WRONG, WRONG, "A pity.") as wire:
        done = stage.play(recipe, wire, decision="reject", text="No flights this year.")
    assert (done.stdout, done.returncode) == ("A pity.\n", 0), done.stderr
    call = assert_two_failures_were_fed_back(recipe, wire, stage)
    assert "> No flights this year." in read(wire, 3)
    assert "is booked" not in json.dumps(wire.bodies)
    assert call["state"] == "rejected"


def test_a_stuck_extraction_reads_a_persons_hint_and_gives_its_data(stage: Stage) -> None:
    with model(INSTRUCTOR, WRONG, WRONG, WRONG, RIGHT) as wire:
        done = stage.play(INSTRUCTOR, wire, text="Airports have IATA codes.")
    assert (done.stdout, done.returncode) == ("origin='ZRH' destination='LHR' cabin='business'\n", 0), done.stderr
    call = assert_two_failures_were_fed_back(INSTRUCTOR, wire, stage)
    assert "> Airports have IATA codes." in read(wire, 3)
    assert "input_value" not in read(wire, 3), "pydantic's own words would hold the values"
    assert (call["state"], len(call["attempts"])) == ("valid", 4)


def test_a_corrected_extraction_is_given_without_asking_the_model(stage: Stage) -> None:
    with model(INSTRUCTOR, WRONG) as wire:
        done = stage.play(INSTRUCTOR, wire, decision="corrected", arguments=json.dumps(RIGHT))
    assert (done.stdout, done.returncode) == ("origin='ZRH' destination='LHR' cabin='business'\n", 0), done.stderr
    assert_two_failures_were_fed_back(INSTRUCTOR, wire, stage)
    assert len(wire.bodies) == 3


def test_an_extraction_that_a_person_rejects_ends(stage: Stage) -> None:
    with model(INSTRUCTOR, WRONG) as wire:
        done = stage.play(INSTRUCTOR, wire, decision="reject", text="No flights this year.")
    assert done.returncode == 1
    assert "No flights this year." in done.stderr
    assert_two_failures_were_fed_back(INSTRUCTOR, wire, stage)
    assert len(wire.bodies) == 3


@pytest.mark.parametrize(
    ("recipe", "attempts"),
    [
        pytest.param(OPENAI, [[False, True]], id="openai"),
        pytest.param(PYDANTIC_AI, [[False, True]], id="pydantic-ai"),
        pytest.param(LANGGRAPH, [], id="langgraph ends"),
        pytest.param(LANGCHAIN, [[False, True]], id="langchain"),
        pytest.param(AGENTS_SDK, [[False, True]], id="agents sdk"),
        pytest.param(INSTRUCTOR, [[True]], id="instructor answers itself"),
    ],
)
def test_text_that_is_no_json_is_an_attempt_where_the_framework_hands_it_on(
    stage: Stage, recipe: Recipe, attempts: list[list[bool]]
) -> None:
    steps = recipe.script(WRONG, RIGHT, "Done.")
    first = steps[0][1]
    written = first["output"][0] if "output" in first else first["choices"][0]["message"]["tool_calls"][0]["function"]
    written["arguments"] = '{"origin": "ZRH'
    with answering(*steps) as wire:
        done = stage.run(recipe, wire)
    assert done.returncode == 0, done.stderr
    assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == attempts


@pytest.mark.parametrize("recipe", [LANGCHAIN, PYDANTIC_AI, AGENTS_SDK], ids=lambda recipe: recipe.file)
def test_parallel_calls_of_one_answer_are_calls_of_their_own(stage: Stage, recipe: Recipe) -> None:
    both = recipe.says(None, ("book_flight", WRONG), ("book_flight", WRONG | {"destination": "London"}))
    right = recipe.says(None, ("book_flight", RIGHT), ("book_flight", RIGHT | {"cabin": "economy"}), first=2)
    with answering(both, right, recipe.says("Done.")) as wire:
        done = stage.run(recipe, wire)
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == [[False, True]] * 2
    assert read(wire, 2).count("is booked in") == 2


@pytest.mark.parametrize("own", ["call_0", ""])
def test_calls_of_one_answer_with_one_id_or_none_are_told_apart(stage: Stage, own: str) -> None:
    both = openai_says(None, ("book_flight", WRONG), ("book_flight", WRONG | {"destination": "London"}))
    right = openai_says(None, ("book_flight", RIGHT), ("book_flight", RIGHT | {"cabin": "economy"}), first=2)
    for _, said in (both, right):
        for made in said["choices"][0]["message"]["tool_calls"]:
            made["id"] = own
    with answering(both, right, openai_says("Done.")) as wire:
        done = stage.run(LANGCHAIN, wire)
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == [[False, True]] * 2
    assert read(wire, 2).count("is booked in") == 2


@pytest.mark.parametrize("own", ["call_0" + "QUJD" * 1_500, "call\r\n0"], ids=["signed", "lines"])
@pytest.mark.parametrize(
    "recipe", [OPENAI, LANGGRAPH, LANGCHAIN, PYDANTIC_AI, AGENTS_SDK, LITELLM], ids=lambda recipe: recipe.file
)
def test_an_id_is_the_providers_own_whatever_it_is(
    stage: Stage, recipe: Recipe, own: str, request: pytest.FixtureRequest
) -> None:
    if recipe is LITELLM:
        stage = request.getfixturevalue("litellm")
    steps = json.loads(json.dumps(recipe.script(WRONG, RIGHT, "Done.")).replace('"call_0"', json.dumps(own)))
    with answering(*steps) as wire:
        done = stage.run(recipe, wire)
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == [[False, True]]
    assert json.dumps(own) in json.dumps(conversation(wire, 1)[-1])


@pytest.fixture
def litellm(stage: Stage, litellms_python: Path) -> Stage:
    return replace(stage, python=litellms_python)


def test_litellm_gives_its_caller_the_call_that_a_persons_hint_has_led_to(litellm: Stage) -> None:
    with model(LITELLM, WRONG, WRONG, WRONG, RIGHT, "Done.") as wire:
        done = litellm.play(LITELLM, wire, text="Airports have IATA codes.")
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    call = assert_two_failures_were_fed_back(LITELLM, wire, litellm)
    assert "> Airports have IATA codes." in read(wire, 3)
    asked, called, result = conversation(wire, 4)
    assert (asked["role"], json.loads(called["tool_calls"][0]["function"]["arguments"])) == ("user", RIGHT)
    assert result["content"] == BOOKED
    assert (call["state"], len(call["attempts"])) == ("valid", 4)


def test_litellm_keeps_the_right_one_of_parallel_calls(litellm: Stage) -> None:
    both = openai_says(None, ("book_flight", RIGHT), ("book_flight", WRONG))
    with answering(both, *LITELLM.script(RIGHT, "Done.")) as wire:
        done = litellm.run(LITELLM, wire)
    assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
    _, called, *results = conversation(wire, 2)
    assert [json.loads(call["function"]["arguments"]) for call in called["tool_calls"]] == [RIGHT, RIGHT]
    assert [result["content"] for result in results] == [BOOKED, BOOKED]


def test_what_a_model_never_gets_right_does_not_reach_litellms_caller(litellm: Stage) -> None:
    with model(LITELLM, WRONG) as wire:
        done = litellm.run(LITELLM, wire, "-c", STUBBORN)
        assert (done.stdout, done.returncode) == ("None stop Validation failed\n", 0), done.stderr
        assert len(wire.bodies) == 10
        refused = litellm.run(LITELLM, wire, "-c", STUBBORN.replace("tools=", "stream=True, tools="))
        assert "ask for tools without 'stream'" in refused.stderr
        assert len(wire.bodies) == 10

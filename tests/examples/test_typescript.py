"""The TypeScript package: built as its user would, run by Node against the running service."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from retrycontract.contract.patches import PatchError, apply_patch
from tests.client.lossy_proxy import losing_answers
from tests.client.scripted import PENDING, RETRY
from tests.examples.conftest import PACKAGE, built, needs_node, npm, told_by
from tests.examples.test_recipes import (
    BOOKED,
    RIGHT,
    WRONG,
    Recipe,
    Stage,
    assert_two_failures_were_fed_back,
    conversation,
    model,
    read,
)
from tests.loops.wire import answering, openai_says
from tests.serving.desk import Desk
from tests.serving.service import ROOT, AgentClient, Service
from tests.serving.threads import eventually

OPENAI = Recipe("../clients/typescript/examples/openai.mjs", openai_says)
AI_SDK = Recipe("../clients/typescript/examples/ai-sdk.mjs", openai_says)
BOTH = pytest.mark.parametrize("recipe", [OPENAI, AI_SDK], ids=lambda recipe: Path(recipe.file).name)
SECRET = "ghp_" + "Zq8Lw3Xv7Tn2Rk9Yb4Mc6Jd1Hf5Gs0Pu8Ae"


ADDRESSES = [
    "127.0.0.1:8000", "ftp://a", "http://me:hunter2@a", "http://[::1", "http://a b", "http://a\n.b", "http://a/?x", "/",
    "http://a:99999", "http://a/api/v1/",
]  # fmt: skip


@pytest.fixture
def stage(service: Service, keys: Iterator[str], desk: Desk, node: Path) -> Stage:
    return Stage(service, next(keys), desk, node)


def tell(stage: Stage, story: str, told: Any, **environment: str) -> Any:
    """Have the client tell a story, and give its result."""
    return told_by(stage.python, story, told, stage.service.url, **{"RETRYCONTRACT_API_KEY": stage.key} | environment)


def test_the_types_name_all_that_the_service_describes() -> None:
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    types = (PACKAGE / "src" / "api.ts").read_text(encoding="utf-8")
    described = {name for schema in document["components"]["schemas"].values() for name in schema.get("properties", ())}
    named = {*document["paths"], *document["components"]["schemas"], *described}
    unknown = {name for name in named if not re.search(rf'^\s*"?{re.escape(name)}"?\??:', types, re.MULTILINE)}
    assert not unknown, "make openapi writes them anew"


def test_the_lock_file_names_no_registry() -> None:
    lock = (PACKAGE / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(lock)["packages"]
    assert not re.search(r'"resolved"', lock)
    assert all("integrity" in found for place, found in packages.items() if place)
    assert "dependencies" not in packages[""]


class TestWithNode:
    pytestmark = built

    def test_the_types_are_those_of_the_document(self, tmp_path: Path) -> None:
        program = PACKAGE / "node_modules" / ".bin" / "openapi-typescript"
        made = tmp_path / "api.ts"
        subprocess.run(
            [program, ROOT / "docs" / "openapi.json", "--output", made], check=True, capture_output=True, timeout=120
        )
        assert made.read_text() == (PACKAGE / "src" / "api.ts").read_text(), "npm run types writes them anew"

    def test_what_would_be_packed_is_what_runs(self) -> None:
        done = npm("pack", "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        packed = json.loads(done.stdout[done.stdout.index("[") :])[0]
        modules = {path.stem for path in (PACKAGE / "src").glob("*.ts")}
        built = {f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")}
        assert {each["path"] for each in packed["files"]} == built | {"package.json", "README.md", "LICENSE"}
        for name in modules - {"ai"}:  # which imports the SDK that it is for
            imported = re.findall(r'from "([^"]+)"', (PACKAGE / "dist" / f"{name}.js").read_text())
            assert all(each.startswith("./") for each in imported)

    @BOTH
    def test_a_stuck_agent_reads_a_persons_hint_and_runs_its_tool_once(self, stage: Stage, recipe: Recipe) -> None:
        with model(recipe, WRONG, WRONG, WRONG, RIGHT, "Done.") as wire:
            done = stage.play(recipe, wire, text="Airports have IATA codes.")
        assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
        call = assert_two_failures_were_fed_back(recipe, wire, stage)
        assert "This call is now Blocked" in read(wire, 3)
        assert "> Airports have IATA codes." in read(wire, 3)
        assert "Do not retry it yourself" not in read(wire, 3)
        assert json.dumps(conversation(wire, 4)).count(BOOKED) == 1
        assert (call["state"], len(call["attempts"])) == ("valid", 4)

    @BOTH
    def test_corrected_arguments_are_run_without_asking_the_model(self, stage: Stage, recipe: Recipe) -> None:
        with model(recipe, WRONG, WRONG, WRONG, "Done.") as wire:
            done = stage.play(recipe, wire, decision="corrected", arguments=json.dumps(RIGHT))
        assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
        assert BOOKED in read(wire, 3)
        assert assert_two_failures_were_fed_back(recipe, wire, stage)["state"] == "valid"

    @BOTH
    def test_what_a_person_rejects_is_told_and_never_run(self, stage: Stage, recipe: Recipe) -> None:
        with model(recipe, WRONG, WRONG, WRONG, "A pity.") as wire:
            done = stage.play(recipe, wire, decision="reject", text="No flights this year.")
        assert (done.stdout, done.returncode) == ("A pity.\n", 0), done.stderr
        assert "> No flights this year." in read(wire, 3)
        assert "is booked" not in json.dumps(wire.bodies)

    @BOTH
    def test_text_that_is_no_json_is_an_attempt(self, stage: Stage, recipe: Recipe) -> None:
        steps = recipe.script(WRONG, RIGHT, "Done.")
        steps[0][1]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = '{"origin": "ZRH'
        with answering(*steps) as wire:
            done = stage.run(recipe, wire)
        assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
        assert "VAL-004" in read(wire, 1)
        assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == [[False, True]]

    @BOTH
    def test_parallel_calls_of_one_answer_are_calls_of_their_own(self, stage: Stage, recipe: Recipe) -> None:
        both = openai_says(None, ("book_flight", WRONG), ("book_flight", WRONG | {"destination": "London"}))
        right = openai_says(None, ("book_flight", RIGHT), ("book_flight", RIGHT | {"cabin": "economy"}), first=2)
        with answering(both, right, openai_says("Done.")) as wire:
            done = stage.run(recipe, wire)
        assert (done.stdout, done.returncode) == ("Done.\n", 0), done.stderr
        assert [[attempt["is_valid"] for attempt in call["attempts"]] for call in stage.calls] == [[False, True]] * 2
        assert read(wire, 2).count("is booked in") == 2


PAY = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "token": {"type": "string"}},
    "required": ["amount"],
}


@pytest.fixture
def payer(stage: Stage) -> AgentClient:
    agent = AgentClient(stage.service, stage.key)
    agent.register("pay", PAY)
    return agent


# A tool is registered before each of their stories.
with_a_tool = [*needs_node, pytest.mark.usefixtures("payer")]


def answered(stage: Stage, story: str, told: Any, **answer: str) -> Any:
    """Have a story told, and answer its call at the desk once it is Blocked; the page masks a secret."""
    with ThreadPoolExecutor(1) as pool:
        telling = pool.submit(tell, stage, story, told)
        eventually(lambda: telling.done() or any(call["state"] == "blocked" for call in stage.calls), within=120)
        (blocked,) = [call["call_id"] for call in stage.calls if call["state"] == "blocked"]
        masked = re.search(r"\[REDACTED: [^]]+\]", stage.desk.get(f"/calls/{blocked}/"))
        told = {name: text.replace("MASKED", masked.group() if masked else "") for name, text in answer.items()}
        stage.desk.answer(blocked, **told)
        return telling.result(120)


class TestSettle:
    pytestmark = with_a_tool

    def test_a_correction_of_what_held_a_secret_is_applied_to_what_was_sent(self, stage: Stage) -> None:
        wrong = {"amount": "much", "token": SECRET}
        shown = json.dumps({"amount": 5, "token": "MASKED"})
        *_, last = answered(stage, "settle", {"outputs": [wrong] * 3}, decision="corrected", arguments=shown)
        assert (last["status"], last["arguments"]) == ("valid", {"amount": 5, "token": SECRET})

    def test_what_a_person_accepts_is_what_was_sent(self, stage: Stage) -> None:
        texts = ['{"amount": "5"}', '{"amount": "6"}', '{"amount": "7"}']
        *_, last = answered(stage, "settle", {"outputs": texts}, decision="accept", text="As an exception.")
        assert (last["status"], last["arguments"]) == ("valid", {"amount": "7"})

    def test_who_is_not_answered_in_time_is_told_so(self, stage: Stage) -> None:
        *_, last = tell(stage, "settle", {"outputs": [{}] * 3, "options": {"timeout": 0}})
        assert last["status"] == "blocked"
        assert "This call is now Blocked" in last["content"]

    def test_what_is_observed_is_run_as_it_was_given(self, stage: Stage, payer: AgentClient) -> None:
        payer.register("watched", PAY, mode="observe")
        for each in tell(stage, "settle", {"outputs": [{"amount": "5"}] * 4, "tool": "watched"}):
            assert (each["status"], each["arguments"], each["state"]) == ("valid", {"amount": "5"}, "observed")

    @pytest.mark.parametrize("output", [None, [], "", "\ud83d", '{"amount": NaN}', {"amount": "\ud83d"}, "x" * 100_000])
    def test_whatever_a_model_writes_gets_a_verdict(self, stage: Stage, output: Any) -> None:
        (found,) = tell(stage, "settle", {"outputs": [output]})
        assert found["status"] == "retry"
        assert "(attempt 1/3)" in found["content"]

    @pytest.mark.parametrize(
        "own_id", ["c", "c__thought__" + "QUJD" * 1_500, "c\r\n"], ids=["short", "signed", "lines"]
    )
    def test_an_id_is_the_providers_own_whatever_it_is(self, stage: Stage, own_id: str) -> None:
        found = tell(stage, "settle", {"outputs": [{}, {}], "id": own_id})
        assert [each["id"] for each in found] == [f"{own_id}{number}" for number in (0, 1)]

    def test_an_id_comes_back_in_full_where_the_service_is_asked_again_and_keeps_less(self, stage: Stage) -> None:
        with answering((202, PENDING), (200, RETRY)) as wire:
            (found,) = tell(stage, "settle", {"outputs": [{}], "id": "c" * 5_000}, RETRYCONTRACT_URL=wire.url)
        assert (found["status"], found["id"]) == ("retry", "c" * 5_000 + "0")

    @pytest.mark.parametrize("output", ["x" * 5_000_000, {"amount": "x" * 5_000_000}], ids=["text", "value"])
    def test_an_output_that_is_larger_than_a_request_is_a_failed_attempt(self, stage: Stage, output: Any) -> None:
        (found,) = tell(stage, "settle", {"outputs": [output]})
        assert found["status"] == "retry"
        assert re.search(r"too large to be checked: .* has 5,000,\d{3} bytes, .* at most 2,097,152", found["content"])
        assert [call["attempts_made"] for call in stage.calls] == [1]

    def test_an_output_that_is_nested_too_deeply_is_a_failed_attempt(self, stage: Stage) -> None:
        """JSON.parse reads 100,000 levels, and JSON.stringify does not write them."""
        (found,) = tell(stage, "settle", {"levels": 100_000})
        assert (found["status"], "nested too deeply" in found["content"]) == ("retry", True)
        assert [call["attempts_made"] for call in stage.calls] == [1]

    def test_an_attempt_whose_answer_is_lost_counts_once(self, stage: Stage) -> None:
        with losing_answers(stage.service.port) as proxy:
            proxy.lost = 2
            (found,) = tell(stage, "settle", {"outputs": [{}]}, RETRYCONTRACT_URL=proxy.url)
        assert (found["status"], proxy.posted) == ("retry", 3)
        assert [len(call["attempts"]) for call in stage.calls] == [1]

    def test_a_schemas_own_refinements_count_and_the_last_result_of_a_tool_is_told(self, stage: Stage) -> None:
        inputs = [{"day": 5}, {"day": "1999"}, {"day": "2027", "seats": 2}]
        found = tell(stage, "guarded", {"inputs": inputs})
        wrong, gone, done = found["told"]
        assert "/day (VAL-002)" in wrong
        assert "(attempt 2/3)" in gone
        assert "• /day (VAL-015): that day is gone" in gone
        assert (done, found["isLeftAlone"]) == ("2 on 2027", True)

    def test_a_streamed_call_is_checked_as_well(self, stage: Stage) -> None:
        found = tell(stage, "streamed", {})
        assert found["text"] == "Done."
        assert "(attempt 1/3)" in found["told"][0]
        assert found["told"][1:] == ["paid 5"]

    def test_a_wait_can_be_given_up(self, stage: Stage) -> None:
        assert tell(stage, "abort", {"output": {}})["message"] == "no patience"
        assert [call["state"] for call in stage.calls] == ["blocked"]

    @pytest.mark.parametrize(
        ("told", "environment", "kind", "said"),
        [
            ({"client": {"apiKey": "rc_00000000_unknown"}}, {}, "RefusedError", "401: The API key is unknown"),
            ({"client": {"url": "http://127.0.0.1:9", "patience": 0}}, {}, "UnreachableError", "no answer from http"),
            ({}, {"RETRYCONTRACT_API_KEY": ""}, "ClientError", "give apiKey"),
            ({"options": {"unknown_field": 1}}, {}, "RefusedError", "422: "),
            (
                {"options": {"sesion_id": "a"}},
                {},
                "RefusedError",
                "422: Correct the fields named in 'errors' and send it again.\n  /sesion_id: ",
            ),
            (
                {"name": "undefined"},
                {},
                "RefusedError",
                "422: Correct the fields named in 'errors' and send it again.\n  /session_id: ",
            ),
            ({"options": {"context": {"goal": "x" * 5_000_000}}}, {}, "RefusedError", "413: "),
            ({"options": {"timeout": "soon"}}, {}, "ClientError", "timeout is a number of seconds"),
            ({"options": {"timeout": -1}}, {}, "ClientError", "timeout is a number of seconds"),
            ({"client": {"patience": "long"}}, {}, "ClientError", "patience is a number of seconds"),
            *(({"client": {"url": url}}, {}, "ClientError", "the service's address ") for url in ADDRESSES),
            ({}, {"RETRYCONTRACT_URL": "http://me:hunter2@127.0.0.1:9"}, "ClientError", "the service's address "),
            ({}, {"RETRYCONTRACT_API_KEY": "rc_ä"}, "ClientError", "give apiKey"),
        ],
        ids=lambda given: str(given)[:60],
    )
    def test_what_goes_wrong_on_the_way_says_so(
        self, stage: Stage, told: Any, environment: dict[str, str], kind: str, said: str
    ) -> None:
        found = tell(stage, "settle", {"outputs": [{}], **told}, **environment)
        assert found.get("kind") == kind
        assert "hunter2" not in json.dumps(found)
        assert found["message"].startswith(said)
        assert "rc_" not in found["message"]


ONE, OTHER = '{"path": "/a"}', '{"path": "/a", "recursive": []}'
WRONG_PATH, CUT_OFF = '{"path": 5}', '{"path": "/"'


class TestCallbacks:
    """A tool that asks for approval of what is recursive, and has a word to say on each input and result."""

    pytestmark = built

    @pytest.mark.parametrize("kind", ["defaults", "transforms", "refines", "unchecked", "always"])
    def test_a_tools_callbacks_are_given_what_they_are_given_without_the_guard(self, stage: Stage, kind: str) -> None:
        texts = {
            "defaults": [ONE, '{"path": "/a", "recursive": false}', WRONG_PATH, "null", CUT_OFF],
            "transforms": [ONE, '{"path": "/a", "recursive": ""}', WRONG_PATH, CUT_OFF],
            "refines": [ONE, OTHER, '{"path": "/a", "recursive": ["x"]}', '{"path": "/", "recursive": ["x"]}'],
            "unchecked": [OTHER, '{"path": "/a", "recursive": ["x"]}', CUT_OFF],
            "always": [ONE, WRONG_PATH, CUT_OFF],
        }[kind]
        for text in texts:
            plain, guarded = (
                tell(stage, "asking", {"kind": kind, "texts": [text], "guards": each}) for each in (False, True)
            )
            assert (guarded["seen"], guarded["asked"]) == (plain["seen"], plain["asked"]), text
            ran = plain["seen"] and plain["seen"][-1][0] == "toModelOutput"
            assert guarded["read"] == plain["read"] if ran else "(attempt 1/3)" in guarded["read"][0]
            assert "(retrycontract)" not in guarded["read"][0]

    def test_where_nothing_reads_an_input_a_policy_that_fails_asks_for_approval(self, stage: Stage) -> None:
        found = tell(stage, "asking", {"kind": "unchecked", "texts": [WRONG_PATH]})
        assert (found["asked"], "(attempt 1/3)" in found["read"][0]) == (1, True)

    @pytest.mark.parametrize("corrected", [ONE, '{"path": "/a", "recursive": true}'])
    def test_what_a_person_corrects_needs_the_approval_that_was_not_asked_for(
        self, stage: Stage, corrected: str
    ) -> None:
        told = {"kind": "defaults", "texts": [WRONG_PATH] * 3, "timeout": 60}
        found = answered(stage, "asking", told, decision="corrected", arguments=corrected)
        assert [who for who, _ in found["seen"]] == ["needsApproval"]
        assert found["read"][-1].startswith("This call was not run: it needs an approval")

    def test_what_a_person_corrects_runs_where_it_needs_no_approval(self, stage: Stage) -> None:
        told = {"kind": "refines", "texts": [WRONG_PATH] * 3, "timeout": 60}
        found = answered(stage, "asking", told, decision="corrected", arguments=OTHER)
        right = {"path": "/a", "recursive": []}
        assert found["seen"] == [[who, right] for who in ("needsApproval", "execute", "toModelOutput")]
        assert found["read"][-1] == "erased /a"

    def test_what_a_schema_has_against_the_whole_input_names_no_field(self, stage: Stage) -> None:
        found = tell(stage, "asking", {"kind": "refines", "texts": ['{"path": "/", "recursive": []}']})
        assert "• (root) (VAL-015): not the root\n" in found["read"][0]

    def test_a_model_cannot_write_its_way_past_an_approval(self, stage: Stage) -> None:
        hidden = json.dumps({"retrycontract_unread": ONE})
        found = tell(stage, "asking", {"kind": "defaults", "texts": [hidden, ONE]})
        assert found["asked"] == 1
        assert [each[:13] for each in found["read"]] == ["This call was", "erased /a"]

    def test_what_is_observed_and_wrong_does_not_run_where_it_needed_approval(self, stage: Stage) -> None:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        AgentClient(stage.service, stage.key).register("erase", schema, mode="observe")
        found = tell(stage, "asking", {"kind": "always", "texts": [WRONG_PATH]})
        assert (found["seen"], found["asked"]) == ([], 0)
        assert "expected string, received number" in found["read"][0]


PATCHES: list[tuple[Any, list[dict[str, Any]]]] = [
    ({"a": 1}, [{"op": "replace", "path": "/a", "value": 2}]),
    ({"a": 1}, [{"op": "replace", "path": "/b", "value": 2}]),
    ({"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 9}]),
    ({"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 9}]),
    ({"a": [1, 2]}, [{"op": "add", "path": "/a/3", "value": 9}]),
    ({"a": [1, 2]}, [{"op": "add", "path": "/a/x", "value": 9}]),
    ({"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}]),
    ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-"}]),
    ({"a": [1, 2]}, [{"op": "remove", "path": "/a/01"}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/c"}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a"}]),
    ({"a": 1}, [{"op": "copy", "from": "/a", "path": "/c"}]),
    ({"a": 1}, [{"op": "remove", "path": ""}]),
    ({"a~b": 1, "c/d": 2}, [{"op": "remove", "path": "/a~0b"}, {"op": "remove", "path": "/c~1d"}]),
    ([1], [{"op": "replace", "path": "", "value": {"whole": True}}]),
    ({"a": 1}, [{"op": "add", "path": "/__proto__", "value": {"polluted": True}}]),
    ({"a": 1}, [{"op": "remove", "path": "/constructor"}]),
    ({"a": "text"}, [{"op": "add", "path": "/a/b", "value": 1}]),
]


@pytest.mark.processes
@pytest.mark.soak
def test_patches_are_applied_as_the_library_applies_them(stage: Stage) -> None:
    def applied(value: Any, operations: Any) -> Any:
        try:
            return [apply_patch(value, operations)]
        except PatchError:
            return None

    assert tell(stage, "patches", PATCHES) == [applied(*case) for case in PATCHES]

"""Loops over HTTP: the model reads what the service stores, hints and guidance included, and a call can be resumed."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import ErrorCode, RetryContract, Tool, ValidationError
from retrycontract.client import Client
from retrycontract.contract.feedback.feedback_text import once_answered
from retrycontract.contract.outputs import Kind
from retrycontract.loops import (
    Completion,
    FormattingCorrectionExhaustedError,
    ImplementationError,
    MaxRetriesExceeded,
    ModelApiError,
    ModelUnusableError,
    Usage,
    correct_with_retry,
    extract,
    generate_file_with_retry,
    respond_with_correction,
)
from tests.loops.scripted import Script, calling, submitting
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "invoice",
    "properties": {"total": {"type": "number"}, "currency": {"enum": ["EUR", "USD"]}},
    "required": ["total"],
}
RIGHT, WRONG = submitting({"total": 5}), submitting({"total": 5, "currency": "Euro"})
ASKED = [{"role": "user", "content": "What next?"}]
PLACE = {"task_id": "task-1", "turn": 4}


class Record:
    """An agent, its desk, and what the service has kept of its calls."""

    def __init__(self, service: Service, name: str) -> None:
        self.name = name
        self.agent = AgentClient(service, service.new_key(name))
        self.desk = Desk(service)
        self.desk.log_in()

    @property
    def calls(self) -> list[Any]:
        """List the calls, the newest first, with their histories."""
        listed = self.agent.send("GET", "/calls").body["calls"]
        return [self.agent.send("GET", f"/calls/{call['call_id']}").body for call in listed]

    @property
    def feedback(self) -> list[str]:
        """List what the service says the model has read of the newest call."""
        return [attempt["feedback"] for attempt in self.calls[0]["attempts"] if attempt["feedback"]]


@pytest.fixture
def record(service: Service, request: pytest.FixtureRequest) -> Record:
    return Record(service, re.sub(r"\W", "-", request.node.name))


@pytest.fixture
def client(service: Service, record: Record) -> Iterator[Client]:
    with Client(service.url, record.agent.key) as client:
        yield client


def scripted(*answers: Any) -> Script:
    return Script("sync", list(answers))


def read(script: Script) -> list[str]:
    """List what the model read after its own turns, message by message."""
    last = script.seen[-1]
    return [message["content"] for message in last if message["role"] in ("tool", "user")]


def test_an_extracting_model_reads_what_is_stored(record: Record, client: Client) -> None:
    script = scripted(WRONG, Completion("I'm sorry, page 2 is torn."), RIGHT)
    extract(script, SCHEMA, "Read.", contract=client, sleep=script.sleep)
    first, second = record.feedback
    assert read(script)[1:] == [first, second]
    assert "The JSON Schema:" in first
    assert "Nothing was submitted" in second
    told = record.calls[0]["attempts"]
    assert told[1]["said"] == "I'm sorry, page 2 is torn."
    assert (told[1]["output"], told[1]["errors"][0]["keyword"]) == (None, "refused")
    assert told[2]["prompt"] == second


def test_a_corrected_model_reads_what_is_stored(record: Record, client: Client) -> None:
    script = scripted('{"action": 5, "parameters": {}}', "no", '{"action": "go", "parameters": {}}')
    respond_with_correction(script, ASKED, contract=client, sleep=script.sleep, **PLACE)
    assert script.prompts[1:] == record.feedback
    assert all(text.endswith("Do not include markdown fences or prose.") for text in record.feedback)
    told = [attempt["prompt"] for attempt in record.calls[0]["attempts"]]
    assert told == ["What next?", *(f"What next?\n\n{prompt}" for prompt in script.prompts[1:])]


def test_a_model_that_writes_a_file_reads_what_is_stored(record: Record, client: Client) -> None:
    script = scripted("I'm sorry, but I can't.", "x = (", "```python\nx = 1\n```")
    made = generate_file_with_retry("a.py", "Write x.", model=script, contract=client, sleep=script.sleep)
    assert made == ("x = 1\n", True)
    head = "Write x.\n\nThe file that you sent before did not pass:\n\n"
    assert script.prompts[1:] == [head + text for text in record.feedback]
    assert [attempt["prompt"] for attempt in record.calls[0]["attempts"]] == script.prompts
    assert record.calls[0]["attempts"][0]["output"] == "I'm sorry, but I can't."


def test_a_tool_calling_model_reads_what_is_stored(record: Record, client: Client) -> None:
    client.register_tool("pay", SCHEMA)
    for answer in ('{"total": "x"}', "I'm sorry, I can't pay that."):
        outcome = client.submit("pay", "c1", answer)
        assert outcome.tool_result is not None
        assert outcome.tool_result.content == record.feedback[-1]
    assert outcome.tool_result.metadata["no_attempt"] == "refused"


def test_tokens_seconds_and_the_models_name_are_reported(record: Record, client: Client) -> None:
    looks = calling(("example", "{}"), usage=Usage(10, 1))
    script = scripted(looks, submitting({"total": "x"}, usage=Usage(20, 2), text="Well."), submitting({"total": 1}))
    script.name = "m-1"  # type: ignore[attr-defined]
    extract(script, SCHEMA, "Read.", contract=client, sleep=script.sleep)
    first, second = record.calls[0]["attempts"]
    assert (first["model"], first["tokens_in"], first["tokens_out"], first["said"]) == ("m-1", 30, 3, "Well.")
    assert first["seconds"] >= 0
    assert (second["tokens_in"], second["model"]) == (None, "m-1")  # the provider reported none: nothing is made up


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def let_a_hint_stand(record: Record, client: Client) -> None:
    with pytest.raises(MaxRetriesExceeded):
        extract(scripted(WRONG), SCHEMA, "Read.", contract=client)
    text = f"Write the ISO code. {record.name}"
    record.desk.answer(record.calls[0]["call_id"], text=text, standing="on", lasts="7")


def record_of_the_hint(record: Record) -> str:
    """Read what the desk's list says of this test's own hint."""
    page = words(record.desk.get("/hints/"))
    place = page.index(record.name)
    return page[place : place + 400]


def test_a_standing_hint_reaches_the_model_of_a_later_extraction(record: Record, client: Client) -> None:
    let_a_hint_stand(record, client)
    script = scripted(WRONG, RIGHT)
    extract(script, SCHEMA, "Read.", contract=client, sleep=script.sleep)
    assert "> Write the ISO code." in script.prompts[1]
    assert script.prompts[1] == record.feedback[0]
    assert "shown once, next attempt valid once" in record_of_the_hint(record)


def test_a_hint_that_the_model_did_not_read_has_helped_nobody(record: Record, client: Client) -> None:
    let_a_hint_stand(record, client)
    told = client.submit("invoice", "c1", '{"total": 5, "currency": "Euro"}', kind="extraction")
    assert told.tool_result is not None
    assert "> Write the ISO code." in told.tool_result.content
    # This agent words its own prompt, and says so.
    done = client.submit(
        "invoice", "c2", '{"total": 5}', kind="extraction", call_id=told.call_id, prompt="Wrong. Again, please."
    )
    assert done.status == "valid"
    assert "shown once" not in record_of_the_hint(record)


def test_api_errors_alone_end_a_call_as_unavailable_and_nobody_is_asked(record: Record, client: Client) -> None:
    script = scripted(ModelApiError("busy at noon"))
    with pytest.raises(MaxRetriesExceeded) as caught:
        extract(script, SCHEMA, "Read.", contract=client, sleep=script.sleep)
    assert caught.value.metrics.api_errors == 3
    [call] = record.calls
    assert (call["state"], call["escalations"]) == ("unavailable", [])
    assert [(each["is_valid"], each["api_error"], each["feedback"]) for each in call["attempts"]] == [
        (None, "busy at noon", "")
    ] * 3
    page = record.desk.get(f"/calls/{call['call_id']}/")
    assert "The model could not be asked" in page
    assert "Failed" not in words(page)
    insights = words(record.desk.get("/insights/"))
    assert "the model could not be asked: " in insights
    assert re.search(r"busy at noon (3|6) times", insights)  # beside the reasons of others


def test_a_model_that_can_never_be_asked_ends_its_call(record: Record, client: Client) -> None:
    class AuthenticationError(Exception):
        status_code = 401

    with pytest.raises(ModelUnusableError):
        extract(scripted(WRONG, AuthenticationError()), SCHEMA, "Read.", contract=client)
    [call] = record.calls
    assert call["state"] == "unavailable"
    assert "check the API key" in call["attempts"][1]["api_error"]


def lint(source: str) -> Iterator[ValidationError]:
    if '"""' not in source:
        yield ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "", "Value violates constraint: no docstring")


def answer_when_blocked(record: Record, **fields: str) -> threading.Thread:
    def answer() -> None:
        for _ in range(600):
            blocked = [call for call in record.calls if call["state"] == "blocked"]
            if blocked:
                record.desk.answer(blocked[0]["call_id"], **fields)
                return
            threading.Event().wait(0.1)

    thread = threading.Thread(target=answer, name="answering")
    thread.start()
    return thread


def test_a_file_that_a_person_accepts_ends_the_loop_and_is_not_written(
    record: Record, client: Client, tmp_path: Path
) -> None:
    target = tmp_path / "lint.py"
    thread = answer_when_blocked(record, decision="accept", text="Fine.")
    made = generate_file_with_retry(
        "src/lint.py", "Write.", model=scripted("x = 1\n"), contract=client, checks=[lint], write_to=target,
        wait_for_guidance=60,
    )  # fmt: skip
    thread.join(60)
    assert made == ("x = 1\n", False)
    assert list(tmp_path.iterdir()) == []


RUNS: dict[str, Callable[..., Any]] = {
    "extract": lambda script, **options: extract(script, SCHEMA, "Read.", **options)[0],
    "respond": lambda script, **options: respond_with_correction(script, ASKED, **PLACE, **options),
    "correct": lambda script, **options: correct_with_retry(script, "{}", **PLACE, **options),
    "file": lambda script, **options: generate_file_with_retry("a.py", "Write x.", model=script, **options),
}
ANSWERS: dict[str, tuple[Any, Any]] = {
    "extract": (WRONG, RIGHT),
    "respond": ("{}", '{"action": "go", "parameters": {}}'),
    "correct": ("{}", '{"action": "go", "parameters": {}}'),
    "file": ("x = (", "```python\nx = 1\n```"),
}


@pytest.mark.parametrize("loop", RUNS)
def test_a_late_answer_is_picked_up_by_who_resumes_the_call(record: Record, client: Client, loop: str) -> None:
    wrong, right = ANSWERS[loop]
    with pytest.raises((MaxRetriesExceeded, FormattingCorrectionExhaustedError, ImplementationError)) as caught:
        RUNS[loop](scripted(wrong), contract=client)
    call_id = record.calls[0]["call_id"]
    assert caught.value.call_id == call_id
    with pytest.raises((MaxRetriesExceeded, FormattingCorrectionExhaustedError, ImplementationError)) as caught:
        RUNS[loop](scripted(right), contract=client, call_id=call_id)  # nobody has answered yet
    assert f"The call waits for a person; go on then with call_id={call_id!r}" in caught.value.__notes__
    assert " after 0 " not in str(caught.value)
    record.desk.answer(call_id, text="Look at the schema.")
    script = scripted(right)
    with Client(client.url, record.agent.key) as fresh:  # another process, which holds nothing of the first
        assert RUNS[loop](script, contract=fresh, call_id=call_id)
    assert "> Look at the schema." in script.prompts[0]
    assert once_answered(record.feedback[-1]) in script.prompts[0]
    assert "Do not retry it yourself" not in script.prompts[0]
    [call] = record.calls
    assert call["state"] == "valid"
    with pytest.raises(ValueError, match="has ended"):
        RUNS[loop](scripted(right), contract=client, call_id=call_id)


def test_a_call_can_be_resumed_in_process_too() -> None:
    contract = RetryContract([Tool(name="a.py", input_schema={"type": "string"}, kind=Kind.SOURCE_FILE)])
    call_id = contract.check("a.py", "c1", "x = (").call_id  # by an earlier run
    script = scripted("x = 1\n")
    assert generate_file_with_retry("a.py", "Write x.", model=script, contract=contract, call_id=call_id)[1]
    assert "Validation failed for file 'a.py' (attempt 1/3)" in script.prompts[0]


def test_a_call_of_another_tool_is_not_gone_on_with(record: Record, client: Client) -> None:
    contract = RetryContract([Tool(name="a.py", input_schema={"type": "string"}, kind=Kind.SOURCE_FILE)])
    ours = contract.check("a.py", "c1", "x = (").call_id
    with pytest.raises(MaxRetriesExceeded):
        extract(scripted(WRONG), SCHEMA, "Read.", contract=client)
    theirs = record.calls[0]["call_id"]
    record.desk.answer(theirs, text="For the other model alone.")
    for desk, call_id, of in ((contract, ours, "a.py"), (client, theirs, record.calls[0]["tool"])):
        script = scripted("x = 1\n")
        with pytest.raises(ValueError, match=f"is of '{of}', not of 'b.py': leave call_id out"):
            generate_file_with_retry("b.py", "Write x.", model=script, contract=desk, call_id=call_id)
        assert not script.prompts


def test_the_desk_says_whether_an_agent_waits(record: Record, client: Client) -> None:
    with pytest.raises(MaxRetriesExceeded):
        extract(scripted(WRONG), SCHEMA, "Read.", contract=client)
    call_id = record.calls[0]["call_id"]
    assert "its agent is not listening" in words(record.desk.get(f"/calls/{call_id}/"))
    assert "agent not listening" in words(record.desk.get("/"))
    client.wait_for_guidance(call_id, 0)
    assert "its agent is listening" in words(record.desk.get(f"/calls/{call_id}/"))


def test_feedback_options_that_make_no_sense_are_refused(record: Record) -> None:
    known = {"tool": "t", "tool_call_id": "c", "arguments": {}}
    for wrong in ({"form": "poem"}, {"max_length": 5}, {"form": "extraction", "more": 1}):
        reply = record.agent.send("POST", "/calls", {**known, "feedback": wrong})
        assert reply.status == 422, wrong
    reply = record.agent.send("POST", "/calls", {**known, "api_error": "HTTP 429"})
    assert reply.status == 422
    assert "there is no output" in json.dumps(reply.body)

"""The verdict that comes with a bell: the answer is what asking again gives, and no other bell is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from retrycontract.api.routes import answer_of_news
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.front.bridge import Pending
from retrycontract.front.wsgi import Response
from retrycontract.store.models import Call
from retrycontract.store.sealing import seal
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import judge_waiting
from retrycontract.usecases.notify.doorbell import LONGEST_VERDICT, MOST_ERRORS, SilentDoorbell
from tests.api.conftest import Door, Reply
from tests.api.test_secret_identifiers import TOKEN
from tests.factories import DEPLOY, RIGHT, WRONG, make_tool

pytestmark = pytest.mark.usefixtures("by_a_worker")
RUNG: list[bytes | None] = []
MARKED = {"type": "object", "properties": {"pin": {"type": "integer", "x-sensitive": True}}}
SECRET = "hunter2-and-more"


class NotingDoorbell(SilentDoorbell):
    """Keep the verdicts that come with rings."""

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:  # noqa: ARG002
        RUNG.append(verdict)


@pytest.fixture
def judged(
    settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> Callable[[], bytes | None]:
    """Judge what waits; gives what comes with the last bell."""
    name = f"{__name__}.NotingDoorbell"
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"doorbell": name})

    def judge() -> bytes | None:
        RUNG.clear()
        with django_capture_on_commit_callbacks(execute=True):
            judge_waiting(clock=timezone.now)
        return RUNG[-1]

    return judge


def response_of(reply: Reply) -> Response:
    headers = tuple((name.lower().encode(), value.encode()) for name, value in reply.headers.items())
    return Response(reply.status, headers, reply.text.encode())


def asked_at(pending: Reply) -> str:
    found = Pending.of(response_of(pending))
    assert found
    return found.path


def answered(pending: Reply, news: bytes | None) -> Response | None:
    return answer_of_news(response_of(pending), asked_at(pending), news or b"")


# Four in a row, of which the third is Blocked.
SUBMITS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "valid": (DEPLOY, [{"arguments": RIGHT}]),
    "wrong, then Blocked, then tried while Blocked": (DEPLOY, [{"arguments": WRONG}] * 4),
    "rendered": (DEPLOY, [{"arguments": WRONG, "render": each} for each in ("openai", "anthropic")]),
    "an id with a secret": (DEPLOY, [{"arguments": WRONG, "tool_call_id": TOKEN, "render": "anthropic"}]),
    "no JSON": (DEPLOY, [{"arguments": None, "raw": '{"service": "we'}]),
    "a marked value": (MARKED, [{"arguments": {"pin": SECRET}}]),
    "a trace": (DEPLOY, [{"arguments": WRONG, "traced": True}]),
    "a held call": (DEPLOY | {"x-hold": True}, [{"arguments": RIGHT}]),
}


@pytest.mark.parametrize("case", SUBMITS.values(), ids=SUBMITS)
def test_the_answer_from_the_bell_is_what_asking_again_gives(
    door: Door, judged: Callable[[], bytes | None], case: tuple[Any, list[dict[str, Any]]]
) -> None:
    schema, submits = case
    make_tool(door.agent, schema={key: schema[key] for key in schema if key != "x-hold"}, hold="x-hold" in schema)
    for fields in submits:
        fields = dict(fields)
        trace = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"} if fields.pop("traced", False) else {}
        body = {"tool": "deploy", "tool_call_id": "id_1", "session_id": "s"} | fields
        body = {name: value for name, value in body.items() if value is not None}
        headers = trace | {"X-Request-ID": "one-request"}
        pending = door.post("/calls", body, **headers)
        assert pending.status == 202
        news = judged()
        told = answered(pending, news)
        assert told
        again = response_of(door.send("GET", asked_at(pending).removeprefix("/api/v1"), **headers))
        assert (told.status, told.body) == (again.status, again.body)
        assert sorted(told.headers) == sorted((*again.headers, (b"content-length", str(len(again.body)).encode())))
        for secret in (SECRET, TOKEN):
            assert secret.encode() not in (news or b""), "what passes through Redis is sealed"


@pytest.mark.parametrize(
    "forge",
    {
        "no token": lambda _news, _older: b"no token",
        "nothing": lambda _news, _older: b"",
        "one bit is another": lambda news, _older: news[:90] + bytes([news[90] ^ 1]) + news[91:],
        "cut short": lambda news, _older: news[:-4],
        "an earlier attempt's": lambda _news, older: older,
        "sealed for another purpose": lambda _news, _older: seal({"identifier": "verdict"}),
        "of another release": lambda _news, _older: seal({"verdict": {"call": {}, "attempt": {"number": 2}}}),
        "too long": lambda _news, _older: seal({"verdict": {"call": {"public_id": "x" * 20_000}}}),
    }.items(),
    ids=lambda case: case[0],
)
def test_another_bell_is_not_believed(
    door: Door, judged: Callable[[], bytes | None], forge: tuple[str, Callable[[bytes, bytes], bytes]]
) -> None:
    make_tool(door.agent)
    first = door.submit(WRONG, session_id="s")
    older = judged()
    second = door.submit(RIGHT, session_id="s")
    news = judged()
    assert older
    assert news
    assert answered(first, older)
    assert answered(second, news)
    assert answered(second, forge[1](news, older)) is None


def test_a_bell_of_another_call_is_not_believed(door: Door, judged: Callable[[], bytes | None]) -> None:
    make_tool(door.agent)
    door.submit(WRONG)
    news = judged()
    other = door.submit(WRONG, tool_call_id="id_2")
    assert answered(other, news) is None


def test_who_waits_for_a_person_is_not_answered_by_a_verdict(door: Door, judged: Callable[[], bytes | None]) -> None:
    make_tool(door.agent)
    for _ in range(3):
        body = door.submit(WRONG, session_id="s").body
        news = judged()
    waiting = door.get(f"/calls/{body['call_id']}/wait?for=guidance")
    assert waiting.status == 202
    assert answered(waiting, news) is None


def test_a_call_that_is_cancelled_first_has_no_verdict_to_tell(
    door: Door, judged: Callable[[], bytes | None], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    make_tool(door.agent)
    body = door.submit(WRONG).body
    RUNG.clear()
    with django_capture_on_commit_callbacks(execute=True):
        cancel_call(Call.objects.select_related("agent").get(public_id=body["call_id"]), now=timezone.now())
        judge_waiting(clock=timezone.now)
    assert RUNG == [None]


def test_a_long_verdict_and_one_of_an_unknown_tool_are_read_again(
    door: Door, judged: Callable[[], bytes | None]
) -> None:
    make_tool(door.agent, schema={"type": "object", "additionalProperties": {"type": "integer"}})
    door.submit({f"{'n' * 60}{number}": "x" * 60 for number in range(200)})
    assert judged() is None
    door.submit(WRONG, tool="unknown")
    assert judged() is None


def test_a_verdict_with_more_errors_than_are_looked_at_is_too_long_for_a_bell() -> None:
    short = ValidationError(ErrorCode.TYPE_MISMATCH, "", "").to_json()
    assert len(seal({"verdict": {"attempt": {"errors_json": [short] * (MOST_ERRORS + 1)}}})) > LONGEST_VERDICT

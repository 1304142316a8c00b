"""Answering: every decision, every refusal, and nothing that was typed is lost."""

from __future__ import annotations

import json
import sys
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.utils import timezone

from retrycontract.contract.feedback.guidance import MAX_TEXT
from retrycontract.store.models import Guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from tests.bombs import known
from tests.dashboard.conftest import HTMX, Page, text_of
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import configure

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django import Settings

    from retrycontract.store.models import Call

pytestmark = pytest.mark.django_db


def send(desk: Client, call: Call, *, to: str = "", headers: dict[str, str] | None = None, **typed: Any) -> Page:
    """Post the form as a browser does, every field of it."""
    form = {
        "decision": "hint",
        "text": "",
        "grant": "2",
        "arguments": json.dumps(RIGHT),
        "escalation": call.escalations.order_by("-round")[0].public_id,
    }
    response: Page = desk.post(f"/calls/{call.public_id}/{to}", form | typed, headers=headers)
    return response


def test_a_hint_is_sent_and_the_page_is_shown_again(desk: Client) -> None:
    call = make_blocked()
    response = send(desk, call, text="Use eu-west-1.", grant="3")
    assert response.status_code == 302
    assert response["Location"] == f"/calls/{call.public_id}/#main"
    given = Guidance.objects.get(call=call)
    assert (given.decision, given.text, given.granted, given.operator.get_username()) == (
        "hint", "Use eu-west-1.", 3, "mia",
    )  # fmt: skip
    page = text_of(desk.get(response["Location"]))
    assert "Sent to deployer" in page
    assert "Waiting for agent" in page


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tool_call", "The corrected arguments do not match the tool's schema."),
        ("extraction", "The corrected extraction does not match the tool's schema."),
        ("agent_response", "The corrected response does not match the tool's schema."),
    ],
)
def test_a_correction_that_does_not_fit_is_named_as_what_it_is(desk: Client, kind: str, said: str) -> None:
    make_tool(make_agent(), kind=kind)
    more = {"task_id": "t1"} if kind == "agent_response" else {}
    call = make_blocked(kind=kind, **more)
    page = send(desk, call, decision="corrected", arguments='{"service": 1}')
    assert page.status_code == 422
    assert said in text_of(page)


def test_corrected_arguments_are_sent_as_they_were_typed(desk: Client) -> None:
    call = make_blocked()
    assert send(desk, call, decision="corrected").status_code == 302
    given = Guidance.objects.get(call=call)
    assert (given.arguments, given.patch, given.granted) == (RIGHT, None, 1)


@pytest.mark.parametrize(("decision", "state"), [("accept", "accepted"), ("reject", "rejected")])
def test_accepting_and_rejecting_end_the_call(desk: Client, decision: str, state: str) -> None:
    call = make_blocked()
    assert send(desk, call, decision=decision, text="Because.").status_code == 302
    call.refresh_from_db()
    assert call.state == state


def test_a_call_that_has_ended_promises_no_more_attempts(desk: Client) -> None:
    call = make_blocked()
    send(desk, call, decision="accept", text="It is right.")
    for path, words in ((f"/calls/{call.public_id}/", "Attempts 3 Created"), ("/calls/", "3 attempts deploy"),
                        ("/?show=answered", "Attempts 3 Changed")):  # fmt: skip
        assert words in text_of(desk.get(path)), path


@pytest.mark.parametrize("decision", ["hint", "accept", "reject"])
def test_an_answer_without_words_is_refused(desk: Client, decision: str) -> None:
    call = make_blocked()
    response = send(desk, call, decision=decision, text="  ")
    assert response.status_code == 422
    assert "Not sent. Write what the agent should read." in text_of(response)
    assert not Guidance.objects.exists()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"text": "x" * (MAX_TEXT + 1)}, f"at most {MAX_TEXT} can be sent"),
        ({"decision": "corrected", "arguments": json.dumps(WRONG)}, "/region VAL-008 Invalid enum value"),
        ({"decision": "corrected", "arguments": '{"service": 1,\n}'}, "line 1, column 14"),
        ({"decision": "corrected", "arguments": '{"a": 1, "a": 2}'}, 'the key "a" appears twice'),
        ({"decision": "corrected", "arguments": '{"service": NaN}'}, "NaN is not JSON"),
        ({"decision": "corrected", "arguments": ""}, "the text is empty"),
        ({"decision": "maybe", "text": "x"}, "Select a valid choice"),
        ({"grant": "9", "text": "x"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_sent_comes_back_with_the_reason_and_everything_typed(
    desk: Client, typed: dict[str, Any], told: str
) -> None:
    call = make_blocked()
    sent: dict[str, Any] = {"text": "My words.", "grant": "4", "arguments": '{"typed": true}'} | typed
    response = send(desk, call, **sent)
    assert response.status_code == 422
    assert told in text_of(response)
    html = unescape(response.content.decode())
    assert f'aria-describedby="preview-said">\n{sent["text"]}</textarea>' in html
    assert f'aria-describedby="preview-said">\n{sent["arguments"]}</textarea>' in html
    if sent["grant"] == "4":
        assert 'value="4" checked' in html
    assert not Guidance.objects.exists()


@pytest.mark.parametrize("to", ["", "preview/"])
def test_an_answer_that_nobody_can_check_now_keeps_the_words_and_says_so(
    desk: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings, to: str
) -> None:
    bomb, agent = known()[1], make_agent()
    make_tool(agent, schema=bomb.schema)
    call = make_blocked(agent, output="{")
    configure(settings, check_memory_mb=335 + len(to))  # other limits than before: no child of another test is left
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    page = send(desk, call, to=to, decision="corrected", text="My words", arguments=json.dumps(bomb.value))
    assert page.status_code == (200 if to else 503)
    assert "cannot check outputs at the moment" in text_of(page)
    assert "My words" in page.content.decode()
    assert not Guidance.objects.exists()


def test_output_that_never_parsed_cannot_be_accepted(desk: Client) -> None:
    call = make_blocked(output="Sure!")
    response = send(desk, call, decision="accept", text="Fine.")
    assert "The output never parsed, so it cannot be accepted as it is." in text_of(response)


SECRET: dict[str, Any] = {"service": "web", "region": "europe", "api_key": "hunter2-correct-horse-9"}


def make_secret_call() -> Call:
    agent = make_agent()
    properties = {"service": {"type": "string"}, "region": {"enum": ["eu-west-1"]}, "api_key": {"type": "string"}}
    make_tool(agent, "rotate", {"type": "object", "properties": properties, "required": ["region"]})
    return make_blocked(agent, SECRET, tool="rotate")


def test_a_redacted_value_that_is_left_alone_keeps_the_agents_own(desk: Client) -> None:
    call = make_secret_call()
    page = desk.get(f"/calls/{call.public_id}/").content.decode()
    assert "hunter2" not in page
    mark = call.attempts.last().output["api_key"]  # type: ignore[union-attr]  # it has three
    assert mark in page
    response = send(
        desk, call, decision="corrected", arguments=json.dumps({**SECRET, "region": "eu-west-1", "api_key": mark})
    )
    assert response.status_code == 302
    given = Guidance.objects.get(call=call)
    assert given.arguments is None
    assert given.patch == [{"op": "replace", "path": "/region", "value": "eu-west-1"}]


@pytest.mark.parametrize("edit", [str.lower, "{}-new".format, lambda mark: mark[:-1], lambda mark: mark[1:]])
def test_a_redacted_value_that_was_edited_is_refused_by_name(desk: Client, edit: Callable[[str], str]) -> None:
    call = make_secret_call()
    mark = call.attempts.last().output["api_key"]  # type: ignore[union-attr]  # as above
    edited = {**SECRET, "region": "eu-west-1", "api_key": edit(mark)}
    response = send(desk, call, decision="corrected", arguments=json.dumps(edited))
    assert response.status_code == 422
    assert "at /api_key. Leave '[REDACTED: …]' where it stands" in text_of(response)
    assert not Guidance.objects.exists()


def test_the_page_names_the_values_that_only_the_agent_has(desk: Client) -> None:
    page = text_of(desk.get(f"/calls/{make_secret_call().public_id}/"))
    assert "The agent keeps its own value where a mark such as [REDACTED: …] is left alone: /api_key." in page
    assert "keeps its own value" not in text_of(desk.get(f"/calls/{make_blocked().public_id}/"))


def test_what_is_wrong_with_corrected_arguments_has_its_line(desk: Client) -> None:
    typed = '{\n "service": "web",\n "region":\n  "mars", "x": 1}'
    page = text_of(send(desk, make_blocked(), decision="corrected", arguments=typed))
    assert "Line 3 /region VAL-008" in page
    assert "Line 4 /x VAL-005" in page
    typed = json.dumps({"service": "web", "region": "eu-west-1"} | {f"x{n}": n for n in range(2_000)}, indent=1)
    many = send(desk, make_blocked(), to="preview/", headers=HTMX, decision="corrected", arguments=typed)
    assert (many.content.decode().count('data-line="'), len(many.content) < 60_000) == (50, True)
    assert "These are the first 50 of " in text_of(many)
    broken = send(desk, make_blocked(), to="preview/", headers=HTMX, decision="corrected", arguments='{\n"a": }')
    assert 'data-line="2" data-column="6"' in broken.content.decode()


@pytest.mark.parametrize(
    ("kind", "caption"),
    [
        ("tool_call", "Write the arguments. The agent sends exactly these."),
        ("agent_response", "Write the response. The agent sends exactly this."),
        ("extraction", "Write the extraction. The agent sends exactly this."),
    ],
)
def test_the_choices_speak_of_the_kind_of_output(desk: Client, kind: str, caption: str) -> None:
    make_tool(make_agent(), kind=kind)
    more = {"task_id": "t", "turn": 1} if kind == "agent_response" else {}
    page = text_of(desk.get(f"/calls/{make_blocked(kind=kind, **more).public_id}/"))
    assert caption in page
    assert ("arguments" in page.partition("Your answer")[2].partition("Keys Close")[0]) == (kind == "tool_call")


def test_the_second_operator_learns_who_was_first_and_keeps_the_own_words(desk: Client) -> None:
    call = make_blocked()
    answer(call, make_user("noah"), text="Noah was here.")
    response = send(desk, call, text="My own words.")
    assert response.status_code == 409
    page = text_of(response)
    assert "noah has answered this call" in page
    assert "> Noah was here." in page
    assert "My own words.</textarea>" in response.content.decode()
    assert Guidance.objects.count() == 1


def test_accepting_means_the_attempt_that_was_on_the_page_whatever_came_since(desk: Client) -> None:
    call = make_blocked()
    page = desk.get(f"/calls/{call.public_id}/").content.decode()
    assert 'name="base" value="3"' in page
    submit(call.agent, {**WRONG, "region": "somewhere else"}, call=call)
    assert send(desk, call, decision="accept", text="Fine.", base="3").status_code == 302
    given = Guidance.objects.get(call=call)
    assert given.base is not None
    assert given.base.number == 3
    assert "your arguments of attempt 3" in given.rendered


def test_sending_twice_answers_once(desk: Client) -> None:
    call = make_blocked()
    assert send(desk, call, text="Once.").status_code == 302
    response = send(desk, call, text="Once.")
    assert response.status_code == 409
    assert "You have answered this call" in text_of(response)


def test_an_answer_to_a_call_that_was_cancelled_comes_back_with_a_notice(desk: Client) -> None:
    call = make_blocked()
    form_of = call.escalations.get().public_id
    cancel_call(call, now=timezone.now())
    response = send(desk, call, text="Too late.", escalation=form_of)
    assert response.status_code == 409
    assert "needs no answer any more: it is cancelled" in text_of(response)
    assert "Too late.</textarea>" in response.content.decode()


def test_an_escalation_of_another_call_is_not_answered_from_here(desk: Client) -> None:
    call, other = make_blocked(), make_blocked()
    response = send(desk, call, text="x", escalation=other.escalations.get().public_id)
    assert response.status_code == 404
    assert not Guidance.objects.exists()


def test_after_the_session_ended_the_typed_words_are_given_back(client: Client) -> None:
    response = send(client, make_blocked(), text="An hour of <b>work</b>.")
    assert response.status_code == 401
    assert "Your session has ended" in text_of(response)
    assert "An hour of &lt;b&gt;work&lt;/b&gt;.</textarea>" in response.content.decode()
    assert not Guidance.objects.exists()


def test_the_preview_is_exactly_what_the_agent_will_read(desk: Client) -> None:
    call = make_blocked()
    preview = send(desk, call, to="preview/", headers=HTMX, text="Use\r\neu-west-1.")
    assert "<form" not in preview.content.decode()
    send(desk, call, text="Use\r\neu-west-1.")
    rendered = Guidance.objects.get(call=call).rendered
    assert f"<bdi>{rendered}</bdi>" in unescape(preview.content.decode())


def test_the_preview_lists_what_is_wrong_with_corrected_arguments(desk: Client) -> None:
    call = make_blocked()
    response = send(desk, call, to="preview/", headers=HTMX, decision="corrected", arguments='{"region": "x", "y": 1}')
    page = text_of(response)
    for part in ("/service VAL-001", "/region VAL-008", "/y VAL-005", "expected one of: eu-west-1, us-east-1"):
        assert part in page, part
    broken = send(desk, call, to="preview/", headers=HTMX, decision="corrected", arguments='{"region":')
    assert "This is not JSON yet" in text_of(broken)


def test_without_scripts_the_preview_is_a_page_that_keeps_the_form(desk: Client) -> None:
    call = make_blocked()
    response = send(desk, call, to="preview/", text="Use eu-west-1.", grant="5")
    assert response.status_code == 200
    page = response.content.decode()
    assert "<html" in page
    assert "&gt; Use eu-west-1." in page
    assert "Use eu-west-1.</textarea>" in page
    assert 'value="5" checked' in page
    assert not Guidance.objects.exists()


def test_arguments_of_any_json_kind_may_be_sent_to_a_tool_that_nobody_knows(desk: Client) -> None:
    make_tool(make_agent())
    call = make_call(make_agent(), [WRONG] * 3, tool="dploy")
    assert send(desk, call, decision="corrected", arguments="[1, null]").status_code == 302
    assert Guidance.objects.get(call=call).arguments == [1, None]


MISSPELT = {"service": "web", "Region": "eu-west-1"}


def test_a_near_miss_is_told_with_its_fix_and_offered_to_the_person(desk: Client) -> None:
    page = text_of(desk.get(f"/calls/{make_blocked(output=MISSPELT).public_id}/"))
    assert "Suggested: rename 'Region' to 'region'" in page
    assert "Use the suggested fix" in page


def test_what_is_no_near_miss_is_offered_no_fix(desk: Client) -> None:
    page = text_of(desk.get(f"/calls/{make_blocked(output={'service': 'web'}).public_id}/"))
    assert "Suggested" not in page
    assert "Use the suggested fix" not in page


def test_the_suggested_fix_is_put_into_the_form_and_sent_only_by_the_person(desk: Client) -> None:
    call = make_blocked(output=MISSPELT)
    page = send(desk, call, to="preview/", suggestion="use", text="Mind the case.").content.decode()
    assert json.loads(unescape(page.partition('name="arguments"')[2].partition(">")[2].partition("<")[0])) == RIGHT
    assert 'value="corrected" checked' in page
    assert "Mind the case." in page
    assert not Guidance.objects.exists()
    assert send(desk, call, decision="corrected", arguments=json.dumps(RIGHT)).status_code == 302


def test_a_fix_that_mends_everything_is_sent_by_one_button_and_a_part_of_it_is_not(desk: Client) -> None:
    whole, part = make_blocked(output=MISSPELT), make_blocked(output=MISSPELT | {"service": None})
    assert "Send this fix" in text_of(desk.get(f"/calls/{whole.public_id}/"))
    page = text_of(desk.get(f"/calls/{part.public_id}/"))
    assert "Use the suggested fix" in page
    assert "1 mistake would be left" in page
    assert "Send this fix" not in page
    done = send(desk, whole, decision="hint", text="", send_fix="next")
    assert (done.status_code, done["Location"]) == (302, f"/calls/{part.public_id}/#main"), "the next one opens"
    given = Guidance.objects.get()
    assert (given.decision, given.arguments) == ("corrected", RIGHT)


def test_a_fix_that_would_move_a_secret_is_told_but_not_offered(desk: Client) -> None:
    agent = make_agent()
    schema = {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]}
    make_tool(agent, "login", schema)
    page = text_of(
        desk.get(f"/calls/{make_blocked(agent, {'Password': 'hunter22-hunter22'}, tool='login').public_id}/")
    )
    assert "Suggested: rename 'Password' to 'password'" in page
    assert "Use the suggested fix" not in page

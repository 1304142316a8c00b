"""The page of one call: what it tells, and what a poll of it gets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from dashboard.shared.mistakes import by_pattern
from dashboard.templatetags.desk import pointer
from retrycontract.store.models import Tool
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.dashboard.conftest import HTMX, logged_in, text_of
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import judge_all

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from retrycontract.store.models import Call

pytestmark = pytest.mark.django_db


def address(call: Call) -> str:
    return f"/calls/{call.public_id}/"


def read(desk: Client, call: Call) -> str:
    return text_of(desk.get(address(call)))


def poll_address(page: str) -> str:
    match = re.search(r'id="live".*?hx-get="([^"]+)"', page, re.DOTALL)
    assert match is not None
    return match.group(1).replace("&amp;", "&")


def test_the_page_says_who_what_and_why(desk: Client) -> None:
    call = make_blocked(
        session_id="release-7",
        task_id="rollout",
        correlation_id="corr-9",
        at=timezone.now() - timedelta(minutes=5),
        context={
            "goal": "Roll out web",
            "last_user_message": "Europe, please.",
            "trace_url": "https://traces.example/1",
            "ticket": "OPS-1",
        },
    )
    page = read(desk, call)
    for part in ("deploy", "version 1", "Blocked", "waiting 5 min", "deployer", "release-7", "rollout", "corr-9"):
        assert part in page, part
    for part in ("Roll out web", "Europe, please.", "https://traces.example/1", "OPS-1", "3 of 3", call.public_id):
        assert part in page, part
    for part in ("/region", "VAL-008", "InvalidEnumValue", "Expected", "one of: eu-west-1, us-east-1", '"europe"'):
        assert part in page, part


def test_the_newest_attempt_is_open_and_shows_exactly_what_the_model_read(desk: Client) -> None:
    call = make_blocked()
    html = desk.get(address(call)).content.decode()
    assert re.search(r'id="attempt-3" open', html)
    assert not re.search(r'id="attempt-[12]" open', html)
    for attempt in call.attempts.all():
        assert re.sub(r"\s+", " ", attempt.feedback) in read(desk, call)


def test_the_summary_for_a_person_is_there(desk: Client) -> None:
    call = make_blocked()
    assert "Recommended Actions:" in read(desk, call)


def test_a_trace_address_is_text_and_no_link(desk: Client) -> None:
    call = make_blocked(context={"trace_url": "javascript:alert(1)"})
    html = desk.get(address(call)).content.decode()
    assert "javascript:alert(1)" in html
    assert 'href="javascript' not in html


HOSTILE = "<script>alert(1)</script>{{ x }}\u202e"


def test_hostile_text_is_shown_and_never_obeyed(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent, HOSTILE)
    call = make_blocked(
        agent,
        {"service": HOSTILE, "region": HOSTILE, HOSTILE: HOSTILE, "items": HOSTILE},
        tool=HOSTILE,
        session_id=HOSTILE,
        task_id=HOSTILE,
        context={"goal": HOSTILE, "last_user_message": HOSTILE, "items": HOSTILE, "keys": [HOSTILE], HOSTILE: HOSTILE},
    )
    for path in ("/", "/?show=all", address(call)):
        html = desk.get(path).content.decode()
        assert "<script>alert" not in html, path
        assert "\u202e" not in html, path
        assert "{{ x }}" in html, path
        assert "\\u202e" in html, path


def test_keys_that_are_named_like_methods_are_keys(desk: Client) -> None:
    call = make_blocked(
        output={"service": "web", "items": 1, "keys": 2, "get": 3},
        context={"items": "the shopping list", "values": {"items": "nested"}},
    )
    page = read(desk, call)
    for part in ('"items": 1', '"keys": 2', '"get": 3', '"items": "the shopping list"', '"items": "nested"'):
        assert part in page, part


def test_context_of_any_shape_is_shown(desk: Client) -> None:
    call = make_blocked(context={"goal": {"not": "a text"}, "last_user_message": 7})
    page = read(desk, call)
    assert '"not": "a text"' in page
    assert '"last_user_message": 7' in page


def test_output_that_never_parsed_is_shown_as_text(desk: Client) -> None:
    call = make_blocked(output='Sure! {"service": "we')
    page = read(desk, call)
    assert 'Sure! {"service": "we' in page
    assert "it is not JSON" in page
    assert "Not possible: the output never parsed." in page


def test_a_call_of_an_unknown_tool_says_so(desk: Client) -> None:
    make_tool(make_agent())
    page = read(desk, make_call(make_agent(), [WRONG] * 3, tool="dploy"))
    assert "unknown tool" in page
    assert "the tool has no schema" in page


def test_after_the_answer_the_page_tells_its_way_to_the_outcome(desk: Client, mia: User) -> None:
    call = make_blocked()
    given = answer(call, mia, text="Use eu-west-1.")
    page = read(desk, call)
    assert "Hint by mia" in page
    assert "2 more attempts" in page
    assert "> Use eu-west-1." in page
    assert "Not fetched yet" in page
    assert "Send answer" not in page
    mark_delivered(given, now=timezone.now())
    acknowledge_guidance(given, now=timezone.now())
    page = read(desk, call)
    assert "Delivered to the agent" in page
    assert "The agent confirmed it" in page
    submit(make_agent(), RIGHT, call=call)
    page = read(desk, call)
    assert "Attempt 4 of 5: valid" in page
    assert "Answered, and solved" in page


def test_the_next_blocked_call_is_one_click_away(desk: Client, viewer: Client, mia: User) -> None:
    call, other = make_blocked(), make_blocked()
    answer(call, mia)
    assert f'href="{address(other)}"' in viewer.get(address(call)).content.decode()
    assert "Next call" in read(desk, call)
    assert desk.post("/next/", {"beside": call.public_id}).headers["Location"] == address(other)


def test_a_call_that_is_blocked_again_can_be_answered_again(desk: Client, mia: User) -> None:
    call = make_blocked()
    answer(call, mia, grant=1, is_read=True)
    submit(make_agent(), WRONG, call=call)
    page = read(desk, call)
    assert "Send answer" in page
    assert "mia answered" in page


def test_an_expired_call_takes_a_late_answer(desk: Client) -> None:
    call = make_blocked()
    expire_overdue(now=timezone.now() + timedelta(days=30))
    assert "Send answer" in read(desk, call)
    form = {"decision": "hint", "text": "Late.", "escalation": call.escalations.get().public_id}
    assert desk.post(address(call), form).status_code == 302
    call.refresh_from_db()
    assert call.state == "guided"


def test_what_a_policy_rejected_is_no_persons_no_and_takes_no_answer(desk: Client, mia: User) -> None:
    first, second = make_blocked(), make_blocked()
    answer(second, mia, grant=1, is_read=True)
    submit(make_agent(), WRONG, call=second)
    Tool.objects.update(on_expiry="reject")
    assert expire_overdue(now=timezone.now() + timedelta(days=30)) == 2
    assert "the tool's policy rejected the call. No person said no." in read(desk, first)
    assert "The call ended: rejected, since nobody answered in time" in read(desk, second)
    for call in (first, second):
        assert "Send answer" not in read(desk, call)
        form = {"decision": "hint", "text": "Late.", "escalation": call.escalations.order_by("-round")[0].public_id}
        assert desk.post(address(call), form).status_code == 409
        call.refresh_from_db()
        assert call.state == "rejected"


def test_old_attempts_are_counted_when_there_are_too_many(desk: Client) -> None:
    call = make_blocked()
    for _ in range(20):
        submit(make_agent(), WRONG, call=call)
    page = read(desk, call)
    assert "13 older attempts" in page
    assert "Attempt 23, while Blocked" in page


def test_the_number_of_queries_does_not_grow_with_the_attempts(
    desk: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    call = make_blocked()
    with django_assert_num_queries(17):
        desk.get(address(call))
    for _ in range(6):
        submit(make_agent(), WRONG, call=call)
    with django_assert_num_queries(17):
        desk.get(address(call))


def test_a_call_says_how_many_others_wait_with_its_mistake_and_leads_to_all_of_them(desk: Client) -> None:
    call = make_blocked()
    group = f'href="/calls/{call.public_id}/group/"'
    assert group not in read_html(desk, call)
    others = [make_blocked() for _ in range(2)]
    assert "2 others wait with this mistake. Answer all at once" in read(desk, call)
    assert group in read_html(desk, call)
    answer(others[0], make_user("noah"))
    assert "1 other waits with this mistake." in read(desk, call)


def test_operators_see_each_others_calls(desk: Client) -> None:
    assert logged_in(make_user("noah")).get(address(make_blocked())).status_code == 200


def test_a_trace_is_a_link_once_somebody_said_where_traces_are_shown(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    call = make_blocked(traceparent=f"00-{trace_id}-00f067aa0ba902b7-01")
    assert f"<code>{trace_id}</code>" in read_html(desk, call)
    known = settings.RETRYCONTRACT.model_copy(update={"trace_url": "https://traces.example/t/{trace_id}"})
    monkeypatch.setattr(settings, "RETRYCONTRACT", known)
    assert f'href="https://traces.example/t/{trace_id}"' in read_html(desk, call)


ITEM = {"type": "object", "properties": {name: {"type": "integer"} for name in ("qty", "sku", "at")}}
FIELDS = [f"field {number}" for number in range(225)]
LONG_FIELDS = [f"{number} " + "名前" * 55 for number in range(225)]
# Each output has 225 mistakes.
MANY: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "alike": (
        {"properties": {"orders": {"items": ITEM}}},
        lambda n: {"orders": [{"qty": f"two {n}", "sku": "s", "at": f"now {i}"} for i in range(75)]},
    ),
    "of their own": (
        {"properties": {name: {"type": "integer"} for name in FIELDS}},
        lambda n: {name: f"{name} {n}" for name in FIELDS},
    ),
    "missing": ({"required": FIELDS}, lambda _: {}),
    "with long names and values": (
        {"properties": {name: {"type": "integer"} for name in LONG_FIELDS}},
        lambda n: dict.fromkeys(LONG_FIELDS, f'{n} <"値"> ' * 100),
    ),
}  # fmt: skip


@pytest.mark.parametrize("many", [*MANY][:2] + [pytest.param(name, marks=pytest.mark.soak) for name in [*MANY][2:]])
def test_a_call_with_hundreds_of_mistakes_has_a_small_page_that_leads_to_all_of_them(desk: Client, many: str) -> None:
    schema, output = MANY[many]
    agent = make_agent()
    make_tool(agent, "order", {"type": "object"} | schema)
    context = {f"part {n}": "word " * 300 for n in range(19)} | {"goal": "Order " * 300}
    call: Call | None = None
    for number in range(4):  # the agent goes on while it is Blocked
        call = submit(agent, output(number), tool="order", call=call, context=context).call
        judge_all()  # so many are too dear for the door
    assert call is not None
    page = read_html(desk, call)
    assert len(page.encode()) < 60_000
    assert len(desk.get(address(call), headers={"Accept-Encoding": "gzip"}).content) < 12_000
    tool = desk.get(reverse("dashboard:tool", args=[call.tool_id])).content.decode()
    assert len(tool.split("The last calls that failed")[1].split("How it is judged")[0]) < 60_000
    # Its group shows the first of them, and leads to the others.
    group = desk.get(reverse("dashboard:group", args=[call.public_id])).content.decode()
    assert len(group.encode()) < 60_000
    shown = len(by_pattern(call.attempts.get(number=4).errors))
    assert shown <= 8 or f"and {shown - 8} more" in group
    # The playground shows as much of what was tried: all of it stands in its field.
    tried = {"name": "order", "kind": "tool_call", "attempt": "1", "max_attempts": "3", "strict": "on",
             "schema": json.dumps({"type": "object"} | schema), "output": json.dumps(output(3))}  # fmt: skip
    verdict = desk.post(reverse("dashboard:playground"), tried, headers=HTMX).content.decode()
    assert "Not valid: the model tries again" in verdict
    assert len(verdict.encode()) < 45_000
    for number in (4, 1):
        link = f'href="?whole={number}#attempt-{number}"'
        assert link in page
        whole = desk.get(address(call), {"whole": number}).content.decode()
        assert link not in whole
        shown = by_pattern(call.attempts.get(number=number).errors)
        assert [one.pattern for one in shown if pointer(one.pattern) not in whole] == []
    for part, last in (("schema", "}"), ("context", "part 18"), ("escalation", "Recommended")):
        assert last in unescape(desk.get(address(call), {"whole": part}).content.decode())
    filled = desk.post(
        reverse("dashboard:preview", args=[call.public_id]), {"load": "yes"}, headers=HTMX
    ).content.decode()
    (typed,) = re.findall(r"<textarea id=\"id_arguments\"[^>]*>\n(.*?)</textarea>", filled, re.DOTALL)
    assert json.loads(unescape(typed)) == output(3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("{" + '"a": "<b>", \n' * 4_000, "tool_call"), ("def f(:\n    return '<b>'\n" * 2_000, "source_file")],
)
def test_a_long_text_is_shown_in_part_until_all_of_it_is_asked_for(desk: Client, text: str, kind: str) -> None:
    agent = make_agent()
    make_tool(agent, "write", {"type": "object"} if kind == "tool_call" else {"x-language": "python"}, kind=kind)
    call: Call | None = None
    for _ in range(3):
        call = submit(agent, text, tool="write", call=call, kind=kind).call
        judge_all()
    assert call is not None
    page = read_html(desk, call)
    assert len(page.encode()) < 60_000
    assert len(desk.get(address(call), {"whole": 3}).content) > 100_000
    assert 'href="?whole=3#attempt-3"' in page


def test_of_thousands_of_changes_the_first_are_shown(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent, "sum", {"properties": {"of": {"items": {"type": "integer"}}}})
    call: Call | None = None
    for attempt in range(3):
        call = submit(agent, {"of": [f"{attempt}-{n}" for n in range(3_000)]}, tool="sum", call=call).call
        judge_all()
    assert call is not None
    assert by_pattern(call.attempts.get(number=3).errors)[0].pattern == "/of/*"  # not that there are over a thousand
    whole = desk.get(address(call), {"whole": 2}).content.decode()
    assert whole.count('class="change change-') == 200 + 8  # and the first of the attempt behind it
    assert "2800 more not shown." in whole
    assert len(whole) < 300_000


def read_html(desk: Client, call: Call) -> str:
    return desk.get(address(call)).content.decode()


@pytest.mark.parametrize(
    ("schema", "wrong", "said"),
    [
        ({"type": "integer"}, "four", "/value must be an integer"),
        ({"type": "string", "minLength": 9}, "four", "/value must be a string"),
        ({"enum": ["a", "b"]}, "four", "/value must be one of: a, b"),
        ({"type": "object"}, None, "/value is missing: an object"),
        ({"maxLength": 9}, "Thank you. " * 40, 'got "Thank you. Thank you. Thank you. Thank you. Thank you. Tha…'),
        (
            {"maxLength": 9},
            "y " * 22 + "token=ghp_" + "Zq8Lw3Xv7Tn2Rk9Yb4Mc6Jd1Hf5Gs0Pu8Ae",
            f'got "{"y " * 22}token=…',
        ),
    ],
)
def test_the_head_says_in_a_sentence_what_is_wrong(
    desk: Client, schema: dict[str, object], wrong: str | None, said: str
) -> None:
    agent = make_agent()
    make_tool(agent, "tell", {"type": "object", "properties": {"value": schema}, "required": ["value"]})
    call = make_blocked(agent, {} if wrong is None else {"value": wrong}, tool="tell")
    assert said in text_of(desk.get(f"/calls/{call.public_id}/"))


def test_a_field_that_no_schema_knows_is_not_said_to_be_missing(desk: Client) -> None:
    call = make_blocked(output=RIGHT | {"town": "Zurich"})
    said = text_of(desk.get(f"/calls/{call.public_id}/"))
    assert "3rd time the same: /town is not known: use one of the fields region, replicas, service" in said
    assert "/town is missing" not in said


def test_names_that_are_read_from_the_right_leave_a_pointer_in_its_order() -> None:
    assert pointer("/המחיר/0/מטבע") == (
        '<code class="pointer"><bdi></bdi>/<bdi>המחיר</bdi>/<bdi>0</bdi>/<bdi>מטבע</bdi></code>'
    )

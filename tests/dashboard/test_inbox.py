"""The inbox: order, groups, search, pages and what a poll gets."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.inbox import views as queue
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Door
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.claim_call import claim_next
from retrycontract.usecases.calls.sweep import index_calls
from retrycontract.usecases.people.admit import rename_agent
from tests.dashboard.conftest import HTMX, Page, ids, text_of
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def test_the_longest_waiting_call_stands_first(desk: Client) -> None:
    young = make_blocked(make_agent("a"), at=NOW - timedelta(minutes=1))
    old = make_blocked(make_agent("b"), at=NOW - timedelta(hours=3))
    assert ids(desk.get("/")) == [old.public_id, young.public_id]


def test_a_row_says_tool_agent_goal_mistake_attempts_and_wait(desk: Client) -> None:
    make_blocked(at=timezone.now() - timedelta(minutes=5), context={"goal": "Roll out web"})
    page = text_of(desk.get("/"))
    for part in ("deploy", "deployer", "Roll out web", "/region", "VAL-008", "Invalid enum value", "3/3", "5 min"):
        assert part in page, part


def test_a_search_is_made_once_for_all_tabs(desk: Client) -> None:
    call = make_blocked()
    with CaptureQueriesContext(connection) as captured:
        assert ids(desk.get("/?q=deplo&show=all")) == [call.public_id]
    of_tools = [query for query in captured if 'FROM "retrycontract_tool" WHERE' in query["sql"]]
    assert len([query for query in of_tools if "LIKE" in query["sql"]]) == 1


def test_what_a_search_finds_twice_is_counted_and_listed_once_and_neither_by_tool_or_key_at_once(
    desk: Client, mia: User
) -> None:
    answered = make_blocked(context={"goal": "deploy it"})
    answer(answered, mia, Decision.REJECT, text="Not today.")
    waiting = make_blocked(context={"goal": "deploy it"})
    index_calls()
    with CaptureQueriesContext(connection) as captured:
        page = desk.get("/?q=deploy&show=all")
    assert ids(page) == [waiting.public_id, answered.public_id]
    assert "Open 1 Mine 0 Waiting for agent 0 Answered 1 All 2" in text_of(page)
    # What waits is little; what was ever sent is a million calls, of which PostgreSQL would read most for an OR.
    searched = [one["sql"] for one in captured if re.search('tool_name" (IN|=)', one["sql"])]
    of_all = [statement for statement in searched if "state" not in statement and "SELECT 1 " not in statement]
    assert len(of_all) == 4, "two counts and two lists"
    assert not any(" OR " in statement for statement in of_all)


def test_calls_with_the_same_mistake_are_one_group_where_the_oldest_stands(desk: Client) -> None:
    agent, other = make_agent("a"), make_agent("b")
    first = make_blocked(agent, {"service": "a", "region": "x"}, at=NOW - timedelta(minutes=9))
    between = make_blocked(other, {"service": 1, "region": "eu-west-1"}, at=NOW - timedelta(minutes=8))
    second = make_blocked(agent, {"service": "b", "region": "y"}, at=NOW - timedelta(minutes=7))
    page = desk.get("/")
    assert ids(page) == [first.public_id, between.public_id]
    assert "2 calls, the same mistake" in text_of(page)
    assert second.public_id not in page.content.decode()


def test_the_same_mistake_in_another_namespace_is_another_group(desk: Client) -> None:
    make_blocked(make_agent("a"))
    make_blocked(make_agent("b"))
    assert "the same mistake" not in text_of(desk.get("/"))


def test_each_tab_holds_its_states(desk: Client, mia: User) -> None:
    agent = make_agent()
    blocked, guided, rejected = (make_blocked(agent) for _ in range(3))
    answer(guided, mia)
    answer(rejected, mia, Decision.REJECT, text="Not on a Friday.")
    retrying = make_call(agent, [{}])
    assert ids(desk.get("/")) == [blocked.public_id]
    assert ids(desk.get("/?show=agent")) == [retrying.public_id, guided.public_id]
    assert ids(desk.get("/?show=answered")) == [rejected.public_id]
    assert ids(desk.get("/?show=all")) == [call.public_id for call in (retrying, rejected, guided, blocked)]
    assert ids(desk.get("/?show=nonsense")) == [blocked.public_id]
    assert "Open 1 Mine 0 Waiting for agent 2 Answered 1 All 4" in text_of(desk.get("/"))


def test_counts_are_exact_up_to_a_bound(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MOST_COUNTED", 2)
    for _ in range(4):
        make_blocked()
    assert "Open over 2" in text_of(desk.get("/"))
    monkeypatch.setattr(queue, "MOST_COUNTED", 4)
    assert "Open 4" in text_of(desk.get("/"))


def test_a_filtered_tab_counts_what_it_lists(desk: Client) -> None:
    for tool in ("deploy", "deploy", "refund"):
        make_blocked(tool=tool)
    assert "Open 2 Mine 0 Waiting for agent 0 Answered 0 All 2" in text_of(desk.get("/?tool=deploy"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/?tool=refund", "3 calls wait without them."),
        ("/?agent=nobody", "3 calls wait without them."),
        ("/?code=VAL-013", "3 calls wait without them."),
        ("/?show=mine&tool=deploy", "Nothing is here without them either. Open has 3."),
        ("/?show=agent&tool=deploy", "1 call is here without them. Open has 3."),
        ("/?show=answered&agent=nobody", "Without them every call is here that was answered. Open has 3."),
        ("/?show=all&agent=nobody", "Without them every call is here. Open has 3."),
    ],
)
def test_a_filter_that_nothing_fits_says_what_is_there_without_it_and_leaves_the_next(
    desk: Client, address: str, said: str
) -> None:
    agent = make_agent()
    for tool in ("deploy", "deploy", "book"):
        make_blocked(agent, tool=tool)
    make_call(agent, [{}], tool="pay")
    page = text_of(desk.get(address))
    assert said in page
    assert "Take the next" in page


def test_a_filter_of_an_empty_queue_says_that_nobody_waits_until_a_poll_hears_of_a_call(desk: Client) -> None:
    page = desk.get("/?tool=refund")
    assert "Nobody waits without them either." in text_of(page)
    assert "Take the next" not in text_of(page)
    seen = re.search(r"seen=(\w+)", page.content.decode())
    assert seen
    make_blocked()
    assert "1 call waits without them." in text_of(desk.get(f"/?tool=refund&seen={seen[1]}", headers=HTMX))


def test_the_answered_tab_says_who_how_and_whether_it_worked(desk: Client, mia: User) -> None:
    worked, failed, rejected, unread = make_blocked(), make_blocked(), make_blocked(), make_blocked()
    for call, text in ((worked, "Use eu-west-1."), (failed, "Use a region.")):
        answer(call, mia, text=text, is_read=True)
    answer(unread, mia, text="Look again.")
    submit(unread.agent, {"service": "web", "region": "eu-west-1"}, call=unread)
    submit(worked.agent, {"service": "web", "region": "eu-west-1"}, call=worked)
    submit(failed.agent, {"service": "web", "region": "mars"}, call=failed)
    failed.refresh_from_db()
    cancel_call(failed, now=timezone.now())
    answer(rejected, make_user("leo"), Decision.REJECT, text="Not on a Friday.")
    page = text_of(desk.get("/?show=answered"))
    assert re.search(r"Valid Hint by you worked Use eu-west-1\.", page)
    assert re.search(r"Valid Hint by you not fetched Look again\.", page)
    assert re.search(r"Cancelled Hint by you did not work Use a region\.", page)
    assert re.search(r"Rejected Rejected by leo Not on a Friday\.", page)


def test_search_finds_by_part_of_a_tool_and_by_the_beginning_of_an_id(desk: Client) -> None:
    agent = make_agent()
    deploy = make_blocked(agent, session_id="release-7")
    refund = make_blocked(agent, tool="refund")
    unknown = make_call(agent, [{}] * 3, tool="no_such_tool")
    for text in ("Depl", "PLO", deploy.public_id[:-1]):
        assert ids(desk.get("/", {"q": text})) == [deploy.public_id], text
    assert ids(desk.get("/", {"q": "release-7"})) == [deploy.public_id]
    assert ids(desk.get("/", {"q": f" {refund.public_id} "})) == [refund.public_id]
    assert ids(desk.get("/", {"q": "no_such_tool"})) == [unknown.public_id]
    assert "Nothing matches “elease”" in text_of(desk.get("/", {"q": "elease"}))


@pytest.mark.parametrize("q", ["%", "_", "\\", "'; --", "\x00", "🙂" * 300])
def test_search_takes_anything(desk: Client, q: str) -> None:
    make_blocked()
    assert ids(desk.get("/", {"q": q})) == []


def test_pages_follow_each_other_without_a_gap_or_a_repeat(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "PAGE", 2)
    # Three were blocked at the same moment: the key alone tells them apart.
    moments = [5, 4, 4, 4, 3]
    calls = [make_blocked(make_agent(f"a{n}"), at=NOW - timedelta(hours=h)) for n, h in enumerate(moments)]
    seen, address = [], "/"
    while address:
        page = desk.get(address)
        seen += ids(page)
        match = re.search(r'class="pages-next"\s+href="([^"]+)"', page.content.decode())
        address = match.group(1).replace("&amp;", "&") if match else ""
        assert "&&" not in page.content.decode().replace("&amp;", "&")
    assert seen == [call.public_id for call in calls]


@pytest.mark.parametrize("after", ["x", "-1", "1.2.3", "9" * 30, "٣"])
def test_a_page_key_that_nobody_gave_out_begins_at_the_top(desk: Client, after: str) -> None:
    call = make_blocked()
    assert ids(desk.get("/", {"after": after})) == [call.public_id]
    assert desk.get("/", {"after": after, "show": "all"}).status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_calls(
    desk: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    agent = make_agent("a")
    for _ in range(2):
        make_blocked(agent)
    with django_assert_num_queries(21):
        desk.get("/")
    for number in range(6):
        make_blocked(make_agent(f"b{number}"))
    with django_assert_num_queries(21):
        desk.get("/")
    with django_assert_num_queries(20):  # of lines that were drawn before nothing is read that is wrong
        desk.get("/")


def test_a_line_that_was_drawn_before_tells_what_came_since(desk: Client, mia: User) -> None:
    agent = make_agent("a")
    first, _ = make_blocked(agent), make_blocked(agent)
    assert "2 calls, the same mistake" in text_of(desk.get("/"))
    submit(agent, {}, call=first)
    assert "Required field 'region' is missing" in text_of(desk.get("/"))
    claim_next(mia, now=timezone.now())
    assert "you have it" in text_of(desk.get("/"))
    rename_agent(agent, "renamed", now=timezone.now(), actor="mia", door=Door.DASHBOARD)
    assert "renamed" in text_of(desk.get("/"))


def test_groups_are_gathered_over_the_whole_queue_and_not_within_a_page(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "PAGE", 2)
    agent = make_agent("a")
    first = make_blocked(agent, at=NOW - timedelta(hours=9))
    others = [make_blocked(make_agent(f"b{n}"), at=NOW - timedelta(hours=8 - n)) for n in range(3)]
    last = make_blocked(agent, at=NOW - timedelta(minutes=1))
    page = desk.get("/")
    assert ids(page) == [first.public_id, others[0].public_id]
    assert "2 calls, the same mistake" in text_of(page)
    assert last.public_id not in page.content.decode()


def test_a_group_is_one_row_that_leads_to_its_page_and_to_its_calls(desk: Client) -> None:
    calls = [make_blocked(at=NOW - timedelta(minutes=9 - n)) for n in range(7)]
    page = desk.get("/")
    assert ids(page) == [calls[0].public_id]
    assert "7 calls, the same mistake" in text_of(page)
    assert f'href="/calls/{calls[0].public_id}/group/"' in page.content.decode()
    assert ids(desk.get("/", {"like": calls[0].public_id})) == [call.public_id for call in calls]


def test_calls_without_a_fingerprint_share_no_mistake(desk: Client) -> None:
    calls = [make_blocked() for _ in range(2)]
    Call.objects.update(fingerprint="")
    assert ids(desk.get("/")) == [call.public_id for call in calls]
    assert "the same mistake" not in text_of(desk.get("/"))


def test_a_group_without_a_value_to_blame_says_what_is_wrong_with_the_whole(desk: Client) -> None:
    calls = [make_call(make_agent(), [{"email": "ana@example.org"}] * 3, tool="lookup") for _ in range(2)]
    for page in ("/", f"/calls/{calls[0].public_id}/group/"):
        text = text_of(desk.get(page))
        assert "There is no tool 'lookup'" in text
        assert "missing" not in text


def test_the_row_of_a_group_says_every_mistake_with_the_spread_of_its_values(desk: Client) -> None:
    for region in ("mars", "venus", "venus"):
        make_blocked(output={"service": 1, "region": region}, context={"goal": "Roll out a"})
    page = text_of(desk.get("/"))
    assert re.search(r"/region VAL-008\W+venus\W+2\W+mars", page)
    assert re.search(r"/service VAL-002\W+1\W+3", page)
    for part in ("Roll out a", "deployer"):
        assert part in page, part


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({"tool": "refund"}, ["refund"]),
    ({"tool": "refun"}, []),
    ({"agent": "a"}, ["deploy"]),
    ({"agent": "nobody"}, []),
    ({"code": "VAL-001"}, ["refund"]),
    ({"code": "VAL-008"}, ["deploy"]),
    ({"code": "VAL-999"}, ["deploy", "refund"]),
    ({"kind": "tool_call"}, ["deploy", "refund"]),
    ({"kind": "source_file"}, []),
    ({"age": "1h"}, ["deploy"]),
    ({"age": "1d"}, []),
    ({"tool": "deploy", "age": "5m", "q": "deploy"}, ["deploy"]),
]


@pytest.mark.parametrize(("chosen", "tools"), FILTERS)
def test_filters_keep_what_was_chosen(desk: Client, chosen: dict[str, str], tools: list[str]) -> None:
    deploy = make_blocked(make_agent("a"), at=NOW - timedelta(hours=2))
    refund = make_blocked(make_agent("b"), {}, tool="refund")
    named = {"deploy": deploy.public_id, "refund": refund.public_id}
    assert ids(desk.get("/", chosen)) == [named[tool] for tool in tools]


def test_what_no_index_knows_is_not_asked_of_all_calls(desk: Client) -> None:
    call = make_blocked()
    assert ids(desk.get("/", {"show": "all", "code": "VAL-001", "kind": "source_file", "age": "1d"})) == [
        call.public_id
    ]


def test_the_address_of_a_poll_and_of_each_tab_keeps_the_filters(desk: Client) -> None:
    make_blocked()
    page = desk.get("/", {"tool": "deploy", "q": "deploy"}).content.decode()
    assert "q=deploy&tool=deploy" in poll_address(desk.get("/", {"tool": "deploy", "q": "deploy"}))
    assert 'href="/?show=agent&amp;q=deploy&amp;tool=deploy"' in page


def test_attempts_while_blocked_are_counted_apart(desk: Client) -> None:
    call = make_blocked()
    assert "3/3" in text_of(desk.get("/"))
    for _ in range(9):
        submit(make_agent(), {"service": "web", "region": "mars"}, call=call)
    page = text_of(desk.get("/"))
    assert "3/3" in page
    assert "and 9 more while Blocked" in page
    assert "12/3" not in page


def poll_address(response: Page) -> str:
    match = re.search(r'id="queue".*?hx-get="([^"]+)"', response.content.decode(), re.DOTALL)
    assert match is not None
    return match.group(1).replace("&amp;", "&")


def test_a_poll_gets_nothing_while_nothing_changed(desk: Client) -> None:
    make_blocked()
    response = desk.get(poll_address(desk.get("/")), headers=HTMX)
    assert response.status_code == 204
    assert response.content == b""


def test_a_poll_gets_the_list_alone_when_a_call_came_or_changed(desk: Client) -> None:
    call = make_blocked()
    address = poll_address(desk.get("/"))
    submit(make_agent(), RIGHT, call=call)
    response = desk.get(address, headers=HTMX)
    assert response.status_code == 200
    assert ids(response) == []
    assert "<html" not in response.content.decode()
    address = poll_address(response)
    assert desk.get(address, headers=HTMX).status_code == 204
    other = make_blocked()
    assert ids(desk.get(address, headers=HTMX)) == [other.public_id]


def test_the_first_look_teaches_how_to_connect_an_agent(desk: Client) -> None:
    page = text_of(desk.get("/"))
    assert "No agent has called yet" in page
    assert "retrycontract agent create my-agent" in page
    assert "under Agents (an administrator does that)" in page
    assert "http://testserver/api/v1/calls" in page


def test_an_empty_queue_says_that_nobody_waits(desk: Client) -> None:
    make_tool(make_agent())
    submit(make_agent(), RIGHT)
    assert "Nobody waits for you" in text_of(desk.get("/"))


def test_a_held_call_that_is_valid_now_says_what_it_waits_for(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent, hold=True)
    call = make_blocked(agent)
    submit(agent, RIGHT, call=call)
    assert "the tool is held until a person answers" in text_of(desk.get("/"))


def test_the_inbox_and_all_that_it_loads_weigh_less_than_100_kilobytes(desk: Client) -> None:
    """Compressed, as the service sends them."""
    for number in range(60):
        make_blocked(make_agent(f"agent-{number}"))
    page = desk.get("/", headers={"Accept-Encoding": "gzip"}).content
    names = set(re.findall(r'(?:href|src)="/static/([^"#]+)', gzip.decompress(page).decode()))
    assert {name.rpartition(".")[2] for name in names} == {"css", "js", "svg"}
    loaded = [finders.find(name) for name in sorted(names)]
    assert len(page) + sum(len(gzip.compress(Path(str(path)).read_bytes())) for path in loaded) < 100_000

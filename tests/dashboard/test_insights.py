"""The insights: numbers of history as plots, tables and files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.navigation import Role
from dashboard.shared.responses import csv_lines
from retrycontract.contract.outputs import Generation
from retrycontract.store.models import Call, Rollup, Tool
from retrycontract.usecases.answers.reuse_answers import set_hint_from
from tests.dashboard.conftest import logged_in, text_of
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def worked(desk: Client) -> Client:
    """A desk after some work: four calls, one of them put before a person and answered."""
    make_tool(make_agent())
    make_tool(make_agent("other"), "scale")
    make_call(make_agent(), [RIGHT])
    make_call(make_agent(), [WRONG, RIGHT])
    make_call(make_agent("other"), [{}, RIGHT], tool="scale")
    call = make_blocked(at=timezone.now() - timedelta(minutes=4))
    answer(call, make_user("noah"))
    return desk


def test_headline_numbers_come_first_and_are_those_of_history(worked: Client) -> None:
    text = text_of(worked.get("/insights/"))
    said = [
        "Valid at first try 25% 1 of 4 calls ; few: 5% to 70%", "Recovered 67% 2 of the 3 that failed at first",
        "Escalated 1 1 answer given", "Time to guidance 4 min median", "What to fix first",
        "Failures by mistake", "Failures by tool", "Mistakes side by side", "Tools side by side", "Models side by side",
        "Attempts to success", "Recovery by attempt", "Time to guidance From", "Which guidance worked",
        "How calls ended", "tokens, estimated at four characters each where no agent counted them",
    ]  # fmt: skip
    places = [text.index(word) for word in said]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("", {"Valid at first try": [("17%", 1), ("1", 1), ("6 calls", 6)],
              "Recovered": [("40%", 2), ("2", 2), ("5 that failed at first", 5)],
              "Escalated": [("2", 2), ("1 answer", 1)], "Time to guidance": [("", 2), ("2 still wait", 2)],
              "Spent on retries": [("", 5)]}),
        ("deploy", {"Valid at first try": [("25%", 1), ("1", 1), ("4 calls", 4)],
                    "Recovered": [("33%", 1), ("1", 1), ("3 that failed at first", 3)],
                    "Escalated": [("1", 1), ("1 answer", 1)], "Time to guidance": [("", 1), ("1 still waits", 1)],
                    "Spent on retries": [("", 3)]}),
    ],
)  # fmt: skip
def test_every_headline_number_leads_to_the_calls_that_it_counts_the_newest_first(
    worked: Client, tool: str, expected: dict[str, list[tuple[str, int]]]
) -> None:
    make_call(make_agent(), [WRONG, WRONG])  # nobody knows yet how it ends
    make_blocked(make_agent("other"), output={}, tool="scale", at=timezone.now() - timedelta(minutes=3))
    # It still waits, and is older than what is looked at.
    old = make_blocked(at=timezone.now() - timedelta(days=40))
    chosen = f"&tool={Tool.objects.get(name=tool).pk}" if tool else ""
    page = worked.get(f"/insights/?range=7d{chosen}").content.decode()
    found: dict[str, list[tuple[str, int]]] = {}
    for title, card in re.findall(r'headline"><dt>(.*?)</dt>(.*?)</div>', page, re.DOTALL):
        found[title] = []
        for href, words in re.findall(r'<a\s+href="([^"]+)"[^>]*>(.*?)</a>', card, re.DOTALL):
            listed = worked.get(unescape(href))
            assert "Not understood" not in text_of(listed), href
            calls = re.findall(r'id="row-(call_\w+)"', listed.content.decode())
            keys = [Call.objects.get(public_id=call).pk for call in calls]
            assert keys == sorted(keys, reverse=True)
            assert (old.public_id in calls) is ("still wait" in words and tool != "scale")
            found[title].append(("" if re.search("~| min", words) else words, len(calls)))
    assert found == expected


def test_each_plot_says_in_words_and_in_a_table_what_it_draws(worked: Client) -> None:
    page = worked.get("/insights/").content.decode()
    assert page.count('role="img"') == page.count("</title>\n      <desc id=") == 2
    assert "5 mistakes in failed attempts; the most, 5, at" in " ".join(page.split())
    assert page.count("<table") == 12
    assert "style=" not in page


def test_a_tool_and_a_time_are_chosen_in_the_address(worked: Client) -> None:
    tool = Tool.objects.get(name="scale")
    text = text_of(worked.get(f"/insights/?range=24h&tool={tool.pk}"))
    assert "0 of 1 call " in text
    assert "Failures by tool" not in text
    page = worked.get(f"/insights/?range=24h&tool={tool.pk}").content.decode()
    assert f'href="?range=90d&amp;tool={tool.pk}"' in page
    assert f"/insights/failures.csv?range=24h&amp;tool={tool.pk}" in page
    assert worked.get("/insights/?tool=99999").status_code == 404
    assert worked.get("/insights/?tool=x").status_code == 404


def test_a_service_without_calls_says_what_to_do_and_an_idle_time_what_to_look_at(desk: Client) -> None:
    assert "Nothing to learn from yet" in text_of(desk.get("/insights/"))
    make_tool(make_agent())
    make_call(make_agent(), [RIGHT], at=timezone.now() - timedelta(days=20))
    assert "Nothing was checked in the last 7 days" in text_of(desk.get("/insights/"))
    assert "Valid at first try 100%" in text_of(desk.get("/insights/?range=30d"))


def rows_of(client: Client, path: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(StringIO(b"".join(client.get(path)).decode()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("attempts", [("1", "4", "1"), ("2", "3", "2"), ("3", "1", "0")]),
        ("outcomes", [("valid", "3")]),
        ("guidance", [("hint", "1", "0"), ("corrected", "0", "0"), ("accept", "0", "0"), ("reject", "0", "0")]),
    ],
)
def test_a_table_is_a_file(worked: Client, table: str, expected: list[tuple[str, ...]]) -> None:
    rows = [tuple(row.values())[: len(expected[0])] for row in rows_of(worked, f"/insights/{table}.csv")]
    assert rows == expected
    lines = b"".join(worked.get(f"/insights/{table}.jsonl")).decode().splitlines()  # type: ignore[arg-type]
    assert [tuple(map(str, json.loads(line).values()))[: len(expected[0])] for line in lines] == expected


@pytest.mark.parametrize("table", ["failures", "tools", "guidance-time", "tokens"])
def test_files_over_time_name_their_hours(worked: Client, table: str) -> None:
    answered: Any = worked.get(f"/insights/{table}.csv?range=24h")
    assert answered["Content-Disposition"] == f'attachment; filename="{table}-24h.csv"'
    assert len(b"".join(answered).splitlines()) > 1
    assert worked.get("/insights/secrets.csv").status_code == 404
    assert worked.get(f"/insights/{table}.xlsx").status_code == 404


def test_an_address_that_cannot_be_read_makes_no_file_and_the_page_says_what_it_left_out(worked: Client) -> None:
    tool = Tool.objects.get(name="scale")
    for query, name in (("range=century", "range"), ("ragne=7d", "ragne"), ("agent=nobody", "agent"), ("by=x", "by"),
                        (f"tool={tool.pk}&version=x", "version"), ("<b>=1", "a name that is not known")):  # fmt: skip
        answered = worked.get(f"/insights/failures.csv?{query}")
        assert (answered.status_code, query) == (400, query)
        assert f"No file was made: {name} in the address cannot be read." in answered.content.decode()
        page = worked.get(f"/insights/?{query}")
        assert f"Not understood in the address, and left out: {name}." in text_of(page)
    assert "Not understood" not in text_of(worked.get(f"/insights/?range=24h&tool={tool.pk}&version=&agent=&by=tokens"))


def test_a_file_holds_what_its_page_was_cut_to(worked: Client) -> None:
    agent = make_agent("other").pk
    cut = [tuple(row.values())[:3] for row in rows_of(worked, f"/insights/attempts.csv?agent={agent}")]
    assert cut == [("1", "1", "0"), ("2", "1", "1")]
    assert worked.get(f"/insights/outcomes.csv?agent={agent}").status_code == 400, "ends are not counted by agent"


def test_no_spreadsheet_takes_a_cell_for_a_formula() -> None:
    text = "".join(csv_lines(["a"], [["=1+1"], ["+x"], ["-x"], ["@x"], ["\tx"], ["plain"], [-5]]))
    cells = [row[0] for row in csv.reader(StringIO(text))]
    assert cells == ["a", "'=1+1", "'+x", "'-x", "'@x", "'\tx", "plain", "-5"]


def test_names_of_tools_are_text(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent, "<b>x\u202e")
    make_call(agent, [WRONG, {}], tool="<b>x\u202e")
    page = desk.get("/insights/").content.decode()
    assert "<b>x" not in page
    assert "\u202e" not in page


def test_the_page_costs_the_same_however_much_there_is(worked: Client) -> None:
    asked = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            worked.get("/insights/?range=90d")
        asked.append(len(queries))
        for number in range(5):
            make_blocked(make_agent(f"agent-{number}"), tool=f"tool-{number}")
    assert asked[0] == asked[1]
    assert Rollup.objects.count() > 40


def link(page: str, words: str) -> str:
    """Give where the link leads that has these words in it, or says them to who cannot see it."""
    for found in re.findall(r"<a\b[^>]*>.*?</a>", page, flags=re.DOTALL):
        if words in " ".join(re.sub(r"<(?!a\b)[^>]*>", "", found).split()):
            return unescape(re.search(r'href="([^"]+)"', found)[1])  # type: ignore[index]
    raise AssertionError(words)


def test_each_number_of_the_board_leads_to_its_calls_each_mistake_to_its_schema(desk: Client) -> None:
    staff, now = logged_in(make_user("ada", Role.ADMIN)), timezone.now()
    make_tool(make_agent())
    make_call(make_agent(), [WRONG], at=now - timedelta(days=9))
    make_call(make_agent(), [WRONG, RIGHT], at=now - timedelta(minutes=9))
    make_call(make_agent(), [{"service": 1, "region": "eu-west-1"}], at=now - timedelta(minutes=8))
    make_blocked(at=now)
    page = staff.get("/insights/").content.decode()
    calls = staff.get(link(page, "4 failed attempts: their calls")).content.decode()
    assert len(re.findall(r'id="row-(call_\w+)"', calls)) == 2, "one failed at first, one three times"
    assert "At /region" in calls
    schema = text_of(staff.get(link(page, "/region VAL-008")))
    assert "Outputs fail at /region. It is described in line 7" in schema
    assert "To its place in the schema" not in desk.get("/insights/").content.decode(), "who may edit it"


def test_each_code_says_how_often_it_was_put_right_and_leads_to_its_calls(desk: Client) -> None:
    make_tool(make_agent())
    for outputs in ([RIGHT], [WRONG, RIGHT], [{}, RIGHT], [WRONG]):
        make_call(make_agent(), outputs)
    page = desk.get("/insights/").content.decode()
    shown = text_of(desk.get("/insights/"))
    assert "VAL-008 InvalidEnumValue 2 50%15% to 85%50%9% to 91% VAL-001 RequiredFieldMissing 1 25%" in shown
    calls = desk.get(link(page.partition("Mistakes side by side")[2], "VAL-001")).content.decode()
    assert len(re.findall(r'id="row-(call_\w+)"', calls)) == 1


def test_a_cut_by_agent_model_or_version_leaves_out_the_others(desk: Client) -> None:
    make_tool(make_agent())
    for model, outputs in (("opus", [WRONG, RIGHT]), ("haiku", [RIGHT]), (None, [RIGHT])):
        make_call(make_agent(), outputs, generation=Generation(model=model))
    every, one = (text_of(desk.get(f"/insights/?{query}")) for query in ("", "model=opus"))
    assert ("1 of 3 calls" in one, "2 of 3 calls" in every) == (False, True)
    assert "Valid at first try 0% 0 of 1 call " in one
    assert "Shown for opus alone" in one
    assert "Which guidance worked" not in one
    agent = make_agent()
    assert "2 of 3 calls" in text_of(desk.get(f"/insights/?agent={agent.pk}"))
    other = make_agent("idle")
    assert "Nothing was checked" in text_of(desk.get(f"/insights/?agent={other.pk}"))
    version = Tool.objects.get().current_version
    assert version is not None
    assert "2 of 3 calls" in text_of(desk.get(f"/insights/?tool={Tool.objects.get().pk}&version={version.pk}"))


def test_a_rate_before_that_stands_on_few_attempts_says_on_how_many(desk: Client) -> None:
    make_tool(make_agent())
    for ago in (1, 0):
        make_call(make_agent(), [WRONG, RIGHT], at=timezone.now() - timedelta(days=ago))
    assert "50% of 2 before" in text_of(desk.get("/insights/?range=24h"))


def test_what_began_is_a_mark_that_leads_to_it_and_to_the_calls_before_and_since(desk: Client) -> None:
    agent, mia, now = make_agent(), make_user("noah"), timezone.now()
    tool = make_tool(agent)
    asked = make_blocked(agent, at=now - timedelta(hours=6), generation=Generation(model="opus"))
    set_hint_from(
        answer(asked, mia, text="Write eu-west-1.", at=now - timedelta(hours=5)), mia, now=now - timedelta(hours=4)
    )
    make_call(agent, [RIGHT], at=now - timedelta(hours=4), generation=Generation(model="haiku"))
    make_tool(agent, schema={"type": "object"})
    late = make_call(agent, [WRONG], at=now)
    response = desk.get("/insights/?range=24h")
    page, text = response.content.decode(), text_of(response)
    hint, version = "Standing hint “Write eu-west-1.” of deploy", "Version 2 of deploy"
    assert f"{hint}: failed 100% (44% to 100%) before , 0% (0% to 66%) since" in text
    assert "Model haiku : failed 100% (44% to 100%) before , 0% (0% to 66%) since" in text
    assert f"{version}: failed 75% (30% to 95%) before , 0% (0% to 79%) since" in text
    assert page.count('class="plot-mark" x1="') - page.count('x1="5"') == 3, "a line for each in the plot"
    marks = page.partition('class="marks"')[2]
    assert [link(marks, words) for words in ("Standing hint", "Model", "Version")] == [
        "/hints/", "?range=24h&model=haiku", f"/tools/{tool.pk}/"
    ]  # fmt: skip
    ids = {
        words: re.findall(r'id="row-(call_\w+)"', desk.get(link(marks.partition("Version")[2], words)).content.decode())
        for words in ("%) before", "%) since")
    }
    assert ids["%) since"] == [late.public_id]
    assert asked.public_id in ids["%) before"]
    assert late.public_id not in ids["%) before"]


def test_a_hint_of_another_tool_and_one_of_another_time_are_no_marks(desk: Client) -> None:
    agent, mia, now = make_agent(), make_user("noah"), timezone.now()
    tool = make_tool(agent)
    make_tool(agent, "scale")
    for name, ago in (("deploy", timedelta(days=9)), ("scale", timedelta(hours=2))):
        given = answer(make_blocked(agent, tool=name, at=now - ago), mia, text=f"Of {name}.", at=now - ago)
        set_hint_from(given, mia, now=now - ago)
    make_call(agent, [RIGHT], at=now)
    make_tool(agent, "idle")
    make_tool(agent, "idle", schema={"type": "object"})
    text = text_of(desk.get("/insights/?range=24h"))
    assert "Standing hint “Of scale.” of scale" in text
    assert "Version 2 of idle: no attempts before, none since" in text
    assert "Standing hint" not in text_of(desk.get(f"/insights/?range=24h&tool={tool.pk}")).partition("What to fix")[2]


def test_each_mistake_of_the_plot_and_each_end_leads_to_its_calls(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    scale = make_tool(agent, "scale")
    for tool, outputs in (("deploy", [WRONG, RIGHT]), ("scale", [{}, RIGHT]), ("deploy", [RIGHT])):
        make_call(agent, outputs, tool=tool)
    page = desk.get("/insights/").content.decode()
    legend = page.partition('class="legend"')[2].partition("</ul>")[0]
    assert len(re.findall(r'id="row-call_', desk.get(link(legend, "VAL-001")).content.decode())) == 1
    ends = page.partition("How calls ended")[2]
    assert len(re.findall(r'id="row-call_', desk.get(link(ends, "3")).content.decode())) == 3
    of_one = desk.get(f"/insights/?tool={scale.pk}").content.decode().partition('class="legend"')[2]
    assert "tool=scale" in link(of_one, "VAL-001")


def test_tools_of_one_name_are_told_apart_by_their_namespaces_and_each_leads_to_its_own_calls(desk: Client) -> None:
    for name, failures in (("paris", 2), ("berlin", 1)):
        agent = make_agent(name)
        make_tool(agent)
        make_tool(agent, f"only_{name}")
        for _ in range(failures):
            make_call(agent, [WRONG])
    make_call(agent, [WRONG], tool="only_berlin")
    for namespace in ("oslo", "rome"):
        make_call(make_agent(namespace), [WRONG], tool="nobody_registered_it")
    page = desk.get("/insights/").content.decode()
    unknown = re.findall(r"\(root\) VAL-015 No such tool not registered(\w+)", text_of(desk.get("/insights/")))
    assert sorted(unknown) == ["oslo", "rome"]
    board, _, rest = page.partition("Failures by tool")
    bars, _, standings = rest.partition("Tools side by side")
    for part in (board, bars, standings):
        rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in part.split("<tr>")]
        assert [sum(f"deploy {one}" in row for row in rows) for one in ("paris", "berlin")] == [1, 1]
        assert not any("only_berlin berlin" in row for row in rows), "nobody else has the name"
    calls = desk.get(link(board, "2 failed attempts: their calls")).content.decode()
    assert len(re.findall(r'id="row-(call_\w+)"', calls)) == 2
    assert "Namespace paris" in calls

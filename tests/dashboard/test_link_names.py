"""The lists of calls for whoever hears them: one list, and no two links with the same name."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from tests.factories import RIGHT, make_agent, make_blocked

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db
NAMED = re.compile(r'class="(?:row-link|group-list)"[^>]*?aria-label="([^"]*)"', re.DOTALL)


def names(desk: Client, address: str) -> list[str]:
    return [unescape(name) for name in NAMED.findall(desk.get(address).content.decode())]


def make_rows() -> None:
    """Make a group, and calls of its tool that differ in their agent, their mistake, or nothing but their goal."""
    for goal in ("Roll out web", "Roll out shop"):
        make_blocked(context={"goal": goal})
    make_blocked(output=RIGHT | {"replicas": "many"})
    make_blocked(make_agent("other"), context={"goal": "Roll out web"})


@pytest.mark.parametrize("tab", ["open", "all"])
def test_the_rows_of_the_inbox_are_one_list_with_links_of_different_names(desk: Client, tab: str) -> None:
    make_rows()
    page = desk.get(f"/?show={tab}").content.decode()
    assert page.count('<ol class="rows">') == 1
    told = names(desk, f"/?show={tab}")
    assert len(told) == len(set(told)) == 4
    assert all(name.startswith(("deploy, ", "2 calls, listed: deploy, ")) for name in told)  # as it is seen, first


def test_a_link_says_agent_mistake_and_goal_and_the_id_where_no_goal_was_sent(desk: Client) -> None:
    make_blocked(context={"goal": "Roll out web"})
    nameless = make_blocked(make_agent("other"))
    told = names(desk, "/")
    assert "deploy, deployer, /region InvalidEnumValue, Roll out web" in told
    assert f"deploy, other, /region InvalidEnumValue, {nameless.public_id}" in told


def test_the_list_of_all_calls_tells_its_links_apart_too(desk: Client) -> None:
    make_rows()
    told = names(desk, "/calls/")
    assert len(told) == len(set(told)) == 4

"""Strings that break pages, all on one page of the desk: none becomes markup, runs, or asks for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.test_desk import Site
from tests.factories import make_agent, make_call, make_tool, make_user, submit

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.conftest import Corpus

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.corpus, pytest.mark.django_db(transaction=True)]

SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {"must": {"type": "integer"}}, "required": ["must"]}
PART: Final = 40  # strings on one call: a page shows what an operator can read, and folds the rest


def watch(page: Page, site: str) -> list[str]:
    """Collect what must not happen: dialogs, requests to elsewhere, reports of the content security policy."""
    heard: list[str] = []
    page.on("dialog", lambda dialog: (heard.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith(site) else heard.append(f"request {request.url}"))
    page.on(
        "console", lambda message: heard.append(message.text) if "Content Security Policy" in message.text else None
    )
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => console.error('Content Security Policy', e.blockedURI))"
    )
    return heard


def markup(page: Page) -> dict[str, int]:
    """Count what could only have come from a string."""
    return {
        name: page.locator(name).count()
        for name in ("script:not([src])", "img", "iframe", "object", "embed", "math", "style", "base", "marquee",
                     "[onerror]", "[onload]")
    }  # fmt: skip


def test_no_string_becomes_more_than_text(live_server: LiveServer, page: Page, corpus: Corpus) -> None:
    texts = [row["text"] for row in corpus("naughty_strings")]
    agent = make_agent()
    make_tool(agent, "naughty", SCHEMA)
    make_user("mia")
    plain = make_call(agent, [{"must": "x"}] * 3, tool="naughty", context={"goal": "plain"})
    calls = []
    for start in range(0, len(texts), PART):
        part = texts[start : start + PART]
        outputs = [{"must": part, **{text: text for text in part}}, "\n".join(part), {"must": part}]
        context = {"goal": part[0], "last_user_message": " ".join(part), **{text: text for text in part}}
        calls.append(make_call(agent, outputs, tool="naughty", context=context, session_id=f"s{start}"))
    for number, text in enumerate(text for text in texts if text.isprintable()):
        submit(agent, {}, tool=text[:300] or "-", tool_call_id=text[:200] or "-", session_id=f"t{number}")

    site = Site(live_server.url, page)
    heard = watch(page, live_server.url)
    site.log_in()
    site.open(plain)
    harmless = markup(page)
    for call in calls:
        site.open(call)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        assert markup(page) == harmless
    for tab in ("blocked", "all"):
        page.goto(f"{site.url}/?show={tab}")
        expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
        assert markup(page) == harmless
    assert heard == []


def test_the_watch_hears_a_script(live_server: LiveServer, page: Page) -> None:
    """The negative control: what a page would do that shows a string as markup."""
    heard = watch(page, live_server.url)
    page.goto(f"{live_server.url}/login/")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
    page.wait_for_timeout(500)
    assert heard
    assert markup(page)["img"] == 1

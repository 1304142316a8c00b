"""A real Chromium: the system's own, driven headless."""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import pytest
from django.core.servers.basehttp import WSGIServer
from playwright.sync_api import expect, sync_playwright

from tests.conftest import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

PROGRAMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# No sandbox, because root has none; no traffic of the browser's own, because tests talk to this machine only.
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # All pages are this machine's: no process more for each that is opened.
    "--disable-site-isolation-trials",
)
LAST_REQUESTS_SECONDS: Final = 30
IDLE_LOOKS: Final = 6  # one after the other: a request that was sent may not have been taken yet
ACTION_TIMEOUT_MS: Final = 30_000  # a page of ours answers in 0.1 s; a busy CI machine gets much more


class NewPage(Protocol):
    """`new_page(color_scheme="dark", …)` opens a page in a context of its own: own cookies, own colours."""

    def __call__(self, *, color_scheme: Literal["light", "dark"] = "light", **context: Any) -> Page: ...


# Not for the whole session: while Playwright runs, its event loop counts as running in this thread, and the tests
# of other packages that start a loop would be refused.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser of all browser tests."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    require(program, f"no Chromium on PATH ({', '.join(PROGRAMS)})")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # For the same reason Django takes this thread for asynchronous; nothing here awaits between two queries.
        patch.setitem(os.environ, "DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=ACTION_TIMEOUT_MS)
        launched = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Open pages; afterwards close them, and fail when a script of theirs raised."""
    raised: list[str] = []
    of_others = set(threading.enumerate())
    with ExitStack() as contexts:

        def open_page(*, color_scheme: Literal["light", "dark"] = "light", **context: Any) -> Page:
            opened = browser.new_context(color_scheme=color_scheme, **context)
            contexts.callback(opened.close)
            opened.set_default_timeout(ACTION_TIMEOUT_MS)
            page = opened.new_page()
            page.on("pageerror", lambda error: raised.append(str(error)))
            return page

        yield open_page
    wait_for_the_server(of_others)
    assert not raised, "\n".join(raised)


def wait_for_the_server(of_others: set[threading.Thread]) -> None:
    """Let the server finish what pages asked last: the tables are emptied next, and must not be locked."""
    # A connection that an earlier test left open keeps its thread; waiting for it took every later test half a minute.
    end, idle = time.monotonic() + LAST_REQUESTS_SECONDS, 0
    while idle < IDLE_LOOKS and time.monotonic() < end:
        is_busy = any(map(answers_a_page, set(threading.enumerate()) - of_others))
        idle = 0 if is_busy else idle + 1
        time.sleep(0.02)


def answers_a_page(thread: threading.Thread) -> bool:
    """Tell a thread of Django's server from one that a test's other servers keep for an open connection."""
    return isinstance(getattr(getattr(thread, "_target", None), "__self__", None), WSGIServer)


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page in light colours."""
    return new_page()


@pytest.fixture
def dark_page(new_page: NewPage) -> Page:
    """A page in dark colours."""
    return new_page(color_scheme="dark")

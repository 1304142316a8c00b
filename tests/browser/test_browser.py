"""The browser itself: when these fail, no other browser test means anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SAYS_ITS_COLOURS = """data:text/html,<title>here</title><p id=scheme></p><script>
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    document.getElementById('scheme').textContent = dark ? 'dark' : 'light';
</script>"""


def test_a_page_opens_and_runs_its_script_in_light_colours(page: Page) -> None:
    page.goto(SAYS_ITS_COLOURS)
    assert page.title() == "here"
    assert page.locator("#scheme").inner_text() == "light"


def test_a_dark_page_prefers_dark_colours(dark_page: Page) -> None:
    dark_page.goto(SAYS_ITS_COLOURS)
    assert dark_page.locator("#scheme").inner_text() == "dark"

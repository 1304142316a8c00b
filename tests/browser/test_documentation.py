"""Every page of the documentation, opened once at two widths: nothing sticks out, complains or leads nowhere."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urldefrag

import pytest

from tests.browser.conftest import NewPage
from tests.browser.test_every_page import Watch
from tests.serving.threads import served

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE: Final = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
LINKS: Final = "() => [...document.querySelectorAll('a[href]')].map(link => link.href)"
NAMES: Final = "() => [...document.querySelectorAll('[id]')].map(found => found.id)"
BROKEN: Final = "() => [...document.images].filter(image => !image.naturalWidth).map(image => image.src)"


class Silent(SimpleHTTPRequestHandler):
    """Serve files, and say nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site)))
    with served(server):
        yield f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.soak
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_of_the_documentation_is_whole(site: Path, address: str, new_page: NewPage, width: int) -> None:
    page = new_page(viewport={"width": width, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    watch = Watch(page, address)
    names: dict[str, set[str]] = {}
    links: set[tuple[str, str]] = set()
    wide: dict[str, int] = {}
    for file in sorted(site.rglob("*.html")):
        path = str(file.relative_to(site))
        answer = page.goto(address + path)
        assert answer is not None
        assert answer.status == 200, path
        assert page.evaluate(BROKEN) == [], path
        heading = page.locator("h1").first
        assert heading.is_visible(), path
        assert heading.inner_text().strip("¶ "), path
        if over := page.evaluate(WIDE):
            wide[path] = over
        names[path] = set(page.evaluate(NAMES))
        links |= {(path, link) for link in page.evaluate(LINKS) if link.startswith(address)}
    assert wide == {}
    assert (watch.complaints, watch.strangers) == ([], [])
    assert len(names) >= 15
    assert len(links) > 500
    assert [where for where in sorted(links) if not leads_somewhere(site, names, where[1].removeprefix(address))] == []


def leads_somewhere(site: Path, names: dict[str, set[str]], link: str) -> bool:
    path, name = urldefrag(link)
    target = "index.html" if path in ("", ".") else unquote(path)
    if target not in names:
        return (site / target).is_file()
    return not name or unquote(name) in names[target]

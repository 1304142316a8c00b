"""The inbox in a real browser: what comes over the wire, when it is seen, and whether anything jumps."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from shutil import which
from time import perf_counter
from typing import Any

from benchmarks.report import Goal, duration, table
from benchmarks.service import Site, embedded
from benchmarks.service_rows import Effort
from tests.browser.conftest import ARGUMENTS, PROGRAMS
from tests.serving.desk import Desk

CALLS, MOST_CALLS = 300, 5_000  # Blocked: an ordinary bad day, and the worst
LOOKS = 40
BYTES, SHIFT, SECONDS = 100_000, 0.0, 0.1
WATCHED_MS = 7_000  # two polls of the page
SEEN = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  shift: window.shifts.reduce((sum, value) => sum + value, 0),
})"""
WATCH_SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.shifts.push(entry.value)))
    .observe({ type: "layout-shift", buffered: true });
"""


@dataclass(frozen=True, slots=True)
class Look:
    """Hold what one look at the page took."""

    paint: float  # seconds
    shift: float
    transferred: int  # bytes
    requests: int


def inbox_document(effort: Effort) -> str:
    """Measure and write the whole report."""
    conditions = (
        f'`make bench ARGS="--only desk"` on {datetime.now(UTC):%Y-%m-%d}; load '
        f"of the machine: {os.getloadavg()[0]:.1f}. "
        "The service runs on SQLite in one process, the browser on the same machine."
    )
    sections = [
        "# The inbox",
        conditions,
        f"## The inbox in Chromium\n\n{in_a_browser(effort)}",
        f"## The inbox with a long queue\n\n{with_a_long_queue(effort)}",
    ]
    return "\n\n".join(sections) + "\n"


def in_a_browser(effort: Effort) -> str:
    """Look at the inbox, with nothing cached and again, while calls come in."""
    program = next(filter(None, map(which, PROGRAMS)), None)
    if program is None:
        return "Not measured: no Chromium here."
    with embedded() as site:
        site.block_calls(max(CALLS // effort.share // len(site.keys), 1))
        first, again = _look(site, program)
    rows = [
        (f"with {len(site.blocked)} Blocked calls, nothing cached", *_cells(first)),
        ("again, with what is cached; a call comes meanwhile", *_cells(again)),
    ]
    return table(("the inbox", "first paint", "layout shift", "transferred", "requests"), rows)


def with_a_long_queue(effort: Effort) -> str:
    """Ask for the page as one operator does, with thousands of Blocked calls."""
    with embedded() as site:
        site.block_calls(1)
        number = MOST_CALLS // effort.share
        site.service.manage(
            "shell", "--verbosity", "0", "--command", f"from benchmarks.full_queue import *; plant({number})"
        )
        desk = Desk(site.service)
        desk.log_in()
        rows = [
            (path, *_timed(desk, path, looks=LOOKS // min(effort.share, LOOKS // 4)))
            for path in ("/", "/?show=mine", "/?show=all", "/?tool=book_flight&code=VAL-008")
        ]
    return f"{number:,} calls are Blocked.\n\n{table(('page', 'p50', 'p95'), rows)}"


def _look(site: Site, program: str) -> tuple[Look, Look]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.add_init_script(WATCH_SHIFTS)
        page.goto(f"{site.service.url}/login/")
        page.get_by_label("User name").fill("operator")
        page.get_by_label("Password").fill(site.service.operator_password)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("#queue")
        network = context.new_cdp_session(page)
        network.send("Network.enable")
        network.send("Network.clearBrowserCache")
        first = _seen(page, network, site)
        again = _seen(page, network, site, watched=WATCHED_MS)
        browser.close()
    return first, again


def _seen(page: Any, network: Any, site: Site, *, watched: int = 0) -> Look:
    sizes: list[int] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.goto(f"{site.service.url}/", wait_until="load")
    page.wait_for_timeout(500)
    number, transferred = len([size for size in sizes if size]), sum(sizes)
    if watched:
        site.block_calls(1)
        page.wait_for_timeout(watched)
    seen = page.evaluate(SEEN)
    return Look(seen["paint"] / 1_000, seen["shift"], transferred, number)


def _cells(look: Look) -> tuple[str, ...]:
    return (
        duration(look.paint),
        f"{look.shift:.3f}: {Goal(SHIFT, '').verdict(look.shift)}",
        f"{look.transferred / 1_000:.1f} kB: {Goal(BYTES / 1_000, ' kB').verdict(look.transferred / 1_000)}",
        str(look.requests),
    )


def _timed(desk: Desk, path: str, *, looks: int) -> tuple[str, str]:
    times = []
    for _ in range(looks + 1):
        started = perf_counter()
        desk.get(path)
        times.append(perf_counter() - started)
    cuts = statistics.quantiles(times[1:], n=20)
    return duration(cuts[9]), f"{duration(cuts[18])}: {Goal(SECONDS * 1_000, ' ms').verdict(cuts[18] * 1_000)}"

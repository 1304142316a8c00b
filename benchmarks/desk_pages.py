"""Time every page of the desk with 1,000 calls and with many, into RESULTS.md.

`python -m benchmarks.desk_pages --calls 1000000 --folder FOLDER` keeps the databases in FOLDER and takes those that are
there. Pages come from the list of addresses: a new one is measured unasked.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from benchmarks.report import FOLDER, keep, machine, table

FEW, MANY, QUICK_CALLS = 1_000, 100_000, 2_000
DAYS = 60
WAITING = 267  # in both: 200 of them for a person
ROUNDS, QUICK_ROUNDS = 40, 2
MOST_SECONDS = 0.1  # p95 of a page
MOST_GROWTH = 1.5  # of p95, from few calls to many
ADMIN = "benchmark-admin"
# More than one look of the same address.
LOOKS = {
    "": ("", "?show=mine", "?show=agent", "?show=answered", "?show=all", "?show=snoozed", "?q=deploy", "?tool=deploy"),
    "audit/": ("", "?actor=seed-operator", "?event=guidance.given&door=dashboard", "?since=2026-11-01&door=api"),
    "audit.<slug:kind>": ("?event=call.cancelled&actor=seed-operator",),
    "calls/": ("", "?state=blocked", "?q=nothing", "?tool=deploy&code=VAL-008", "?since=2026-11-01&kind=tool_call"),
    "calls.<slug:kind>": ("?state=blocked",),
    "insights/": ("?range=24h", "?range=7d", "?range=30d", "?range=90d", "?range=30d&tool={tool}"),
    "tools/": ("?range=7d", "?range=90d"),
    "tools/<int:pk>/": ("?range=7d", "?range=90d"),
    "agent-responses/": ("", "?status=MALFORMED"),
}


class Timing(NamedTuple):
    """Hold what a page took: its bytes, and the seconds of each look."""

    size: int
    seconds: list[float]


def main() -> None:
    """Measure two sizes, each in a process of its own, and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desk_pages", description=__doc__)
    parser.add_argument("--calls", type=int, default=MANY)
    parser.add_argument("--folder", type=Path, help="where the databases are kept; default: nowhere")
    parser.add_argument("--output", type=Path, default=FOLDER / "RESULTS.md")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(QUICK_ROUNDS if options.quick else ROUNDS)))
    else:
        report(options.output, folder=options.folder, calls=options.calls, quick=options.quick)


def report(output: Path, *, folder: Path | None = None, calls: int = MANY, quick: bool = False) -> None:
    """Seed what is not there, measure, and write the table."""
    calls = min(calls, QUICK_CALLS) if quick else calls
    with tempfile.TemporaryDirectory() as nowhere:
        kept = folder or Path(nowhere)
        few, many = (_measured(kept / f"calls-{number}", number, quick=quick) for number in (FEW, calls))
    text = _document(few, many, calls)
    keep(text, output)
    print(text)


def measure(rounds: int) -> dict[str, Timing]:
    """Ask for every page several times, here and now; gives none of a page that does not open.

    Processor time: the database is in this process, and what else runs on the machine is no page's cost.
    """
    import gc
    import logging

    import django

    django.setup()
    logging.disable(logging.CRITICAL)
    from django.contrib.auth.models import User
    from django.test import Client
    from django.utils import timezone

    from retrycontract.store.models import Door
    from retrycontract.usecases.answers.reuse_answers import save_reply
    from retrycontract.usecases.notify.tend_endpoint import add_endpoint
    from retrycontract.usecases.people.admit import Role, give_role

    operator, _ = User.objects.get_or_create(username=ADMIN)
    give_role(operator, Role.ADMIN)
    now = timezone.now()
    reply = save_reply(operator, "Region", "Use eu-west-1.", now=now)
    endpoint, _ = add_endpoint("https://hooks.example/", [], now=now, actor=ADMIN, door=Door.COMMAND)
    client = Client(headers={"host": "localhost"})
    client.force_login(operator)
    found: dict[str, Timing] = {}
    for name, path in _pages({"int:reply_id": str(reply.pk), "slug:endpoint_id": endpoint.public_id}):
        answered: Any = client.get(path)  # the first look compiles templates and opens the file
        gc.freeze()  # as the service does with what it loaded
        if answered.status_code == 200 and not answered.get("Content-Type", "").startswith("image/"):
            size = len(b"".join(answered))
            found[name] = Timing(size, [_seconds(client, path) for _ in range(rounds)])
        elif answered.status_code not in (302, 405):  # a form that only sends, or a way on
            found[f"{name} answers {answered.status_code}"] = Timing(0, [])
    return found


def _seconds(client: Any, path: str) -> float:
    started = process_time()
    b"".join(client.get(path))
    return process_time() - started


def _pages(made: dict[str, str]) -> Iterator[tuple[str, str]]:
    """List the pages with their looks: how they are called, and an address that is there."""
    from django.urls import URLPattern, get_resolver

    known = _known() | made
    (desk,) = (part for part in get_resolver().url_patterns if getattr(part, "app_name", None) == "dashboard")
    for pattern in desk.url_patterns:  # type: ignore[union-attr]
        assert isinstance(pattern, URLPattern)
        route = str(pattern.pattern)
        path = route
        for name, value in known.items():
            path = path.replace(f"<{name}>", value)
        for look in LOOKS.get(route, ("",)):
            yield f"/{route}{look}", f"/{path}{look.format(tool=known['int:pk'])}"


def _known() -> dict[str, str]:
    """Give what addresses are filled with: the newest Blocked call, or the newest of all, and its tool."""
    from retrycontract.store.models import Call

    calls = Call.objects.filter(tool__isnull=False).order_by("-pk")
    call = calls.filter(state="blocked").first() or calls.first()
    assert call is not None, "nothing was seeded"
    return {
        "slug:public_id": call.public_id, "int:pk": str(call.tool_id), "int:number": "1", "slug:table": "failures",
        "slug:kind": "csv", "int:agent_id": str(call.agent_id), "int:key_id": "1", "slug:message_id": "none",
    }  # fmt: skip


def _measured(folder: Path, calls: int, *, quick: bool) -> dict[str, Timing]:
    environment = os.environ | {
        "RETRYCONTRACT_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "retrycontract.settings",
    }  # fmt: skip
    if not folder.exists():
        folder.mkdir(parents=True)
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True)
        seed = ["seed", "--calls", str(calls), "--days", str(DAYS), "--waiting", str(WAITING - _by_chance(calls))]
        subprocess.run([*manage, *seed], env=environment, check=True)
    subprocess.run([sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], env=environment, check=True)
    command = [sys.executable, "-m", "benchmarks.desk_pages", "--measure", str(folder), *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return {name: Timing(*found) for name, found in json.loads(done.stdout.splitlines()[-1]).items()}


def _by_chance(calls: int) -> int:
    """Give how many of so many calls wait anyway: six of a thousand of the last two days."""
    return min(calls * 2 // DAYS * 6 // 1000, WAITING)


def _document(few: dict[str, Timing], many: dict[str, Timing], calls: int) -> str:
    rows = [_row(name, few.get(name), timing) for name, timing in many.items()]
    head = ("page", f"p50, {FEW:,}", f"p95, {FEW:,}", f"p50, {calls:,}", f"p95, {calls:,}", "grows", "bytes grow", "")
    return f"""\
# The pages of the desk

`python -m benchmarks.desk_pages --calls {calls}` on {datetime.now(UTC):%Y-%m-%d}: {machine()}; load of
the machine: {os.getloadavg()[1]:.1f}.

Each page is asked for {ROUNDS} times in one process, from the request to the last byte: with {FEW:,} planted calls
and with {calls:,} of {DAYS} days, of which about {WAITING} wait for a person or their agent in both, in SQLite;
processor time. The goal: p95 within {MOST_SECONDS * 1e3:g} ms, and within {MOST_GROWTH:g} times of that with {FEW:,},
but for pages that have more to show.

{table(head, rows)}
"""


def _row(name: str, few: Timing | None, many: Timing) -> tuple[str, ...]:
    if not many.seconds or few is None:
        return (f"`{name}`", *[""] * 6, "not measured")
    growth, larger = _p95(many.seconds) / _p95(few.seconds), many.size / max(few.size, 1)
    over = [
        *(["**slow**"] if _p95(many.seconds) > MOST_SECONDS else []),
        *(["**grows**"] if growth > MOST_GROWTH * max(larger, 1) else []),
    ]
    figures = (one for each in (few, many) for one in (statistics.median(each.seconds), _p95(each.seconds)))
    times = (f"{one * 1e3:.1f} ms" for one in figures)
    return (f"`{name}`", *times, f"{growth:.2f}x", f"{larger:.2f}x", ", ".join(over))


def _p95(times: list[float]) -> float:
    return sorted(times)[min(int(len(times) * 0.95), len(times) - 1)]


if __name__ == "__main__":
    main()

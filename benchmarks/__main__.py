"""Run every benchmark and write RESULTS.md here: `make bench`, or quickly `ARGS=--quick`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import gateway_rows, inbox_page, proxy_rows, rows, service_rows
from benchmarks.clock import QUICK, THOROUGH
from benchmarks.report import FOLDER, HISTORY, document, keep, remember, service_document, unreached

CONTRACT, SERVICE, DESK, PROXY, GATEWAY = "contract", "service", "desk", "proxy", "gateway"
PEERS_TIME = 600  # seconds that the peers may take together


def main() -> None:
    """Measure and report; `--quick` proves that everything runs, its figures mean nothing."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round of everything, to see that it runs")
    parser.add_argument("--peers", type=Path, help="the Python of the environment in which the peers are installed")
    parser.add_argument(
        "--only",
        choices=(CONTRACT, SERVICE, DESK, PROXY, GATEWAY),
        help="measure one part; the others stay as they were written",
    )
    parser.add_argument("--output", type=Path, default=FOLDER / "RESULTS.md")
    options = parser.parse_args()
    parts: list[str] = []
    if options.only in (None, CONTRACT):
        peers = _peers(options.peers, quick=options.quick)
        parts.append(document(_sections(peers, quick=options.quick), "make bench", peers.get("versions", {})))
    if options.only in (None, SERVICE):
        parts.append(service_document(_service_sections(quick=options.quick), "make bench"))
    if options.only in (None, DESK):
        parts.append(inbox_page.inbox_document(service_rows.QUICK if options.quick else service_rows.THOROUGH))
    if options.only in (None, PROXY):
        effort = service_rows.QUICK if options.quick else service_rows.THOROUGH
        parts.append(proxy_rows.proxy_document(effort, options.peers))
    if options.only in (None, GATEWAY):
        parts.append(gateway_rows.gateway_document(service_rows.QUICK if options.quick else service_rows.THOROUGH))
    for part in parts:
        keep(part, options.output)
        print(part)
        if not options.quick:
            remember(part, HISTORY)
    missed = [row for part in parts for row in unreached(part)]
    print(f"Goals that are not reached: {len(missed)}", *missed, sep="\n- ")


def _sections(peers: dict[str, Any], *, quick: bool) -> list[tuple[str, str]]:
    effort = QUICK if quick else THOROUGH
    beside = rows.beside_peers(effort, peers) if "timings" in peers else f"Not measured: {peers['missing']}."
    return [
        ("Feedback", rows.feedback(effort)),
        ("Recorded calls", rows.recorded_calls(effort)),
        ("Peers", f"{beside}\n\n{rows.what_is_told(peers)}"),
        ("Valid calls", rows.verdicts(effort)),
        ("Large arguments", rows.large_arguments(effort)),
        ("Formatting and aggregating", rows.reporting(effort)),
        ("Tracking", rows.tracking(effort)),
        ("Registration", rows.registration(effort)),
        ("Growth", rows.growth(effort)),
        ("Hostile calls", rows.hostile_calls(effort)),
        ("Ordinary inputs of the sanitiser", rows.ordinary_inputs(effort)),
        ("Worst inputs of the sanitiser", rows.worst_inputs(effort)),
    ]


def _service_sections(*, quick: bool) -> list[tuple[str, str]]:
    effort = service_rows.QUICK if quick else service_rows.THOROUGH
    sections = [("One process on SQLite", service_rows.at_the_door(effort))]
    missing = service_rows.missing_servers()
    through = f"Not measured: {missing}." if missing else service_rows.through_celery(effort)
    return [*sections, ("Celery, Redis and PostgreSQL", through)]


def _peers(python: Path | None, *, quick: bool) -> dict[str, Any]:
    """Run the peers in their own environment; what keeps them from running is a result, too."""
    if python is None or not python.exists():
        return {"missing": "the peers are not installed"}
    command = [str(python), str(FOLDER / "peers.py"), *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PEERS_TIME, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(getattr(error, "stderr", ""), file=sys.stderr)
        return {"missing": "the peers do not run here"}
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


if __name__ == "__main__":
    main()

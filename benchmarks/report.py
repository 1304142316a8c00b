"""Write what was measured into RESULTS.md, part by part: tables of ratios, and what they were measured on."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
HISTORY = FOLDER / "history.csv"
MISSED = "**no**"
GOAL = re.compile(r"[<>]= [0-9.]+\S*(?: \S+)?: (?:yes|\*\*no\*\*)")
RATIO = re.compile(r"[0-9]+\.[0-9]{2}x")
PART = re.compile(r"^(?=# )", re.MULTILINE)
OUR_PACKAGES = ("jsonschema-rs", "jsonschema", "google-re2", "regex")


@dataclass(frozen=True, slots=True)
class Goal:
    """Hold the most that a figure may be."""

    most: float
    unit: str = "x"

    def verdict(self, figure: float) -> str:
        """Say whether the figure is within the goal."""
        return f"<= {self.most:g}{self.unit}: {'yes' if figure <= self.most else MISSED}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def duration(seconds: float) -> str:
    """Write seconds in the unit that reads best."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


def ratio(figure: float) -> str:
    """Write how many times as much."""
    return f"{figure:.2f}x"


def keep(part: str, results: Path) -> None:
    """Put a part into the results, in the place of the one that has its title."""
    present = results.read_text(encoding="utf-8") if results.exists() else ""
    parts = {each.partition("\n")[0]: each for each in [*PART.split(present), part] if each.strip()}
    results.write_text("\n".join(f"{each.rstrip()}\n" for each in parts.values()), encoding="utf-8")


def unreached(part: str) -> list[str]:
    """List the rows of a part that miss a goal: what was measured, and by how much."""
    rows = (cells for cells in map(_cells, part.splitlines()) if any(MISSED in cell for cell in cells))
    return [f"{what}: {'; '.join(cell for cell in rest if cell)}" for what, *rest in rows]


def remember(part: str, history: Path) -> None:
    """Append every row of a part that has a goal: when, at which commit and load, what, and its ratios."""
    goals = [cells for cells in map(_cells, part.splitlines()) if any(GOAL.search(cell) for cell in cells)]
    commit = subprocess.run(
        [shutil.which("git") or "git", "rev-parse", "--short", "HEAD"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    is_new = not history.exists()
    with history.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(("date", "commit", "load", "row", "ratios"))
        for what, *rest in goals:
            ratios = " ".join(RATIO.findall(GOAL.sub("", " ".join(rest))))
            if ratios:
                writer.writerow((f"{datetime.now(UTC):%Y-%m-%d}", commit, f"{os.getloadavg()[2]:.1f}", what, ratios))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def document(sections: Sequence[tuple[str, str]], command: str, peers: dict[str, str]) -> str:
    """Put the sections below the conditions, and the notes below the sections."""
    return _document(["# The contract", _conditions(command, peers)], sections, "NOTES.md")


def service_document(sections: Sequence[tuple[str, str]], command: str) -> str:
    """Put the service's sections below what they were measured on, and their notes below."""
    conditions = f"""\
`{command}` on {datetime.now(UTC):%Y-%m-%d}: {machine()}; load of the machine while it ran: {os.getloadavg()[2]:.1f}.

Floors and ours are answered by the same processes, in turns; each ratio is the median over the rounds, each turn beside
the floor's of the same round. What asks runs on the same machine and takes its share."""
    return _document(["# The service", conditions], sections, "SERVICE-NOTES.md")


def _document(parts: list[str], sections: Sequence[tuple[str, str]], notes: str) -> str:
    parts += [f"## {title}\n\n{text}" for title, text in sections]
    noted = (FOLDER / notes).read_text(encoding="utf-8").strip()
    return "\n\n".join([*parts, f"## Notes\n\n{noted}"]) + "\n"


def machine() -> str:
    """Name what was measured on."""
    return f"{os.cpu_count()} cores, {_processor()}, Python {platform.python_version()}, {platform.system()}"


def _conditions(command: str, peers: dict[str, str]) -> str:
    ours = {name: importlib.metadata.version(name) for name in OUR_PACKAGES}
    return f"""\
`{command}` on {datetime.now(UTC):%Y-%m-%d}: {machine()}.
Ours: {_listed(ours)}. Peers: {_listed(peers) or "not installed"}. Load of the machine: {os.getloadavg()[2]:.1f}.

Each row is measured in turns with its floor, in one process and without the garbage collector, peers in a process of
their own. Times are processor time of the best round, the median stands in brackets; ratios are of best rounds."""


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())

"""The documentation: its site is whole and fetches nothing, and the tutorial does what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.serving.desk import Desk
from tests.serving.service import Service
from tests.serving.threads import eventually

ROOT: Final = Path(__file__).resolve().parent.parent
TUTORIAL: Final = (ROOT / "docs" / "tutorial.md").read_text()


def nav() -> list[str]:
    text = re.sub(r"\n +\w+: !!python.*", "", (ROOT / "mkdocs.yml").read_text())
    found = []
    for section in yaml.safe_load(text)["nav"]:
        for pages in section.values():
            found += [pages] if isinstance(pages, str) else [path for page in pages for path in page.values()]
    return found


def test_every_document_has_its_place_in_the_site() -> None:
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in nav() if not name.startswith("reference/")} == written


@pytest.mark.soak
def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    pages = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}
    assert len(pages) >= len(nav())
    loading = re.compile(r'<(?:script|img|iframe|link)[^>]+(?:src|href)="((?:https?:)?//[^"]+)"')
    assert {name: loading.findall(text) for name, text in pages.items() if loading.search(text)} == {}


@pytest.mark.soak
def test_the_references_hold_what_there_is(site: Path) -> None:
    api, python = ((site / "reference" / name).read_text() for name in ("api.html", "python.html"))
    for path in ("POST /api/v1/calls", "GET /api/v1/calls/{call_id}/wait"):
        assert path in api
    public = re.findall(r"^(\w+)\(", (ROOT / "docs" / "public-api.txt").read_text().split("\n# ")[0], re.MULTILINE)
    assert [name for name in public if f">{name}<" not in python and f".{name}" not in python] == []


@pytest.mark.soak
def test_models_are_told_what_to_read(site: Path) -> None:
    lines = (site / "llms.txt").read_text().splitlines()
    assert lines[0] == "# retrycontract"
    linked = re.findall(r"\]\(([^)]+)\)", "\n".join(lines))
    assert len(linked) == len(nav())
    assert [name for name in linked if not (site / name).is_file()] == []


@pytest.mark.soak
def test_the_bill_of_materials_names_every_package_of_the_service(site: Path, tmp_path: Path) -> None:
    program = Path((site.parent / "python").read_text()).with_name("cyclonedx-py")
    made = subprocess.run(
        [program, "requirements", ROOT / "requirements.lock"], capture_output=True, text=True, check=True
    )
    named = set(re.findall(r'"purl": "pkg:pypi/([\w.-]+)@', made.stdout))
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert pinned
    assert pinned - named == set()


@pytest.mark.soak
def test_the_tutorial_does_what_it_says(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    monkeypatch.setenv("RETRYCONTRACT_URL", service.url)
    monkeypatch.setenv("RETRYCONTRACT_API_KEY", service.new_key("tutorial"))
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    names: dict[str, Any] = {}
    desk = Desk(service)
    desk.log_in()
    with ThreadPoolExecutor(1) as agents:
        for block in blocks:
            running = agents.submit(
                exec, compile(textwrap.dedent(block), "docs/tutorial.md", "exec", dont_inherit=True), names
            )
            if "settle" in block:
                eventually(lambda: running.done() or calls_on(desk), within=60)  # noqa: B023 - asked before the next
                assert not running.done(), running.result()
                [call_id] = calls_on(desk)
                right = '{"origin": "ZRH", "destination": "LHR", "cabin": "business"}'
                desk.answer(call_id, decision="corrected", arguments=right)
            running.result(60)
    assert names["outcome"].arguments == {"origin": "ZRH", "destination": "LHR", "cabin": "business"}
    names["client"].close()


def calls_on(desk: Desk) -> set[str]:
    return set(re.findall(r"/calls/([\w-]+)/", desk.get("/?q=book_flight&agent=tutorial")))


def test_the_commands_of_the_tutorial_are_there() -> None:
    from retrycontract.cli.program import COMMANDS

    said = re.findall(r"retrycontract ([a-z-]+)", "\n".join(re.findall(r"```console\n(.*?)```", TUTORIAL, re.DOTALL)))
    assert said
    assert set(said) <= set(COMMANDS)
    assert shutil.which("bash")

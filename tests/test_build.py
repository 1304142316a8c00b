"""The build: pins, tracked files, make targets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import require

ROOT: Final = Path(__file__).resolve().parent.parent
RUNTIME: Final = "requirements.lock"
DEVELOPMENT: Final = "requirements-dev.lock"
PINNED: Final = re.compile(r"[a-z0-9-]+==[0-9][\w.+!]*( ; [^\\]+)?")
HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
# Written apart, so that this file passes its own test.
REGISTRIES: Final = tuple(
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("unpkg", "com"),
        ("jsdelivr", "net"),
        ("deb", "debian", "org"),
        ("proxy", "golang", "org"),
        ("index", "crates", "io"),
    )
)
# Where a machine keeps its checkouts, its superuser's files and its packages: no reader has those paths.
PLACES_OF_ONE_MACHINE: Final = re.compile(r"(?<![\w.~/-])/(?:root|work|opt)/[\w.]")
README_COMMAND: Final = re.compile(r"(?:^|`|&& |\$ )make ([a-z][\w-]*)", re.MULTILINE)
CODE: Final = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
TARGET: Final = re.compile(r"^([a-z][\w-]*):(?!=)", re.MULTILINE)


def entries_of(lock: str) -> dict[str, list[str]]:
    """Requirement -> its hash options."""
    joined = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", "\t")
    rows = [[part.strip() for part in line.split("\t")] for line in joined.splitlines()]
    return {row[0]: row[1:] for row in rows}


def pins_of(lock: str) -> dict[str, str]:
    requirements = map(Requirement, entries_of(lock))
    return {canonicalize_name(found.name): str(found.specifier).removeprefix("==") for found in requirements}


def declared(*, development: bool) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    texts = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["service"]]
    if development:
        texts += project["dependency-groups"]["dev"]
    return [Requirement(text) for text in texts]


def required_by(package: str, extras: set[str]) -> list[Requirement]:
    """Give what an installed package needs here, with these extras."""
    required = [Requirement(text) for text in metadata.requires(package) or ()]
    return [
        requirement
        for requirement in required
        if not requirement.marker or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def tracked_texts() -> dict[str, str]:
    """What is committed or about to be, without binary files."""
    git = shutil.which("git")
    require(git and (ROOT / ".git").exists(), "no git checkout: what is tracked is unknown")
    listing = subprocess.run(
        [str(git), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    contents = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    return {name: content.decode("utf-8", "replace") for name, content in contents.items() if b"\0" not in content}


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_every_locked_package_has_one_version_and_its_hashes(lock: str) -> None:
    entries = entries_of(lock)
    assert [entry for entry in entries if not PINNED.fullmatch(entry)] == []
    assert [entry for entry, hashes in entries.items() if not hashes] == []
    assert [option for hashes in entries.values() for option in hashes if not HASH.fullmatch(option)] == []
    assert len(pins_of(lock)) == len(entries)


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_a_lock_holds_no_address(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize(("lock", "development"), [(RUNTIME, False), (DEVELOPMENT, True)])
def test_a_lock_answers_every_dependency_of_the_project_and_of_its_packages(lock: str, development: bool) -> None:
    pins, asked, unanswered = pins_of(lock), set(), set()
    wanted = declared(development=development)
    while wanted:
        requirement = wanted.pop()
        asked.add(str(requirement))
        name = canonicalize_name(requirement.name)
        if name not in pins or not requirement.specifier.contains(pins[name]):
            unanswered.add(str(requirement))
            continue
        wanted += [found for found in required_by(name, requirement.extras) if str(found) not in asked]
    assert unanswered == set(), "run `make lock`"


def test_development_runs_on_the_versions_of_the_service() -> None:
    development = entries_of(DEVELOPMENT)
    assert {entry: development.get(entry) for entry in entries_of(RUNTIME)} == entries_of(RUNTIME)


def test_no_tracked_file_names_a_package_registry() -> None:
    naming = [
        f"{name}: {registry}" for name, text in tracked_texts().items() for registry in REGISTRIES if registry in text
    ]
    assert naming == []


def test_no_tracked_file_holds_a_path_of_one_machine() -> None:
    holding = [
        f"{name}: {text[found.start() : found.start() + 40]!r}"
        for name, text in tracked_texts().items()
        for found in PLACES_OF_ONE_MACHINE.finditer(text)
    ]
    assert holding == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /" + "work/main/README.md", True),
        ('"/' + 'root/.cache"', True),
        ("PATH=/" + "opt/wheels", True),
        ("/home/ana/work/notes.txt", False),
        ("https://example.org/work/1", False),
        ("docs/work/plan.md", False),
        ("/api/v1/root/", False),
    ],
)
def test_paths_of_one_machine_are_told_from_other_paths(text: str, found: bool) -> None:
    assert bool(PLACES_OF_ONE_MACHINE.search(text)) == found


def test_the_makefile_has_every_target_that_the_documents_name() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    documents = [path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if path.name != "CHANGELOG.md"]
    missing = [
        f"{path.name}: make {target}"
        for path in documents
        for code in CODE.findall(path.read_text(encoding="utf-8"))
        for target in README_COMMAND.findall(code)
        if target not in targets
    ]
    assert {"run", "test", "check", "browser", "lock", "clean", "help"} <= targets
    assert missing == []


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile", "docs/install.md"])
def test_a_lock_is_installed_as_it_stands_and_nothing_is_resolved_anew(name: str) -> None:
    """An older pip takes the newest `coverage` for `coverage[toml]`, though it is pinned, and finds no hash of it."""
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "--require-hashes" in line]
    assert lines
    assert [line for line in lines if "--no-deps --require-hashes" not in line] == []

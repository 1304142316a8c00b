"""The shape of the code: who may import whom, and how modules look."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grimp
import pytest

import retrycontract

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("retrycontract", "dashboard", "worker")
MAX_LINES: Final = 400  # 300 is the wish; beyond this a module holds two subjects
EMPTY_NAMES: Final = frozenset(
    {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"},
)
SERVER_PACKAGES: Final = (
    "django",
    "ninja",
    "celery",
    "kombu",
    "redis",
    "pydantic",
    "uvicorn",
    "structlog",
    "cryptography",
)
# pydantic describes an agent's functions as tools, where it is installed.
AGENTS_CLOSED: Final = tuple(name for name in SERVER_PACKAGES if name != "pydantic")
# What import-linter cannot say: a submodule of a package that is otherwise allowed. Holds for indirect imports too.
CLOSED_DOORS: Final = {
    "retrycontract.contract": ("urllib.request", "urllib.error", "urllib.robotparser"),
    "retrycontract.front.waiting": ("django.db", "django.contrib", "ninja"),
    "retrycontract.front.bridge": ("django.db", "django.contrib", "ninja"),
    "retrycontract.front.streaming": ("django.db", "django.contrib", "ninja"),
    "retrycontract.in_process": SERVER_PACKAGES,
    "retrycontract.client": AGENTS_CLOSED,
    "retrycontract.loops": AGENTS_CLOSED,
    # Which serves both.
    "retrycontract.mcp": tuple(name for name in AGENTS_CLOSED if name != "uvicorn"),
    "retrycontract.proxy": tuple(name for name in AGENTS_CLOSED if name != "uvicorn"),
}


def lint_imports(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache", *chosen],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def sources(*folders: str) -> list[Path]:
    return [
        path.relative_to(ROOT)
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts
    ]


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Every dotted name that may be a module: `from django import db` gives django and django.db."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str() as module, names=names):
                yield module
                yield from (f"{module}.{name.name}" for name in names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def closed_doors_opened(source: str, closed: Iterable[str]) -> list[str]:
    names = imported_names(ast.parse(source))
    return [name for name in names if any(is_within(name, door) for door in closed)]


@pytest.fixture(scope="session")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def copied_code(folder: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_nobody_imports_what_its_layer_may_not() -> None:
    run = lint_imports(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


# A contract, a module that is added or lengthened, and the line in it that breaks the contract.
BREACHES: Final = (
    ("layers", "retrycontract/contract/wrong.py", "import retrycontract.store"),
    ("layers", "retrycontract/store/wrong.py", "import retrycontract.usecases"),
    ("layers", "retrycontract/usecases/wrong.py", "import worker"),
    ("layers", "retrycontract/usecases/wrong.py", "import retrycontract.api"),
    ("layers", "retrycontract/api/wrong.py", "import dashboard"),
    ("layers", "dashboard/wrong.py", "import worker"),
    ("layers", "dashboard/wrong.py", "import retrycontract.admin"),
    ("layers", "retrycontract/admin/wrong.py", "import dashboard"),
    ("layers", "retrycontract/usecases/wrong.py", "import retrycontract.admin"),
    ("layers", "worker/wrong.py", "import retrycontract.management"),
    ("layers", "retrycontract/delivery/wrong.py", "import retrycontract.api"),
    ("layers", "worker/wrong.py", "import retrycontract.delivery"),
    ("layers", "retrycontract/usecases/wrong.py", "import retrycontract.delivery"),
    ("layers", "dashboard/wrong.py", "import retrycontract.urls"),
    ("waiting", "retrycontract/front/waiting.py", "import retrycontract.store"),
    ("waiting", "retrycontract/front/bridge.py", "import retrycontract.usecases"),
    ("waiting", "retrycontract/front/streaming.py", "import retrycontract.store"),
    ("waiting", "retrycontract/front/bridge.py", "import retrycontract.api"),
    ("library", "retrycontract/in_process.py", "import retrycontract.store"),
    ("library", "retrycontract/in_process.py", "import retrycontract.settings"),
    ("library", "retrycontract/config/configuration_file.py", "import worker"),
    ("client", "retrycontract/client/wrong.py", "import django.conf"),
    ("client", "retrycontract/client/wrong.py", "import retrycontract.store"),
    ("client", "retrycontract/client/wrong.py", "from retrycontract import in_process"),
    ("client", "retrycontract/client/wrong.py", "import retrycontract.mcp"),
    ("library", "retrycontract/in_process.py", "import retrycontract.mcp"),
    ("library", "retrycontract/in_process.py", "import retrycontract.client"),
    ("library", "retrycontract/in_process.py", "import retrycontract.loops"),
    ("library", "retrycontract/mcp/server.py", "import retrycontract.loops"),
    ("loops", "retrycontract/loops/wrong.py", "import django.conf"),
    ("loops", "retrycontract/loops/wrong.py", "from celery import shared_task"),
    ("loops", "retrycontract/loops/wrong.py", "import retrycontract.store"),
    ("loops", "retrycontract/loops/wrong.py", "import retrycontract.mcp"),
    ("loops", "retrycontract/loops/wrong.py", "import openai"),
    ("library", "retrycontract/mcp/process.py", "import retrycontract.store"),
    ("agent", "retrycontract/mcp/process.py", "import django.conf"),
    ("agent", "retrycontract/mcp/gateway.py", "from celery import shared_task"),
    ("proxy", "retrycontract/proxy/wrong.py", "import django.conf"),
    ("proxy", "retrycontract/proxy/wrong.py", "import openai"),
    ("library", "retrycontract/loops/engine.py", "import retrycontract.proxy.app"),
    ("pure", "retrycontract/contract/wrong.py", "import django.conf"),
    ("pure", "retrycontract/contract/wrong.py", "from ninja import Schema"),
    ("pure", "retrycontract/contract/wrong.py", "import redis"),
    ("pure", "retrycontract/contract/wrong.py", "import http.client"),
    ("pure", "retrycontract/contract/wrong.py", "from os import environ"),
    ("pure", "retrycontract/contract/wrong.py", "import os.path"),
    ("pure", "retrycontract/contract/wrong.py", "import socket"),
    ("pure", "retrycontract/contract/wrong.py", "import subprocess"),
    ("pure", "retrycontract/contract/wrong.py", "from time import monotonic"),
    ("pure", "retrycontract/contract/checks/wrong.py", "import random"),
    ("pure", "retrycontract/contract/wrong.py", "import threading"),
    ("celery", "retrycontract/usecases/wrong.py", "import celery"),
    ("celery", "retrycontract/api/wrong.py", "from celery import shared_task"),
    ("celery", "dashboard/wrong.py", "import kombu"),
    ("checks", "retrycontract/api/wrong.py", "import retrycontract.contract.checks"),
    ("checks", "retrycontract/admin/wrong.py", "import retrycontract.contract.checks"),
    ("checks", "dashboard/wrong.py", "from retrycontract.contract import checks"),
)


def import_of(number: int, module: str, line: str) -> str:
    """Give what the linter says first of a breach: which module imports what."""
    source = module.removesuffix(".py").replace("wrong", f"wrong_{number}").replace("/", ".")
    match line.replace(",", " ").split():
        case ["from", ("retrycontract" | "retrycontract.contract") as package, "import", name]:
            target = f"{package}.{name}"
        case [_, target, *_]:
            pass
    return f"{source} -> {target if target.split('.')[0] in PACKAGES else target.split('.')[0]} "


@pytest.fixture(scope="module")
def told_of_breaches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of each contract where all are broken in every way at once: a run takes a quarter second."""
    copy = copied_code(tmp_path_factory.mktemp("broken"))
    for number, (_, module, line) in enumerate(BREACHES):
        with (copy / module.replace("wrong", f"wrong_{number}")).open("a") as source:
            source.write(f"\n{line}\n")
    return {contract: lint_imports(copy, contract).stdout for contract in {contract for contract, _, _ in BREACHES}}


@pytest.mark.parametrize("number", range(len(BREACHES)), ids=[f"{module}: {line}" for _, module, line in BREACHES])
def test_an_import_against_the_rules_is_found(told_of_breaches: dict[str, str], number: int) -> None:
    contract, module, line = BREACHES[number]
    # The first module of a chain of imports; where several share the rest, each of them.
    found = rf"^ *[-&] +{re.escape(import_of(number, module, line))}"
    assert re.search(found, told_of_breaches[contract], re.MULTILINE), found


def test_the_worker_may_name_celery(tmp_path: Path) -> None:
    copy_of_the_code = copied_code(tmp_path)
    (copy_of_the_code / "worker/application.py").write_text("import celery\n")
    (copy_of_the_code / "retrycontract/management/commands/up.py").write_text("import worker.application\n")
    run = lint_imports(copy_of_the_code, "celery")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("package", CLOSED_DOORS)
def test_no_module_reaches_a_package_that_is_closed_to_it(graph: grimp.ImportGraph, package: str) -> None:
    own = {package, *graph.find_descendants(package)}
    reached = own.union(*(graph.find_upstream_modules(module) for module in own))
    for module in sorted(name for name in reached if name.split(".")[0] in PACKAGES):
        path = ROOT / module.replace(".", "/")
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert closed_doors_opened(source.read_text(encoding="utf-8"), CLOSED_DOORS[package]) == [], module


def test_the_client_imports_the_contract_and_one_http_package(graph: grimp.ImportGraph) -> None:
    own = {"retrycontract.client", *graph.find_descendants("retrycontract.client")}
    imported = set().union(*(graph.find_modules_directly_imported_by(module) for module in own)) - own
    foreign = {name for name in imported if not is_within(name, "retrycontract.contract")}
    assert {name.split(".")[0] for name in foreign} - sys.stdlib_module_names == {"httpx2", "pydantic", "pydantic_core"}


@pytest.mark.parametrize(
    "line",
    ["import django.db", "from django import db", "from django.db.models import Q", "import django.db.models as m"],
)
def test_every_way_to_import_a_closed_package_is_found(line: str) -> None:
    assert closed_doors_opened(line, ("django.db",))
    assert not closed_doors_opened("import django.dbms, django", ("django.db",))


def test_the_library_alone_loads_no_server_package() -> None:
    look = (
        "import sys, retrycontract\n"
        "for name in retrycontract.__all__: getattr(retrycontract, name)\n"
        f"print(*sorted(set({SERVER_PACKAGES!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == ""


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    public = {name: getattr(retrycontract, name) for name in retrycontract.__all__}
    described = {name: value for name, value in public.items() if inspect.isclass(value) or inspect.isroutine(value)}
    # A dataclass without a docstring gets its signature for one.
    silent = [
        name for name, value in described.items() if not value.__doc__ or value.__doc__.startswith(f"{value.__name__}(")
    ]
    assert described
    assert silent == []


def test_a_module_has_one_subject_and_a_length_to_match() -> None:
    lengths = {
        str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sources(*PACKAGES, "tests")
    }
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_no_module_is_named_after_nothing() -> None:
    named_after_nothing = [
        str(path) for path in sources(*PACKAGES, "tests") if EMPTY_NAMES.intersection(re.split(r"[/\\_.]", str(path)))
    ]
    assert named_after_nothing == []


def test_imports_are_absolute() -> None:
    relative = [
        f"{path}:{node.lineno}"
        for path in sources(*PACKAGES, "tests")
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []

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


@pytest.fixture
def copy_of_the_code(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_nobody_imports_what_its_layer_may_not() -> None:
    run = lint_imports(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        pytest.param("layers", "retrycontract/contract/wrong.py", "import retrycontract.store", id="contract-store"),
        pytest.param("layers", "retrycontract/store/wrong.py", "import retrycontract.usecases", id="store-usecase"),
        pytest.param("layers", "retrycontract/usecases/wrong.py", "import worker", id="usecase-worker"),
        pytest.param("layers", "retrycontract/usecases/wrong.py", "import retrycontract.api", id="usecase-api"),
        pytest.param("layers", "retrycontract/api/wrong.py", "import dashboard", id="api-dashboard"),
        pytest.param("layers", "dashboard/wrong.py", "import worker", id="dashboard-worker"),
        pytest.param("layers", "dashboard/wrong.py", "import retrycontract.admin", id="dashboard-admin"),
        pytest.param("layers", "retrycontract/admin/wrong.py", "import dashboard", id="admin-dashboard"),
        pytest.param("layers", "retrycontract/usecases/wrong.py", "import retrycontract.admin", id="usecase-admin"),
        pytest.param("layers", "worker/wrong.py", "import retrycontract.management", id="worker-management"),
        pytest.param("layers", "retrycontract/delivery/wrong.py", "import retrycontract.api", id="delivery-api"),
        pytest.param("layers", "worker/wrong.py", "import retrycontract.delivery", id="worker-delivery"),
        pytest.param(
            "layers", "retrycontract/usecases/wrong.py", "import retrycontract.delivery", id="usecase-delivery"
        ),
        pytest.param("layers", "dashboard/wrong.py", "import retrycontract.urls", id="dashboard-urls"),
        pytest.param("waiting", "retrycontract/front/waiting.py", "import retrycontract.store", id="waiting-store"),
        pytest.param("waiting", "retrycontract/front/bridge.py", "import retrycontract.usecases", id="bridge-usecase"),
        pytest.param("waiting", "retrycontract/front/streaming.py", "import retrycontract.store", id="streaming-store"),
        pytest.param("waiting", "retrycontract/front/bridge.py", "import retrycontract.api", id="bridge-api"),
        pytest.param("library", "retrycontract/in_process.py", "import retrycontract.store", id="facade-store"),
        pytest.param("library", "retrycontract/in_process.py", "import retrycontract.settings", id="facade-settings"),
        pytest.param("library", "retrycontract/config/configuration_file.py", "import worker", id="configuration"),
        pytest.param("client", "retrycontract/client/wrong.py", "import django.conf", id="client-django"),
        pytest.param("client", "retrycontract/client/wrong.py", "import retrycontract.store", id="client-store"),
        pytest.param(
            "client", "retrycontract/client/wrong.py", "from retrycontract import in_process", id="client-library"
        ),
        pytest.param("client", "retrycontract/client/wrong.py", "import retrycontract.mcp", id="client-mcp"),
        pytest.param("library", "retrycontract/in_process.py", "import retrycontract.mcp", id="facade-mcp"),
        pytest.param("library", "retrycontract/in_process.py", "import retrycontract.client", id="facade-client"),
        pytest.param("library", "retrycontract/in_process.py", "import retrycontract.loops", id="facade-loops"),
        pytest.param("library", "retrycontract/mcp/server.py", "import retrycontract.loops", id="mcp-loops"),
        pytest.param("loops", "retrycontract/loops/wrong.py", "import django.conf", id="loops-django"),
        pytest.param("loops", "retrycontract/loops/wrong.py", "from celery import shared_task", id="loops-celery"),
        pytest.param("loops", "retrycontract/loops/wrong.py", "import retrycontract.store", id="loops-store"),
        pytest.param("loops", "retrycontract/loops/wrong.py", "import retrycontract.mcp", id="loops-mcp"),
        pytest.param("loops", "retrycontract/loops/wrong.py", "import openai", id="loops-provider"),
        pytest.param("library", "retrycontract/mcp/process.py", "import retrycontract.store", id="mcp-store"),
        pytest.param("agent", "retrycontract/mcp/process.py", "import django.conf", id="mcp-django"),
        pytest.param("agent", "retrycontract/mcp/gateway.py", "from celery import shared_task", id="mcp-celery"),
        pytest.param("proxy", "retrycontract/proxy/wrong.py", "import django.conf", id="proxy-django"),
        pytest.param("proxy", "retrycontract/proxy/wrong.py", "import openai", id="proxy-provider"),
        pytest.param("library", "retrycontract/loops/engine.py", "import retrycontract.proxy.app", id="loops-proxy"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import django.conf", id="contract-django"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "from ninja import Schema", id="contract-ninja"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import redis", id="contract-redis"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import http.client", id="contract-http"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "from os import environ", id="contract-os"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import os.path", id="contract-os-path"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import socket", id="contract-socket"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import subprocess", id="contract-subprocess"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "from time import monotonic", id="contract-time"),
        pytest.param("pure", "retrycontract/contract/checks/wrong.py", "import random", id="check-random"),
        pytest.param("pure", "retrycontract/contract/wrong.py", "import threading", id="contract-threading"),
        pytest.param("celery", "retrycontract/usecases/wrong.py", "import celery", id="usecase-celery"),
        pytest.param("celery", "retrycontract/api/wrong.py", "from celery import shared_task", id="api-celery"),
        pytest.param("celery", "dashboard/wrong.py", "import kombu", id="dashboard-kombu"),
        pytest.param("checks", "retrycontract/api/wrong.py", "import retrycontract.contract.checks", id="api-checks"),
        pytest.param(
            "checks", "retrycontract/admin/wrong.py", "import retrycontract.contract.checks", id="admin-checks"
        ),
        pytest.param(
            "checks", "dashboard/wrong.py", "from retrycontract.contract import checks", id="dashboard-checks"
        ),
    ],
)
def test_an_import_against_the_rules_is_found(copy_of_the_code: Path, contract: str, module: str, line: str) -> None:
    (copy_of_the_code / "retrycontract/urls.py").touch()
    (copy_of_the_code / "retrycontract/settings.py").touch()
    with (copy_of_the_code / module).open("a") as source:
        source.write(f"\n{line}\n")
    run = lint_imports(copy_of_the_code, contract)
    assert run.returncode == 1
    assert "1 broken" in run.stdout, run.stdout + run.stderr


def test_the_worker_may_name_celery(copy_of_the_code: Path) -> None:
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
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sources(*PACKAGES)}
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

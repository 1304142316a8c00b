"""What importing the client loads, and what it says when its one package is missing."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import retrycontract.client
from tests.test_architecture import SERVER_PACKAGES
from tests.test_public_names import public_methods

ROOT = Path(__file__).resolve().parents[2]
OURS = ("retrycontract", "retrycontract.client", "retrycontract.contract")


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_client_loads_no_server_package_and_nothing_of_ours_but_the_contract() -> None:
    done = run("import sys; from retrycontract.client import Client; Client('http://x', 'k'); print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert set(SERVER_PACKAGES) & set(loaded) == set()
    ours = {".".join(name.split(".")[:2]) for name in loaded if name.split(".")[0] in ("retrycontract", "dashboard")}
    assert ours == set(OURS)


def test_the_client_loads_nothing_that_only_checks_need() -> None:
    done = run("import sys; from retrycontract.client import Client; Client('http://x', 'k'); print(*sys.modules)")
    loaded = set(done.stdout.split())
    assert not loaded & {"re2", "regex", "jsonschema_rs", "pydantic", "retrycontract.contract.redaction.sanitizer"}


def test_without_httpx2_the_error_says_what_to_install() -> None:
    done = run("import sys; sys.modules['httpx2'] = None; from retrycontract.client import Client")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        'ImportError: the client needs httpx2: pip install "retrycontract[client]"'
    )  # fmt: skip


def test_every_public_name_and_method_has_a_docstring_of_its_own() -> None:
    public = {name: getattr(retrycontract.client, name) for name in retrycontract.client.__all__}
    assert len(public) > 15
    silent = [name for name, value in public.items() if not value.__doc__ or value.__doc__.startswith(f"{name}(")]
    assert silent == []
    for name, value in public.items():
        methods = public_methods(value) if inspect.isclass(value) else ()
        assert [method for method, function in methods if not function.__doc__] == [], name

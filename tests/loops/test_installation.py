"""What importing the loops loads, and that all of it explains itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import retrycontract.loops
from tests.test_architecture import SERVER_PACKAGES

ROOT = Path(__file__).resolve().parents[2]
PROVIDERS = {"openai", "anthropic", "httpx", "httpx2"}


def test_the_loops_load_no_provider_no_http_and_no_server_package() -> None:
    code = (
        "import sys; from retrycontract import loops; "
        'loops.respond_with_correction(lambda _: \'{"action": "a", "parameters": {}}\', []); '
        "loops.extract; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert ({*SERVER_PACKAGES} | PROVIDERS) & set(loaded) == set()
    ours = {".".join(name.split(".")[:2]) for name in loaded if name.split(".")[0] in ("retrycontract", "dashboard")}
    assert ours == {
        "retrycontract", "retrycontract.contract", "retrycontract.in_process", "retrycontract.config",
        "retrycontract.checking", "retrycontract.children", "retrycontract.judging", "retrycontract.languages",
        "retrycontract.loops",
    }  # fmt: skip


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    public = {name: getattr(retrycontract.loops, name) for name in retrycontract.loops.__all__}
    assert sorted(public) == sorted(retrycontract.loops.__all__)
    described = {name: value for name, value in public.items() if callable(value)}
    silent = [name for name, value in described.items() if not value.__doc__ or value.__doc__.startswith(f"{name}(")]
    assert len(described) > 20
    assert silent == []

"""The example that needs nothing says in one sentence what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.servers import free_port
from tests.serving.service import ROOT, Service


def ended(folder: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETRYCONTRACT")}
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "agent.py"], cwd=folder, env=kept | environment, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "There is no key: set RETRYCONTRACT_API_KEY"),
        ({"RETRYCONTRACT_API_KEY": "rc_x"}, "No service answers at http://127.0.0.1"),
    ],
)
def test_what_the_example_lacks_is_one_sentence(tmp_path: Path, environment: dict[str, str], told: str) -> None:
    said = ended(tmp_path, RETRYCONTRACT_URL=f"http://127.0.0.1:{free_port()}", **environment)
    assert said.startswith(told)
    assert said.count("\n") == 1


def test_a_refusal_is_told_in_the_services_words(judged_service: Service, tmp_path: Path) -> None:
    said = ended(tmp_path, RETRYCONTRACT_URL=judged_service.url, RETRYCONTRACT_API_KEY="rc_x")
    assert "The API key is unknown" in said
    assert said.count("\n") == 1

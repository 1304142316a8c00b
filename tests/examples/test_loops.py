"""The examples of loops: each runs without a key, and against any server that speaks OpenAI's chat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.loops.wire import answering, openai_says

EXAMPLES = Path(__file__).parents[2] / "examples"
SLUG = '```python\ndef slug(title):\n    """Slug it."""\n    return title\n```'
INVOICE = {"number": "2027-114", "total": 1250.5, "currency": "EUR"}
REPLY = '{"action": "move_appointment", "parameters": {"day": "Friday"}}'
RUNS: dict[str, tuple[str, Any]] = {
    "generate_file.py": ("def slug(title):", openai_says(SLUG)),
    "extract_invoice.py": ("total=1250.5", openai_says(None, ("submit", {"data": INVOICE}))),
    "correct_reply.py": ("move_appointment {", openai_says(f"<think>\nhm\n</think>\n{REPLY}")),
}


def run(name: str, folder: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env=kept | {"PYTHONPATH": str(EXAMPLES.parent)} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", RUNS)
def test_an_example_runs_without_a_key(name: str, tmp_path: Path) -> None:
    assert RUNS[name][0] in run(name, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"slug.py"}


@pytest.mark.parametrize("name", RUNS)
def test_an_example_asks_a_server(name: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    said, answer = RUNS[name]
    with answering(answer) as wire:
        assert said in run(name, tmp_path, OPENAI_BASE_URL=f"{wire.url}/v1", OPENAI_API_KEY="none", MODEL="m")
        assert [body["model"] for body in wire.bodies] == ["m"]

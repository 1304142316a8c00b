"""The benchmarks run; what they measure is no test's business."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.mark.parametrize("notes", [path.name for path in FOLDER.glob("*NOTES.md")])
def test_the_results_have_the_notes_that_the_next_run_writes(notes: str) -> None:
    assert (FOLDER / notes).read_text(encoding="utf-8").strip() in (FOLDER / "RESULTS.md").read_text(encoding="utf-8")


def run_quickly(half: str, report: Path) -> str:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", half, "--output", str(report)]
    subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).resolve().parent.parent)
    (written,) = report.parent.iterdir()
    return written.read_text(encoding="utf-8")


@pytest.mark.soak
def test_quick_round_of_every_benchmark_writes_a_report(tmp_path: Path) -> None:
    text = run_quickly("contract", tmp_path / "RESULTS.md")
    assert "bytes to feedback, 4 errors" in text
    assert "the peers are not installed" in text


@pytest.mark.services
@pytest.mark.soak
def test_quick_round_of_the_service_writes_a_report(tmp_path: Path) -> None:
    text = run_quickly("service", tmp_path / "RESULTS.md")
    assert "floor: the authenticated endpoint with one INSERT" in text
    assert "POST a call with 4 errors, judged by the worker; 1 connection" in text


@pytest.mark.services
@pytest.mark.soak
def test_quick_round_of_the_proxy_writes_a_report(tmp_path: Path) -> None:
    text = run_quickly("proxy", tmp_path / "RESULTS.md")
    assert "| `retrycontract proxy --url`, with a desk |" in text
    assert "LiteLLM is not installed." in text


@pytest.mark.services
@pytest.mark.soak
def test_quick_round_of_the_gateway_writes_a_report(tmp_path: Path) -> None:
    text = run_quickly("gateway", tmp_path / "RESULTS.md")
    assert "| `mcp-gateway --url` |" in text
    assert "| memory beyond that of bare Python |" in text

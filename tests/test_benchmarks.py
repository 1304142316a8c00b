"""The benchmarks run; what they measure is no test's business."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_quick_round_of_every_benchmark_writes_a_report(tmp_path: Path) -> None:
    report = tmp_path / "RESULTS.md"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--output", str(report)]
    subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).resolve().parent.parent)
    text = report.read_text(encoding="utf-8")
    assert "bytes to feedback, 4 errors" in text
    assert "the peers are not installed" in text

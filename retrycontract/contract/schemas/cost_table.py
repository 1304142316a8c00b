"""What judging costs, in nanoseconds of processor time; benchmarks/calibrate_costs.py measured it.

It decides what is judged at the door and what is reserved of an account; what it underrates elsewhere is still cut off
in its child.
"""

from __future__ import annotations

from typing import Final

YARDSTICK: Final = 11_000_000
"""What fixed work took on the machine that the table is from: others are as much slower as they take longer for it."""

# One name for each kind of step that the estimate counts; see costs.py for what is counted where.
NANOSECONDS: Final[dict[str, float]] = {
    "visit": 10,
    "mismatch": 4,
    "const-number": 79,
    "const-wide": 810,
    "const-text": 5,
    "const-node": 60,
    "enum": 5,
    "limit-wide": 430,
    "multiple": 7,
    "multiple-fraction": 1_000,
    "multiple-wide": 1_600,
    "multiple-large": 300,
    "pattern": 19,
    "pattern-character": 2,
    "format": 110,
    "format-character": 1,
    "format-idn-character": 50,
    "unique-item": 92,
    "unique-pair": 180,
    "member": 14,
    "pattern-member": 14,
    "check": 25_000,
    "refusal": 220_000,
    "node": 3_000,
    "leaf": 1_200,
    "number": 500,
    "name": 1_000,
    "text": 1_000,
    "known-text": 700,
    "letter": 200,
    "digit-of-text": 500,
    "digit-of-like": 300,
    "far-of-text": 2_000,
    "character": 25,
    "sign": 6_000,
    "searched": 400,
    "announced": 60_000,
    "trial": 11_000,
    "trials": 21_000_000,
    "error": 30_000,
    "step": 5_300,
    "written": 3_000,
    "copied-word": 2_200,
    "compile-node": 23_000,
    "compile-pattern-step": 560,
}

"""What judging costs, in nanoseconds of processor time; benchmarks/calibrate_costs.py measured it.

It decides what is judged at the door and what is reserved of an account; what it underrates elsewhere is still cut off
in its child.
"""

from __future__ import annotations

from typing import Final

YARDSTICK: Final = 8_200_000
"""What fixed work took on the machine that the table is from: others are as much slower as they take longer for it."""

# One name for each kind of step that the estimate counts; see costs.py for what is counted where.
NANOSECONDS: Final[dict[str, float]] = {
    "visit": 15,
    "const-number": 120,
    "const-wide": 1_300,
    "const-text": 7,
    "const-node": 110,
    "enum": 7,
    "limit-wide": 680,
    "multiple": 11,
    "multiple-fraction": 1_800,
    "multiple-wide": 7_100,
    "pattern": 28,
    "pattern-character": 4,
    "format": 170,
    "format-character": 2,
    "format-idn-character": 83,
    "unique-item": 140,
    "unique-pair": 290,
    "member": 22,
    "pattern-member": 21,
    "check": 22_000,
    "refusal": 150_000,
    "node": 3_800,
    "text": 7_400,
    "name": 2_000,
    "character": 22,
    "sign": 4_300,
    "digit": 1_400,
    "far": 1_200,
    "spoken": 19_000,
    "proposal": 320_000,
    "error": 38_000,
    "compile-node": 21_000,
    "compile-pattern-step": 1_200,
}

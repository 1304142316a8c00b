"""What judging costs, in nanoseconds of processor time; benchmarks/calibrate_costs.py measured it.

It decides what is judged at the door and what is reserved of an account; what it underrates elsewhere is still cut off
in its child.
"""

from __future__ import annotations

from typing import Final

# One name for each kind of step that the estimate counts; see costs.py for what is counted where.
NANOSECONDS: Final[dict[str, float]] = {
    "visit": 17,
    "const-number": 160,
    "const-wide": 1_500,
    "const-text": 7,
    "const-node": 120,
    "enum": 9,
    "limit-wide": 740,
    "multiple": 11,
    "multiple-wide": 8_000,
    "pattern": 50,
    "pattern-character": 4,
    "format": 180,
    "format-character": 4,
    "format-idn-character": 85,
    "unique-item": 160,
    "unique-pair": 320,
    "member": 23,
    "pattern-member": 24,
    "check": 22_000,
    "refusal": 160_000,
    "node": 2_900,
    "text": 6_100,
    "name": 2_200,
    "character": 24,
    "mark": 4_800,
    "error": 370_000,
    "branch": 980,
    "compile-node": 25_000,
    "compile-pattern-step": 1_200,
}

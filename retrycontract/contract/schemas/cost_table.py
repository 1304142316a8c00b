"""What judging costs, in nanoseconds of processor time.

No program here measures these figures, so they are orders of magnitude. They decide what is judged at the door and
what is reserved of an account; what they underrate elsewhere is still cut off in its child.
"""

from __future__ import annotations

from typing import Final

# One name for each kind of step that the estimate counts; see costs.py for what is counted where.
NANOSECONDS: Final[dict[str, float]] = {
    "check": 150_000,
    "refusal": 700_000,
    "node": 3_000,
    "name": 2_500,
    "character": 70,
    "visit": 15,
    "const-number": 190,
    "const-text": 15,
    "const-node": 250,
    "enum": 60,
    "pattern": 60,
    "pattern-character": 3,
    "format": 60,
    "format-character": 3,
    "unique-item": 120,
    "member": 60,
    "pattern-member": 70,
    "error": 60_000,
    "compile-node": 12_000,
    "compile-pattern-step": 3_000,
}

"""Thousands of cases of one mechanism: every run takes the same few of them, `make soak` all."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest


def sampled(cases: Mapping[str, Any], *, one_in: int) -> list[Any]:
    """Give each case by its name as a parameter; all but one in so many are left to the soak.

    Which ones depends on their names alone, so that a case that is added moves no other. A case that is a tuple is
    several parameters.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=() if sha256(name.encode()).digest()[0] % one_in == 0 else pytest.mark.soak,
        )
        for name, case in cases.items()
    ]

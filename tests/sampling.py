"""Thousands of cases of one mechanism: every run takes the same few of them, `make soak` all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

import pytest

# So many cases of a test are in every run, and of the others one in so many; fewer where each takes a tenth of a
# second or more, for it goes through a public door.
IN_PROCESS: Final = (16, 8)
THROUGH_A_DOOR: Final = (6, 6)
DOORS: Final = ("browser", "services", "processes", "django_db")


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


def leave_long_tables_to_the_soak(items: Iterable[pytest.Item]) -> None:
    """Mark all but a sample of the cases of each long table below a folder of its own: `make soak` has them all.

    What stands in `tests/` itself holds documents and the house's rules to the code, entry by entry, and stays whole.
    """
    tables = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.path.parent.name != "tests":
            tables[item.nodeid.partition("[")[0]].append(item)
    for cases in tables.values():
        is_dear = any(map(cases[0].get_closest_marker, DOORS)) or "db" in getattr(cases[0], "fixturenames", ())
        whole, one_in = THROUGH_A_DOOR if is_dear else IN_PROCESS
        if len(cases) > whole and not any(case.get_closest_marker("soak") for case in cases):  # it chose for itself
            drawn = sorted(cases, key=lambda case: sha256(case.name.encode()).digest())
            for case in drawn[whole + (len(cases) - whole) // one_in :]:
                case.add_marker(pytest.mark.soak)

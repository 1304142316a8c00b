"""What tests of the loops share: a script for each flavour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.loops.scripted import FLAVOURS, Script

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    """Each test that asks for it runs with both forms of the loops."""
    name: str = request.param
    return name


@pytest.fixture
def scripted(flavour: str) -> Callable[..., Script]:
    """`scripted(answer, …)` gives a model that answers so."""

    def make(*answers: Any) -> Script:
        return Script(flavour, list(answers))

    return make

"""What tests of the client share: a script for each flavour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.flavours import FLAVOURS
from tests.client.scripted import Script

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    Scripted = Callable[..., Script]


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    """Each test that asks for it runs with both clients."""
    name: str = request.param
    return name


@pytest.fixture
def scripted(flavour: str) -> Scripted:
    """`scripted(answer, …)` gives a service that answers so."""

    def make(*answers: httpx2.Response | Exception) -> Script:
        return Script(flavour, list(answers))

    return make

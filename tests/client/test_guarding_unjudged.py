"""What is only observed, given in a wrong place or left out of order runs as it was given, and is submitted once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from retrycontract.client import (
    AsyncClient,
    Client,
    NoConversationError,
)
from retrycontract.client.guarding import conversation_of
from tests.client.flavours import FLAVOURS
from tests.client.scripted import KEY, RETRY, URL, VALID, answer
from tests.client.test_guarding import Given

if TYPE_CHECKING:
    from tests.client.conftest import Scripted
    from tests.client.scripted import Script

IMPORTED = answer(200, {"registered": [], "refused": []})
OBSERVED = answer(200, VALID | {"state": "observed"})
AGAIN = AssertionError("one call, one attempt")  # raised where the service is asked once more


def add(a: int, *, b: int = 2) -> tuple[Any, Any]:
    return a, b


def add_guarded(service: Script, flavour: str, *positional: Any, **named: Any) -> Any:
    """Call `add` behind the contract, in a session of either client."""
    options: dict[str, Any] = {"clock": lambda: service.now, "random": lambda: 1.0}
    transport = httpx2.MockTransport(service.handle)
    if flavour == "sync":
        with Client(URL, KEY, transport=transport, sleep=service.sleep, **options) as client, client.session():
            return client.guard(timeout=0)(add)(*positional, **named)

    async def soon() -> Any:
        async def add_soon(a: int, *, b: int = 2) -> tuple[Any, Any]:
            return add(a, b=b)

        async with AsyncClient(URL, KEY, transport=transport, sleep=service.sleep_in_loop, **options) as client:
            with client.session():
                return await client.guard(timeout=0)(add_soon)(*positional, **named)

    return asyncio.run(soon())


@pytest.mark.parametrize("given", [((), {"a": "one"}), ((), {"a": "one", "b": 3}), (("one",), {})])
def test_what_is_only_observed_runs_as_it_was_given_and_is_submitted_once(
    scripted: Scripted, flavour: str, given: Given
) -> None:
    positional, named = given
    service = scripted(IMPORTED, OBSERVED, AGAIN)
    assert add_guarded(service, flavour, *positional, **named) == add(*positional, **named)
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(((1, 2, 3), {}), "at most 1 can be", id="too many"),
        pytest.param(((1, 2), {}), "at most 1 can be", id="by name only"),
        pytest.param(((1,), {"a": 5}), "'a' is given by place and by name", id="twice"),
    ],
)
def test_what_is_given_in_a_wrong_place_is_a_mistake_that_the_service_is_told(
    scripted: Scripted, flavour: str, given: Given, said: str
) -> None:
    positional, named = given
    service = scripted(IMPORTED, answer(200, RETRY), AGAIN)
    assert add_guarded(service, flavour, *positional, **named) == "Validation failed"
    [error] = service.bodies[1]["callback_error"]
    assert said in error["message"]
    assert service.bodies[1]["arguments"]["a"] in (1, 5)


def test_a_session_that_is_left_out_of_order_leaves_the_others_current(flavour: str) -> None:
    client: Any = FLAVOURS[flavour](URL, KEY)
    first, second, third = client.session(), client.session(), client.session()
    for session in (first, second, third, second):
        session.__enter__()
    left = []
    for session in (first, second, third, second):
        left.append(conversation_of(client, "add"))
        session.__exit__(None, None, None)
    assert [id(each) for each in left] == [id(each) for each in (second, second, third, second)]
    with pytest.raises(NoConversationError):
        conversation_of(client, "add")

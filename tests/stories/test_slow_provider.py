"""An identity provider that answers a byte at a time: who is logged in goes on, and nobody waits for long."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue

import httpx2
import pytest

from tests.conftest import StartService
from tests.serving.provider import CLIENT_ID, CLIENT_SECRET, Provider, serving
from tests.serving.service import Service
from tests.serving.threads import eventually

pytestmark = pytest.mark.processes
CONFIGURATION = "/.well-known/openid-configuration"
MANY = 12  # three times as many as may wait for the provider
PATIENCE = 40  # seconds; nothing here takes more than those of an exchange, and what drips never ends


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        provider.who["groups"] = ["desk"]
        yield provider


@pytest.fixture
def desk(provider: Provider, start_service: StartService, tmp_path: Path) -> Iterator[tuple[Service, httpx2.Client]]:
    """A service that logs people in at the provider, and the browser of an operator who is in."""
    service = start_service(
        tmp_path / "data",
        {
            "RETRYCONTRACT_OIDC_ISSUER": provider.issuer, "RETRYCONTRACT_OIDC_CLIENT_ID": CLIENT_ID,
            "RETRYCONTRACT_OIDC_CLIENT_SECRET": CLIENT_SECRET, "RETRYCONTRACT_OIDC_ROLES": "desk=operator",
        },
    )  # fmt: skip
    with browser_of(service) as operator:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', operator.get("/login/").text)
        assert token is not None
        sent = {"csrfmiddlewaretoken": token[1], "username": "mia", "password": service.new_operator("mia", "operator")}
        assert operator.post("/login/", data=sent).status_code == 302
        yield service, operator


@pytest.fixture
def closed_at_the_end() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def browser_of(service: Service) -> httpx2.Client:
    return httpx2.Client(base_url=service.url, timeout=PATIENCE)


def all_at_once(number: int, ask: Callable[[int], httpx2.Response]) -> Queue[httpx2.Response]:
    answers: Queue[httpx2.Response] = Queue()
    for who in range(number):
        threading.Thread(target=lambda who: answers.put(ask(who)), args=(who,), daemon=True).start()
    return answers


def pages_go_on_while_some_wait(
    operator: httpx2.Client, provider: Provider, path: str, answers: Queue[httpx2.Response]
) -> None:
    eventually(lambda: path in provider.asked)
    assert [operator.get(page).status_code for page in ("/", "/calls/", "/tools/", "/settings/", "/login/")] == [
        200, 200, 200, 200, 302,
    ]  # fmt: skip
    assert answers.qsize() < MANY, "somebody still waits"
    told = [answers.get(timeout=PATIENCE) for _ in range(MANY)]
    assert [(answer.status_code, "Retry-After" in answer.headers) for answer in told] == [(503, True)] * MANY
    assert len([answer for answer in told if "Others wait" in answer.text]) >= 8


def test_pages_go_on_while_the_configuration_drips_and_it_is_asked_for_once(
    provider: Provider, desk: tuple[Service, httpx2.Client]
) -> None:
    service, operator = desk
    provider.drips = frozenset({CONFIGURATION})
    answers = all_at_once(MANY, lambda _: httpx2.get(f"{service.url}/login/provider/", timeout=PATIENCE))
    pages_go_on_while_some_wait(operator, provider, CONFIGURATION, answers)
    assert provider.asked.count(CONFIGURATION) == 1
    assert httpx2.get(f"{service.url}/login/provider/", timeout=PATIENCE).status_code == 503
    assert provider.asked.count(CONFIGURATION) == 1, "what failed is remembered"


def test_pages_go_on_while_many_come_back_and_the_token_drips(
    provider: Provider, desk: tuple[Service, httpx2.Client], closed_at_the_end: ExitStack
) -> None:
    service, operator = desk
    browsers = [closed_at_the_end.enter_context(browser_of(service)) for _ in range(MANY)]
    ways = [provider.log_in(browser.get("/login/provider/").headers["Location"]) for browser in browsers]
    provider.drips = frozenset({"/token"})
    answers = all_at_once(MANY, lambda who: browsers[who].get(ways[who]))
    pages_go_on_while_some_wait(operator, provider, "/token", answers)
    # Nobody has lost anything: the same answer of the provider still counts when the page is loaded again.
    provider.drips = frozenset()
    assert {browser.get(way).status_code for browser, way in zip(browsers, ways, strict=True)} == {302}


def test_the_service_ends_in_good_order_while_the_provider_drips(
    provider: Provider, desk: tuple[Service, httpx2.Client]
) -> None:
    service, _ = desk
    provider.drips = frozenset({CONFIGURATION})
    answers = all_at_once(6, lambda _: httpx2.get(f"{service.url}/login/provider/", timeout=PATIENCE))
    eventually(lambda: CONFIGURATION in provider.asked)
    assert service.stop() == 0
    assert {answers.get(timeout=PATIENCE).status_code for _ in range(6)} == {503}
    assert "Traceback" not in service.log

"""Loops of every kind in a real browser: the model gets stuck, an operator answers, and the waiting loop finishes."""

from __future__ import annotations

import json
import re
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import openai
import pytest
from playwright.sync_api import Page, expect

from retrycontract.client import Client
from retrycontract.loops import (
    AgentResponse,
    OpenAIModel,
    extract,
    generate_file_with_retry,
    respond_with_correction,
)
from tests.browser.test_story import log_in
from tests.loops.wire import Wire, answering, openai_says
from tests.serving.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser

INVOICE: dict[str, Any] = {
    "type": "object",
    "title": "invoice",
    "properties": {"total": {"type": "number"}, "currency": {"enum": ["CHF", "EUR"]}},
    "required": ["total", "currency"],
}
BROKEN = "import json\n\n\ndef load(path):\n    with open(path as file:\n        return json.load(file)\n"
MENDED = BROKEN.replace("(path as", "(path) as")
SHOWN_SECONDS = 30


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def client(service: Service, request: pytest.FixtureRequest) -> Iterator[Client]:
    with Client(service.url, service.new_key(re.sub(r"\W", "-", request.node.name))) as opened:
        yield opened


def model_at(wire: Wire) -> OpenAIModel:
    """A client of the provider's package, whose server is ours."""
    return OpenAIModel(openai.OpenAI(base_url=f"{wire.url}/v1", api_key="none", max_retries=0), "scripted")


def opened(page: Page, service: Service, client: Client, running: Future[Any]) -> str:
    """Wait for the call in the inbox, and go to its page as an operator does."""
    log_in(page, service)
    for _ in range(SHOWN_SECONDS * 10):
        if running.done():
            running.result()
        if blocked := list(client.calls(state="blocked")):
            break
        page.wait_for_timeout(100)
    call_id = blocked[0].call_id
    link = page.locator(f'a[href="/calls/{call_id}/"]').first
    expect(link).to_be_visible(timeout=SHOWN_SECONDS * 1_000)
    link.click()
    return call_id


def send(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Send answer")).click()


def finished(page: Page) -> None:
    expect(page.locator(".call-title .pill")).to_have_text("Valid", timeout=SHOWN_SECONDS * 1_000)


def test_an_extraction_ends_with_the_arguments_that_a_person_corrected(
    service: Service, client: Client, page: Page, pool: ThreadPoolExecutor
) -> None:
    data = {"total": "forty-two", "currency": "Francs"}
    with answering(openai_says(None, ("submit", {"data": data}))) as wire:
        model = model_at(wire)
        running = pool.submit(
            lambda: extract(model, INVOICE, "Read the invoice.", contract=client, wait_for_guidance=60)
        )
        call_id = opened(page, service, client, running)
        expect(page.get_by_text("VAL-008").first).to_be_visible()
        page.get_by_text("Corrected extraction", exact=True).first.click()
        page.locator("textarea[name=arguments]").fill(json.dumps({"total": 42, "currency": "CHF"}))
        expect(page.locator("#preview")).to_contain_text("Send exactly this")
        send(page)
        value, metrics = running.result(60)
        assert (value, metrics.attempts, len(wire.requests)) == ({"total": 42, "currency": "CHF"}, 4, 3)
        finished(page)
    assert call_id in page.url


def test_a_response_goes_on_after_a_hint_and_the_log_tells_all_of_it(
    service: Service, client: Client, page: Page, pool: ThreadPoolExecutor
) -> None:
    task, wrong, right = f"refund-{uuid4()}", '{"action": "refund"', '{"action": "refund", "parameters": {"order": 7}}'
    with answering(*[openai_says(wrong)] * 3, openai_says(right)) as wire:
        model = model_at(wire)
        asked = [{"role": "user", "content": "What next?"}]
        running = pool.submit(
            lambda: respond_with_correction(model, asked, contract=client, task_id=task, turn=3, wait_for_guidance=60)
        )
        call_id = opened(page, service, client, running)
        page.get_by_label("What should the agent change?").fill("Close the braces and name the order.")
        expect(page.locator("#preview")).to_contain_text("> Close the braces and name the order.")
        send(page)
        assert running.result(60) == AgentResponse("refund", {"order": 7})
        finished(page)
        assert "> Close the braces" in wire.bodies[3]["messages"][-1]["content"]
    assert [line.status for line in client.agent_responses(call_id=call_id)] == ["MALFORMED"] * 3 + ["SUCCESS"]
    page.get_by_role("link", name="Responses").click()
    page.get_by_label("Task id").fill(task)
    page.get_by_role("button", name="Filter").click()
    words = page.locator(".log-mark").all_inner_texts()
    assert [word.strip() for word in words] == ["Malformed"] * 3 + ["Success"]
    page.locator(".log-line .row-link").first.click()
    expect(page).to_have_url(re.compile(f"/calls/{call_id}/[?]attempt=1#attempt-1$"))


def test_a_source_file_compiles_after_a_hint(
    service: Service, client: Client, page: Page, pool: ThreadPoolExecutor
) -> None:
    fenced: Callable[[str], str] = "```python\n{}```".format
    with answering(*[openai_says(fenced(BROKEN))] * 3, openai_says(fenced(MENDED))) as wire:
        model = model_at(wire)
        running = pool.submit(
            lambda: generate_file_with_retry(
                "src/load.py", "Write it.", model=model, contract=client, wait_for_guidance=60
            )
        )
        opened(page, service, client, running)
        expect(page.locator(".source").first).to_contain_text("with open(path as file:")
        expect(page.get_by_text("Corrected arguments", exact=True)).to_have_count(0)
        page.get_by_label("What should the agent change?").fill("Close the parenthesis in line 5.")
        send(page)
        assert running.result(60) == (MENDED, True)
        finished(page)
    expect(page.get_by_text("it is not JSON")).to_have_count(0)

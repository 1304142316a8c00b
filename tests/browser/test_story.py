"""The whole job in a real browser: an agent gets stuck, an operator answers, the page shows how it ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import NewPage
from tests.serving.service import AgentClient, Service

pytestmark = pytest.mark.browser

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
    "required": ["city", "unit"],
}


@pytest.fixture
def agent(service: Service, request: pytest.FixtureRequest) -> AgentClient:
    client = AgentClient(service, service.new_key(service.new_name(request.node.name)))
    client.register("get_weather", SCHEMA)
    return client


def stuck(agent: AgentClient, city: Any = "Bern") -> str:
    """Fail three times."""
    call_id: str | None = None
    for turn in range(1, 4):
        known = {"call_id": call_id} if call_id else {}
        verdict = agent.submit(
            "get_weather", f"w{turn}", {"city": city, "unit": "Celsius degrees"},
            context={"goal": "Tell the weather in Bern"}, turn=turn, **known,
        )  # fmt: skip
        call_id = verdict["call_id"]
    assert verdict["status"] == "blocked"
    return str(call_id)


def go_to(page: Page, aim: Locator, key: str = "Tab") -> None:
    """Press a key until the aim is focused."""
    expect(aim).to_be_visible()
    page.wait_for_load_state()  # before that, nobody hears the keys
    for _ in range(60):
        if aim.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not lead to {aim}")


def log_in_by_keyboard(page: Page, service: Service) -> None:
    page.goto(service.url)
    page.keyboard.type("operator")
    page.keyboard.press("Tab")
    page.keyboard.type(service.operator_password)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.url}/")


def log_in(page: Page, service: Service, name: str = "operator", password: str = "") -> None:
    page.goto(service.url)
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password or service.operator_password)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{service.url}/")


def test_an_operator_unblocks_an_agent_and_sees_it_finish_without_a_reload(
    service: Service, agent: AgentClient, page: Page
) -> None:
    log_in(page, service)
    call_id = stuck(agent)
    # The inbox shows it by itself.
    link = page.locator(f'a[href="/calls/{call_id}/"]').first
    expect(link).to_be_visible(timeout=15_000)
    link.click()
    expect(page.get_by_text("Tell the weather in Bern").first).to_be_visible()
    expect(page.get_by_text("VAL-008").first).to_be_visible()

    page.get_by_label("What should the agent change?").fill("The unit is 'celsius', in small letters.")
    expect(page.locator("#preview")).to_contain_text("> The unit is 'celsius', in small letters.")
    page.get_by_role("button", name=re.compile("Send answer")).click()
    expect(page.locator("body")).to_contain_text("The unit is 'celsius', in small letters.")

    guidance = agent.send("GET", f"/calls/{call_id}/wait?for=guidance").body["guidance"]
    assert "> The unit is 'celsius', in small letters." in guidance["text"]
    page.evaluate("document.documentElement.dataset.sameDocument = 'yes'")
    done = agent.submit("get_weather", "w4", {"city": "Bern", "unit": "celsius"}, call_id=call_id)
    assert done["state"] == "valid"
    expect(page.locator("h1, header, .state, main").filter(has_text="Valid").first).to_be_visible(timeout=15_000)
    assert page.evaluate("document.documentElement.dataset.sameDocument") == "yes", "the page was reloaded"


def test_the_whole_job_is_done_by_single_keys_without_a_mouse(service: Service, agent: AgentClient, page: Page) -> None:
    first, second = stuck(agent), stuck(agent, city=7)  # of the same mistakes they would be a group
    log_in_by_keyboard(page, service)
    go_to(page, page.locator(f"#link-{first}"), "j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(first))
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.type("The unit is 'celsius'.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#work")).to_contain_text("You have it until")
    expect(page).not_to_have_url(re.compile(first))
    assert agent.send("GET", f"/calls/{first}/guidance").body["decision"] == "hint"
    done = agent.submit("get_weather", "w4", {"city": "Bern", "unit": "celsius"}, call_id=first)
    assert done["state"] == "valid"
    page.wait_for_load_state()
    page.keyboard.press("i")
    go_to(page, page.locator(f"#link-{second}"), "j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(second))
    page.wait_for_load_state()
    page.keyboard.press("e")
    expect(page.locator("#id_arguments")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type('{"city": "Bern", "unit": "celsius"}')
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Sent to")).to_be_visible()
    assert agent.send("GET", f"/calls/{second}/guidance").body["arguments"] == {"city": "Bern", "unit": "celsius"}


def test_the_whole_job_is_done_by_tab_and_enter_where_single_keys_are_off(
    service: Service, agent: AgentClient, page: Page
) -> None:
    log_in_by_keyboard(page, service)
    go_to(page, page.get_by_role("link", name="Settings"))
    page.keyboard.press("Enter")
    keys = page.get_by_label("Single keys", exact=False)
    go_to(page, keys)
    page.keyboard.press("Space")
    go_to(page, page.get_by_role("button", name="Save"))
    page.keyboard.press("Enter")
    call_id = stuck(agent)
    go_to(page, page.get_by_role("link", name="Inbox"))
    page.keyboard.press("Enter")
    go_to(page, page.locator(f"#link-{call_id}"))
    page.keyboard.press("g")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(call_id))
    go_to(page, page.get_by_role("radio", name="Hint"))
    go_to(page, page.get_by_label("What should the agent change?"))
    page.keyboard.type("Write 'celsius'.")
    go_to(page, page.get_by_role("button", name="Send answer"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Sent to")).to_be_visible()
    done = agent.submit("get_weather", "w4", {"city": "Bern", "unit": "celsius"}, call_id=call_id)
    assert done["state"] == "valid"


def hold_the_answer(page: Page) -> list[Route]:
    """Send the answer, and keep it on its way."""
    held: list[Route] = []
    page.route("**/calls/*/", lambda route: held.append(route) if route.request.method == "POST" else route.fallback())
    page.get_by_role("button", name="Send answer").click(no_wait_after=True)
    while not held:
        page.wait_for_timeout(50)
    return held


def test_of_two_answers_that_travel_side_by_side_one_counts_and_the_other_text_stands(
    service: Service, agent: AgentClient, new_page: NewPage
) -> None:
    call_id, pages, held = stuck(agent), [new_page(), new_page()], []
    leo = service.new_name("leo")
    passwords = {"operator": service.operator_password, leo: service.new_operator(leo, "operator")}
    for page, (name, password) in zip(pages, passwords.items(), strict=True):
        log_in(page, service, name, password)
        page.goto(f"{service.url}/calls/{call_id}/")
        page.get_by_label("What should the agent change?").fill(f"The words of {name}")
        held += hold_the_answer(page)
    for route in held:
        route.continue_()
    for page in pages:
        expect(page.locator("main")).to_contain_text(re.compile(r"has\s+answered this call|Sent to"))
    given = agent.send("GET", f"/calls/{call_id}/guidance").body["text"]
    first, second = pages if "> The words of operator" in given else reversed(pages)
    expect(first.get_by_text("Sent to")).to_be_visible()
    expect(second.locator("#answer-notice")).to_contain_text("has answered this call")
    kept = second.get_by_label("What should the agent change?").input_value()
    assert kept.startswith("The words of")
    assert f"> {kept}" not in given


def test_corrected_arguments_are_checked_while_they_are_typed(service: Service, agent: AgentClient, page: Page) -> None:
    call_id = stuck(agent)
    log_in(page, service)
    page.goto(f"{service.url}/calls/{call_id}/")
    page.get_by_text("Corrected arguments", exact=True).first.click()
    editor = page.locator("textarea[name=arguments]")
    editor.fill('{"city": "Bern", "unit": "kelvin"}')
    expect(page.locator("#preview")).to_contain_text("VAL-008")
    editor.fill('{"city": "Bern", ')
    expect(page.locator("#preview")).to_contain_text("not JSON")
    editor.fill('{"city": "Bern", "unit": "celsius"}')
    expect(page.locator("#preview")).to_contain_text("Send exactly these")
    editor.press("Control+Enter")  # sends, and goes on to the next call where one waits
    sent = page.get_by_text("corrected the arguments").or_(page.get_by_text("Sent to"))
    expect(sent.first).to_be_visible()
    assert agent.send("GET", f"/calls/{call_id}/guidance").body["arguments"] == {"city": "Bern", "unit": "celsius"}


def test_the_whole_job_works_without_javascript(service: Service, agent: AgentClient, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    log_in(page, service)
    call_id = stuck(agent)
    page.goto(f"{service.url}/")
    page.locator(f'a[href="/calls/{call_id}/"]').first.click()
    page.locator("textarea[name=text]").fill("Write 'celsius'.")
    page.get_by_role("button", name=re.compile("Send answer")).click()
    expect(page.locator("body")).to_contain_text("> Write 'celsius'.")
    done = agent.submit("get_weather", "w4", {"city": "Bern", "unit": "celsius"}, call_id=call_id)
    assert done["state"] == "valid"


def test_no_page_asks_anybody_else_and_the_console_stays_silent(
    service: Service, agent: AgentClient, page: Page
) -> None:
    call_id = stuck(agent)
    asked: set[str] = set()
    complaints: list[str] = []
    page.on("request", lambda request: asked.add(request.url))
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    log_in(page, service)
    page.goto(f"{service.url}/calls/{call_id}/")
    page.wait_for_timeout(4_000)
    assert {url for url in asked if not url.startswith((service.url, "data:"))} == set()
    assert complaints == []

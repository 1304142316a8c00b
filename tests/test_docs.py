"""The documents say what the code does."""

from __future__ import annotations

import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from retrycontract import client
from retrycontract.api import problems
from retrycontract.config.service_settings import PREFIX, ServiceSettings, range_of
from retrycontract.contract.codes import CATALOGUE, ErrorCode
from retrycontract.contract.configuration import RANGES, RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.tool_result import RENDERERS
from retrycontract.contract.outputs import Generation
from retrycontract.contract.webhooks import DETAILS, AgentEvent, WebhookEvent, secret_of, sign
from retrycontract.store.models import Attempt
from retrycontract.usecases.counts.keep_count import charge, count_unasked
from retrycontract.usecases.probes import HELP, MetricsReader
from retrycontract.usecases.probes import PREFIX as METRICS
from tests.factories import answer, make_blocked, make_user

ROOT = Path(__file__).resolve().parent.parent
RECIPES = sorted(set((ROOT / "examples").glob("*_agent.py")) - {ROOT / "examples" / "client_agent.py"})


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(ServiceSettings.model_fields))
def test_every_setting_of_the_service_is_described_as_the_code_describes_it(name: str) -> None:
    setting = ServiceSettings.model_fields[name]
    row = next(
        line for line in read("docs/settings.md").splitlines() if line.startswith(f"| `{PREFIX}{name.upper()}` |")
    )
    assert setting.description is not None
    assert setting.description in row
    assert row.split("|")[3].strip() == range_of(name)


def test_no_setting_is_described_that_does_not_exist() -> None:
    described = set(re.findall(rf"^\| `{PREFIX}(\w+)`", read("docs/settings.md"), re.MULTILINE))
    known = set(ServiceSettings.model_fields) | {setting.name for setting in fields(RetryConfiguration)}
    assert {name.lower() for name in described} <= known


@pytest.mark.parametrize("setting", fields(RetryConfiguration), ids=lambda setting: setting.name)
def test_every_setting_of_the_contract_is_described_with_its_range(setting: object) -> None:
    name = setting.name  # type: ignore[attr-defined]
    row = next(line for line in read("docs/settings.md").splitlines() if f"`{name}`" in line)
    if name in RANGES:
        low, high = RANGES[name]
        assert f"{low}–{high}" in row


def test_every_provider_that_an_answer_can_be_rendered_for_is_named() -> None:
    described = read("docs/agents.md")
    assert [provider for provider in RENDERERS if f"`{provider}`" not in described] == ["openai"]
    assert '`"render": "openai"`' in described


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_is_described_with_its_title_and_message(code: ErrorCode) -> None:
    entry = CATALOGUE[code]
    row = next(line for line in read("docs/codes.md").splitlines() if line.startswith(f"| {code.value} |"))
    assert entry.title in row
    assert entry.template in row


def test_every_problem_code_is_described() -> None:
    source = (Path(problems.__file__).read_text() + read("retrycontract/api/routes.py")
              + read("retrycontract/api/requests.py") + read("retrycontract/api/requests.py"))  # fmt: skip
    used = set(re.findall(r'(?:problem_response|Problem)\(\d+, "([a-z-]+)"', source))
    assert used
    described = read("docs/agents.md")
    assert {code for code in used if f"`{code}`" not in described} <= {"internal"}


@pytest.mark.parametrize(
    ("document", "example"), [("README.md", "examples/client_agent.py"), ("docs/agents.md", "examples/agent.py")]
)
def test_a_document_shows_the_loop_of_an_example_agent(document: str, example: str) -> None:
    loop = re.search(r"```python\n(    (?:session|while) .*?)```", read(document), re.DOTALL)
    assert loop is not None
    assert loop.group(1).rstrip() in read(example)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_what_is_shown_of_a_recipe_stands_in_its_file(recipe: Path) -> None:
    section = read("docs/client.md").partition("## With your framework\n")[2].partition("\n## ")[0]
    shown = re.findall(r"\(\.\./examples/(\w+\.py)\).*?```python\n(.*?)```", section, re.DOTALL)
    assert len(shown) == len(RECIPES) == section.count("```python")
    assert dict(shown)[recipe.name] in recipe.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in client.__all__ if name.endswith("Error")])
def test_every_error_of_the_client_is_described(name: str) -> None:
    assert f"`{name}`" in read("docs/client.md")


@pytest.mark.parametrize("name", [name for name in vars(client.Client) if name[0] != "_"])
def test_every_operation_of_the_client_is_described(name: str) -> None:
    assert f"`{name}(" in read("docs/client.md")


def test_the_documented_way_to_verify_a_webhook_takes_what_is_signed_and_nothing_else() -> None:
    snippet = re.search(r"```python\n(import base64.*?)```", read("docs/notifications.md"), re.DOTALL)
    assert snippet is not None
    documented: dict[str, Any] = {}
    exec(snippet.group(1), documented)
    is_genuine, secret, now = documented["is_genuine"], secret_of(bytes(32)), int(time.time())
    for moment, body, is_taken in ((now, b"{}", True), (now, b"{} ", False), (now - 400, b"{}", False)):
        signature = sign([secret_of(bytes(24)), secret], "msg_1", moment, b"{}")
        headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(moment), "Webhook-Signature": signature}
        assert is_genuine(secret, headers, body) is is_taken
    assert not is_genuine(secret, {}, b"{}")


@pytest.mark.parametrize("event", list(WebhookEvent))
def test_every_event_that_systems_are_told_of_is_described(event: WebhookEvent) -> None:
    assert f"| `{event.value}` |" in read("docs/notifications.md")


@pytest.mark.django_db
def test_every_metric_is_described_with_its_type_and_labels() -> None:
    call = make_blocked(generation=Generation(model="m", tokens_in=1))
    answer(call, make_user(), Decision.ACCEPT)
    count_unasked(Attempt(call=call, number=4, api_error="HTTP 429"), source=call.state, now=timezone.now())
    charge(call.agent_id, 1, now=timezone.now())
    families = MetricsReader().read(now=timezone.now(), waiting_requests=0)
    assert {family.name for family in families} == {f"{METRICS}{name}" for name in HELP}
    for family in families:
        labels = ", ".join(f"`{name}`" for name, _ in family.samples[0].labels)
        row = f"| `{family.name}` | {family.type} | {labels} | {family.help} |".replace("|  |", "| |")
        described = re.findall(rf"^\| `{family.name}` .*", read("docs/operating.md"), re.MULTILINE)
        assert described == [row], row


@pytest.mark.parametrize("event", list(AgentEvent))
def test_every_event_that_agents_follow_is_described_with_its_details(event: AgentEvent) -> None:
    row = next(line for line in read("docs/agents.md").splitlines() if line.startswith(f"| `{event.value}` |"))
    assert all(f"`{detail}`" in row for detail in DETAILS.get(event, ()))


def test_links_of_the_documents_lead_somewhere() -> None:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for document in documents:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"

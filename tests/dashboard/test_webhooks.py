"""The webhooks at the desk: added, changed, given new secrets, switched, and looked into."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from dashboard import webhooks
from dashboard.webhooks import PAGE
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import (
    Channel,
    ChannelTurn,
    Door,
    Event,
    OutboxMessage,
    WebhookDelivery,
    WebhookEndpoint,
)
from retrycontract.usecases.notify.drain_outbox import drain_endpoints
from retrycontract.usecases.notify.tend_endpoint import MOST_ON, add_endpoint
from tests.dashboard.conftest import csrf_token, text_of
from tests.factories import make_agent, make_blocked
from tests.serving.receivers import receiving
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db
SECRET_PATH = "hush-T000-B000-verysecret"
ADDRESS = f"https://hooks.example/{SECRET_PATH}"
FORM: dict[str, Any] = {"agent": "", "address": ADDRESS, "events": ["call.blocked", "call.expired"]}


def make_endpoint(address: str = ADDRESS) -> WebhookEndpoint:
    by: dict[str, Any] = {"now": timezone.now(), "actor": "setup", "door": Door.COMMAND}
    return add_endpoint(address, list(WebhookEvent), **by)[0]


def make_message(endpoint: WebhookEndpoint, **fields: Any) -> OutboxMessage:
    now = timezone.now()
    body = json.dumps({"type": "call.blocked", "data": {"tool": "<b>deploy</b>"}})
    return OutboxMessage.objects.create(
        channel=Channel.ENDPOINT, endpoint=endpoint, subject="call.blocked", text=body, created_at=now,
        **({"due_at": now} | fields),
    )  # fmt: skip


def at(endpoint: WebhookEndpoint, rest: str = "") -> str:
    return f"/settings/webhooks/{endpoint.public_id}/{rest}"


def trail() -> list[tuple[str, str, dict[str, Any]]]:
    return [(event.name, event.door, event.data) for event in Event.objects.filter(actor="ada").order_by("pk")]


def shown_secret(page: Any) -> str:
    found = re.search(r'id="shown-once">(whsec_[^<]+)<', page.content.decode())
    assert found is not None
    assert "no-store" in page["Cache-Control"]
    # No message carries it, and the session, which remembers the form, is looked into where it does.
    assert set(page.cookies) <= {"csrftoken", "sessionid"}
    return found.group(1)


def test_a_form_that_is_sent_again_adds_no_other_endpoint_and_makes_no_other_secret(admin: Client) -> None:
    form = FORM | {"csrfmiddlewaretoken": csrf_token(admin.get("/settings/webhooks/new/"))}
    text = shown_secret(admin.post("/settings/webhooks/new/", form))
    again = admin.post("/settings/webhooks/new/", form, follow=True)
    assert "No other endpoint was added" in text_of(again)
    endpoint = WebhookEndpoint.objects.get()
    rotated = {"csrfmiddlewaretoken": csrf_token(admin.get(at(endpoint)))}
    second = shown_secret(admin.post(at(endpoint, "secret/"), rotated))
    again = admin.post(at(endpoint, "secret/"), rotated, follow=True)
    assert "No other secret was made" in text_of(again)
    endpoint.refresh_from_db()
    assert endpoint.secrets_at(timezone.now()) == [second, text]
    assert text not in str(dict(admin.session)) + again.content.decode()


def test_endpoints_of_one_host_are_told_apart(admin: Client) -> None:
    first, second = make_endpoint(), make_endpoint()
    page = text_of(admin.get("/settings/webhooks/"))
    for one in (first, second):
        assert f"Added just now · id …{one.public_id[-6:]}" in page
        assert one.public_id in text_of(admin.get(at(one)))


def test_no_endpoint_yet_is_said_with_what_to_do(admin: Client) -> None:
    assert "No system is told yet" in text_of(admin.get("/settings/webhooks/"))
    assert 'href="/settings/webhooks/"' in admin.get("/settings/").content.decode()


def test_an_endpoint_is_added_and_its_secret_shown_once(admin: Client) -> None:
    agent = make_agent()
    secret = shown_secret(admin.post("/settings/webhooks/new/", FORM | {"agent": agent.pk}))
    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.agent, endpoint.address, endpoint.events) == (agent, ADDRESS, FORM["events"])
    assert endpoint.secrets_at(timezone.now()) == [secret]
    for path in ("/settings/webhooks/", at(endpoint)):
        page = admin.get(path)
        assert "hooks.example" in text_of(page)
        assert "deployer" in text_of(page)
        assert "call.expired" in text_of(page)
        assert secret not in page.content.decode()
    assert [name for name, _, _ in trail()] == ["endpoint.added"]


def test_no_page_and_no_event_holds_the_whole_address(admin: Client) -> None:
    added = admin.post("/settings/webhooks/new/", FORM).content.decode()
    endpoint = WebhookEndpoint.objects.get()
    pages = [added, *(admin.get(path).content.decode() for path in ("/settings/webhooks/", at(endpoint)))]
    assert not any(SECRET_PATH in text for text in [*pages, str(trail())])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"address": "http://hooks.example/"}, "Write it as https://host/path"),
        ({"address": "https://münchen.example/"}, "a name with other letters than a to z as xn--…"),
        (
            {"address": f"https://hooks.example/{'x' * 500}"},
            "at most 500 characters",
        ),  # not cut, which nobody would see
        ({"address": ""}, "Write where messages are to go"),
        ({"events": []}, "Choose at least one"),
        ({"events": ["call.made"]}, "call.made is not one of"),
        ({"agent": "999"}, "not one of the available choices"),
    ],
    ids=lambda wrong: str(wrong),
)
def test_what_cannot_be_used_is_refused_with_the_reason_and_stays(
    admin: Client, wrong: dict[str, Any], said: str
) -> None:
    page = admin.post("/settings/webhooks/new/", FORM | wrong)
    assert (page.status_code, said in text_of(page)) == (422, True)
    assert not WebhookEndpoint.objects.exists()
    assert f'value="{wrong.get("address", ADDRESS)}"' in page.content.decode()
    assert "maxlength" not in re.findall(r'<input id="id_address".*?>', page.content.decode(), re.DOTALL)[0]


def test_an_address_left_empty_stays_and_a_new_one_is_taken(admin: Client) -> None:
    endpoint = make_endpoint()
    admin.post(at(endpoint), {"address": "", "events": ["call.blocked"]})
    endpoint.refresh_from_db()
    assert (endpoint.address, endpoint.events, endpoint.is_active) == (ADDRESS, ["call.blocked"], True)
    page = admin.post(at(endpoint), {"address": "https://new.example/x", "events": ["call.blocked"]}, follow=True)
    assert "new.example" in text_of(page)
    assert [(name, data["changes"].keys()) for name, _, data in trail()] == [
        ("endpoint.changed", {"events"}), ("endpoint.changed", {"address"}),
    ]  # fmt: skip
    refused = admin.post(at(endpoint), {"address": "ftp://x", "events": ["call.blocked"]})
    assert (refused.status_code, "Write it as https" in text_of(refused)) == (422, True)


def test_a_new_secret_is_shown_once_and_the_old_one_holds_for_a_day(admin: Client) -> None:
    endpoint = make_endpoint()
    (before,) = endpoint.secrets_at(timezone.now())
    page = admin.post(at(endpoint, "secret/"))
    assert "The one before holds for 24 hours more" in text_of(page)
    endpoint.refresh_from_db()
    assert endpoint.secrets_at(timezone.now()) == [shown_secret(page), before]
    assert trail() == [("endpoint.secret_rotated", "dashboard", {"endpoint": endpoint.public_id})]


def test_an_endpoint_is_switched_off_and_on_again_even_when_it_was_gone(admin: Client) -> None:
    endpoint = make_endpoint()
    assert "Off" in text_of(admin.post(at(endpoint, "switch/"), {"switch": "off"}, follow=True))
    admin.post(at(endpoint, "switch/"), {"switch": "off"})  # twice is once
    assert [data["changes"] for _, _, data in trail()] == [{"is_active": False}]
    WebhookEndpoint.objects.update(gone_at=timezone.now())
    assert "answered that it is gone" in text_of(admin.get(at(endpoint)))
    admin.post(at(endpoint, "switch/"), {"switch": "on"})
    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.gone_at) == (True, None)


def test_the_log_tells_every_try_as_it_went(admin: Client, settings: Settings) -> None:
    configure(settings, allow_private_webhooks=True, webhook_timeout_seconds=5.0)
    now = timezone.now()
    with receiving() as receiver:
        endpoint = make_endpoint(receiver.url)
        receiver.status = 503
        make_blocked()
        drain_endpoints(now=now + timedelta(minutes=1), clock=timezone.now, chance=lambda: 0.0)
        text = text_of(admin.get(at(endpoint)))
        for words in ("call.blocked", "To be retried", "Tries 1", "503", "The last 1 try failed"):
            assert words in text
        assert "Failing" in text_of(admin.get("/settings/webhooks/"))
        receiver.status = 200
        drain_endpoints(now=now + timedelta(hours=1), clock=timezone.now, chance=lambda: 0.0)
    text = text_of(admin.get(at(endpoint)))
    for words in ("Delivered", "Tries 2", "503", "200", '"type": "call.blocked"'):
        assert words in text


def test_what_was_delivered_or_given_up_is_sent_again_and_what_waits_is_not(admin: Client) -> None:
    endpoint, now = make_endpoint(), timezone.now()
    given_up, waits = make_message(endpoint, given_up_at=now, tries=9), make_message(endpoint)
    page = admin.get(at(endpoint)).content.decode()
    assert (page.count("Send again"), "Given up" in page) == (1, True)
    assert "is sent again" in text_of(admin.post(at(endpoint, f"messages/{given_up.public_id}/"), follow=True))
    assert "tried anyway" in text_of(admin.post(at(endpoint, f"messages/{waits.public_id}/"), follow=True))
    given_up.refresh_from_db()
    assert given_up.given_up_at is None
    told = {"message": given_up.public_id, "channel": "endpoint"}
    assert trail() == [("message.sent_again", "dashboard", told)]


def test_a_message_is_found_at_its_own_endpoint_only(admin: Client) -> None:
    message, other = make_message(make_endpoint()), make_endpoint("https://other.example/")
    to_people = OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t", created_at=timezone.now())
    for one in (message, to_people):
        assert admin.post(at(other, f"messages/{one.public_id}/")).status_code == 404


def test_what_is_sent_and_what_a_receiver_said_are_shown_escaped(admin: Client) -> None:
    endpoint, now = make_endpoint(), timezone.now()
    message = make_message(endpoint, tries=1)
    WebhookDelivery.objects.create(message=message, tried_at=now, status=500, reason="<i>no</i>", duration_ms=7)
    page = admin.get(at(endpoint)).content.decode()
    assert ("&lt;b&gt;deploy" in page, "&lt;i&gt;no" in page, "<b>deploy" in page) == (True, True, False)


def test_the_log_goes_on_page_by_page(admin: Client) -> None:
    endpoint = make_endpoint()
    ids = [make_message(endpoint).public_id for _ in range(PAGE + 3)]
    first = admin.get(at(endpoint)).content.decode()
    found = re.search(r"\?after=\d+", first)
    assert found is not None
    second = admin.get(at(endpoint) + found.group()).content.decode()
    assert [[f'id="{one}"' in page for page in (first, second)] for one in ids] == (
        [[False, True]] * 3 + [[True, False]] * PAGE
    )
    assert "Older messages" not in second


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "9" * 5000, "\u0663"])
def test_a_page_that_is_not_there_breaks_nothing(admin: Client, after: str) -> None:
    assert admin.get(at(make_endpoint()), {"after": after}).status_code == 200


@pytest.mark.parametrize("rest", ["", "switch/", "secret/", "messages/msg_x/"])
def test_an_endpoint_that_is_not_there_is_not_found(admin: Client, rest: str) -> None:
    assert admin.post(f"/settings/webhooks/ep_x/{rest}").status_code == 404


def test_a_long_list_says_how_many_are_not_shown(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_ENDPOINTS", 2)
    for number in range(5):
        make_endpoint(f"https://x{number}.example/")
    page = admin.get("/settings/webhooks/").content.decode()
    assert page.count('class="card endpoint"') == 2
    assert "3 newer endpoints are not shown here" in page


@pytest.mark.parametrize("whose", [None, "deployer"])
def test_no_more_are_on_than_a_call_can_bear_and_what_is_on_is_changed_all_the_same(
    admin: Client, whose: str | None
) -> None:
    agent, other = make_agent("deployer"), make_agent("writer")
    form = FORM | {"agent": agent.pk if whose else ""}
    shown = [admin.post("/settings/webhooks/new/", form).status_code for _ in range(MOST_ON)]
    assert set(shown) == {200}
    refused = admin.post("/settings/webhooks/new/", form)
    said = f"{MOST_ON} endpoints are on for {whose or 'all agents'}, and no more can be"
    assert (refused.status_code, said in text_of(refused)) == (422, True)
    assert f'value="{ADDRESS}"' in refused.content.decode()
    # Those of others are counted by themselves.
    assert admin.post("/settings/webhooks/new/", FORM | {"agent": other.pk}).status_code == 200

    first, *_, last = WebhookEndpoint.objects.filter(agent=agent if whose else None)
    assert admin.post(at(first), {"address": "", "events": ["call.expired"]}).status_code == 302
    admin.post(at(last, "switch/"), {"switch": "off"})
    assert admin.post("/settings/webhooks/new/", form).status_code == 200
    page = admin.post(at(last, "switch/"), {"switch": "on"}, follow=True)
    assert said in text_of(page)
    assert "sent what waits for it" not in text_of(page)
    assert not WebhookEndpoint.objects.get(pk=last.pk).is_active


def test_the_number_of_queries_does_not_grow_with_endpoints_and_messages(admin: Client) -> None:
    endpoint = make_endpoint()

    def queries() -> list[int]:
        counts = []
        for path in ("/settings/webhooks/", at(endpoint)):
            with CaptureQueriesContext(connection) as captured:
                admin.get(path)
            counts.append(len(captured))
        return counts

    def fill() -> None:
        message = make_message(endpoint, tries=2)
        for _ in range(2):
            WebhookDelivery.objects.create(message=message, tried_at=timezone.now(), status=500, duration_ms=7)
        other = make_endpoint("https://other.example/")
        ChannelTurn.objects.create(channel=Channel.ENDPOINT, endpoint=other, free_at=timezone.now())

    fill()
    queries()
    few = queries()
    for _ in range(4):
        fill()
    assert queries() == few

"""Every page of the desk: fit to be seen and used, and asking nobody but the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from dashboard.navigation import Role, give_role
from dashboard.urls import urlpatterns
from retrycontract.store.models import SavedReply, WebhookEndpoint
from tests.browser.scene import make_desk
from tests.browser.states import make_endpoint, make_keys, make_states
from tests.browser.test_desk import LOOKS, Looks, Scheme, Site, check_access, check_look, check_width, opened, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import ConsoleMessage, Page
    from pytest_django.live_server_helper import LiveServer

    from retrycontract.store.models import Call
    from tests.browser.conftest import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Keys = dict[str, object]
# Page -> what its address needs, of a call that is Blocked.
PAGES: Final[dict[str, Callable[[Call], Keys]]] = {
    "inbox": lambda _: {},
    "call": lambda call: {"public_id": call.public_id},
    "calls": lambda _: {},
    "find": lambda _: {},
    "snooze": lambda call: {"public_id": call.public_id},
    "group": lambda call: {"public_id": call.public_id},
    "hints": lambda _: {},
    "agent_responses": lambda _: {},
    "agents": lambda _: {},
    "new_agent": lambda _: {},
    "agent": lambda call: {"agent_id": call.agent_id},
    "insights": lambda _: {},
    "playground": lambda _: {},
    "tools": lambda _: {},
    "new_tool": lambda _: {},
    "tool": lambda call: {"pk": call.tool_id},
    "edit_schema": lambda call: {"pk": call.tool_id},
    "audit": lambda _: {},
    "settings": lambda _: {},
    "replies": lambda _: {},
    "reply": lambda _: {"reply_id": SavedReply.objects.earliest("pk").pk},
    "webhooks": lambda _: {},
    "new_webhook": lambda _: {},
    "webhook": lambda _: {"endpoint_id": WebhookEndpoint.objects.get().public_id},
    "password": lambda _: {},
    "second_factor": lambda _: {},
    "components": lambda _: {},
}
# What is no page: it only takes something, or gives a file or a stream.
ACTIONS: Final = {
    "preview", "claim", "next", "undo", "keep_reply", "switch_off_hint", "release_version", "delete_reply", "logout",
    "live", "export_insights", "export_calls", "export_audit", "favicon", "issue_key", "revoke_key",
    "switch_webhook", "rotate_webhook", "redeliver", "provider", "provider_answer", "provider_leave",
}  # fmt: skip
LOGIN: Final = "login"


class Watch:
    """Note what a page complains of, and whom it asks."""

    def __init__(self, page: Page, own: str) -> None:
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self._own = (own, "data:", "blob:")
        page.on("console", self._said)
        page.on("request", lambda request: self._asked(request.url))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, address: str) -> None:
        if not address.startswith(self._own):
            self.strangers.append(address)


def test_every_page_has_a_row() -> None:
    """A page that is new stands in no table yet, and nobody has looked at it."""
    assert {pattern.name for pattern in urlpatterns} == PAGES.keys() | ACTIONS | {LOGIN}


def shown_for_a_form(site: Site, call: Call) -> Iterator[str]:
    """Open what no address shows: secrets that are shown once, and what is said when something broke."""
    page, endpoint = site.page, WebhookEndpoint.objects.get().public_id
    page.goto(f"{site.url}/settings/second-factor/")
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_label("The code that the app shows")).to_be_visible()
    yield "second-factor-secret"
    page.goto(f"{site.url}/agents/{call.agent_id}/")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_role("heading", name="A key for")).to_be_visible()
    yield "key-issued"
    page.goto(f"{site.url}/settings/webhooks/{endpoint}/")
    page.get_by_role("button", name="Make a new secret").click()
    expect(page.get_by_role("heading", name="The new secret")).to_be_visible()
    yield "webhook-secret"
    typed = {"was_sent": True, "address": "/", "fields": [("text", "Use ZRH.")], "typed": [("Your text", "Use ZRH.")]}
    broken: dict[str, tuple[str, dict[str, Any]]] = {
        "broken": ("500.html", {}), "away": ("unavailable.html", {"seconds": 1}),
        "away-typed": ("unavailable.html", typed),
    }  # fmt: skip
    for name, (template, context) in broken.items():
        body = render_to_string(template, context)
        page.route(
            f"**/{name}/", lambda route, _, body=body: route.fulfill(status=503, body=body, content_type="text/html")
        )
        page.goto(f"{site.url}/{name}/")
        yield name
    page.goto(f"{site.url}/away/")
    page.unroute("**/away/")
    expect(page.get_by_role("heading", name="Nothing is here")).to_be_visible()  # it came by itself, and there is none


@pytest.mark.soak
@pytest.mark.parametrize("looks", LOOKS)
def test_every_page_is_handsome_open_to_everybody_and_alone_with_the_service(
    live_server: LiveServer, new_page: NewPage, looks: Looks
) -> None:
    desk = make_desk(timezone.now())
    blocked, mia = desk.blocked, desk.operator
    make_states(mia, timezone.now())
    make_keys(blocked.agent, timezone.now())
    make_endpoint(timezone.now())
    User.objects.filter(pk=mia.pk).update(is_staff=True, is_superuser=True)  # who sees every page
    site = Site(live_server.url, opened(new_page, looks))
    watch = Watch(site.page, live_server.url)
    site.log_in()
    for name, keys_of in PAGES.items():
        answer = site.page.goto(live_server.url + reverse(f"dashboard:{name}", kwargs=keys_of(blocked)))
        assert answer is not None
        assert answer.status == 200, name
        assert "unsafe-" not in answer.headers["content-security-policy"], name
        check_look(site.page, f"page-{name}", looks)
    assert (watch.complaints, watch.strangers) == ([], [])
    for name in shown_for_a_form(site, blocked):
        check_look(site.page, f"page-{name}", looks)
    assert watch.strangers == []


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("role", list(Role))
def test_every_page_is_open_to_every_role_in_every_width_and_zoomed(
    live_server: LiveServer, new_page: NewPage, role: Role, scheme: Scheme
) -> None:
    desk = make_desk(timezone.now())
    blocked, mia = desk.blocked, desk.operator
    make_states(mia, timezone.now())
    make_keys(blocked.agent, timezone.now())
    make_endpoint(timezone.now())
    give_role(mia, role)
    site = Site(live_server.url, new_page(color_scheme=scheme))
    page = site.page
    site.log_in()
    refused = set()
    for name, keys_of in PAGES.items():
        answer = page.goto(live_server.url + reverse(f"dashboard:{name}", kwargs=keys_of(blocked)))
        assert answer is not None
        if answer.status == 403:  # its page is looked at all the same
            refused.add(name)
        else:
            assert answer.status == 200, name
        check_every_width(page, f"every-{name}-{role}-{scheme}")
    assert bool(refused) is (role is not Role.ADMIN)
    if role is Role.ADMIN:
        for name in shown_for_a_form(site, blocked):
            check_every_width(page, f"every-{name}-{role}-{scheme}")


def check_every_width(page: Page, name: str) -> None:
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        picture(page, f"{name}-{width}")
        check_access(page, f"{name} {width}")
    # As wide as a page is at 320 pixels, and one of 1440 that is zoomed to 200 %.
    for width in (320, 720):
        page.set_viewport_size({"width": width, "height": 450})
        check_width(page, f"{name} {width}")


def test_a_login_with_a_provider_is_fit_to_be_seen_and_used(
    live_server: LiveServer, new_page: NewPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_id": "desk", "oidc_name": "Acme Single Sign-on of Europe"}
    monkeypatch.setattr(settings, "RETRYCONTRACT", settings.RETRYCONTRACT.model_copy(update=told))
    page = new_page()
    page.goto(f"{live_server.url}/login/")
    check_look(page, "login-provider", (("light", 360), ("dark", 360)))
    buttons = page.locator(".plain-card .wide").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().x)")
    assert len(set(buttons)) == 1

"""Clients that are logged in by role, an identity provider, and htmx as the browser sends it."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from django.test import Client

from dashboard.navigation import Role
from tests.factories import make_user
from tests.serving.provider import CLIENT_ID, CLIENT_SECRET, Provider, serving
from tests.usecases.conftest import configure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from pytest_django import Settings


class Page(Protocol):
    """What the test client answers."""

    status_code: int

    @property
    def content(self) -> bytes: ...

    def __getitem__(self, header: str) -> str: ...


HTMX = {"HX-Request": "true"}


@pytest.fixture
def mia(db: None) -> User:
    """An operator."""
    return make_user("mia")


@pytest.fixture
def desk(mia: User) -> Client:
    """The browser of the operator."""
    return logged_in(mia)


@pytest.fixture
def viewer(db: None) -> Client:
    """The browser of somebody who may only read."""
    return logged_in(make_user("vera", Role.VIEWER))


@pytest.fixture
def admin(db: None) -> Client:
    """The browser of somebody who looks after the service."""
    return logged_in(make_user("ada", Role.ADMIN))


ROLES = ["heads=admin", "desk=operator", "cn=all,dc=x=viewer"]


@pytest.fixture
def provider(db: None, settings: Settings) -> Iterator[Provider]:
    """An identity provider whose groups have roles here; noor is at the desk."""
    with serving() as provider:
        provider.who |= {"groups": ["desk"], "email": "noor@example.com", "email_verified": True}
        configure(
            settings,
            oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID, oidc_client_secret=CLIENT_SECRET, oidc_roles=ROLES,
        )  # fmt: skip
        yield provider


def logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def ids(response: Page) -> list[str]:
    """List the calls of a page's rows."""
    return re.findall(r'id="row-(call_\w+)"', response.content.decode())


def file_of(desk: Client, address: str) -> str:
    """Read what is downloaded."""
    return b"".join(desk.get(address)).decode()


def text_of(response: Page) -> str:
    """Give what a person reads: tags removed, white space as one blank."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    apart = re.sub(r"<(?=/?(?:p|li|div|h\d|dt|dd|a|button|label)\b)", " <", page)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", apart)))


def csrf_token(response: Page) -> str:
    """Give the token of the page's forms, which is another for each page."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', response.content.decode())
    assert found is not None
    return found[1]


def go(client: Client, provider: Provider, **query: str) -> Any:
    """Go to the provider and come back; give the desk's answer."""
    begun = client.get("/login/provider/", query)
    assert begun.status_code == 302, text_of(begun)
    return client.get(provider.log_in(begun["Location"]))


def refusal_of(client: Client, provider: Provider) -> str:
    """Go to the provider and come back to be refused; give what the page says."""
    return told(client, go(client, provider))


def told(client: Client, refusal: Any) -> str:
    """Give what somebody reads who was refused, at an address without the provider's answer."""
    assert (refusal.status_code, refusal.headers.get("Location")) == (302, "/login/"), text_of(refusal)
    return text_of(client.get("/login/"))


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give what the log says of log-ins that failed."""
    return [record.reason for record in caplog.records if record.msg == "Log-in through the provider failed"]  # type: ignore[attr-defined]

"""What a provider answers that must be refused, and how the log tells one from another."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from joserfc.jwk import RSAKey

from retrycontract.management.doctor.surroundings import provider as provider_findings
from tests.dashboard.conftest import go, reasons, refusal_of
from tests.serving.provider import CLIENT_ID, CLIENT_SECRET, Provider

pytestmark = pytest.mark.django_db
CONFIGURATION = "/.well-known/openid-configuration"
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another nonce": ({"lies": {"nonce": "another"}}, "claim nonce"),
    "no nonce": ({"lies": {"nonce": None}}, "claim nonce"),
    "another issuer": ({"lies": {"iss": "https://evil.example"}}, "claim iss"),
    "no issuer": ({"lies": {"iss": None}}, "claim iss"),
    "another audience": ({"lies": {"aud": "another-app"}}, "claim aud"),
    "another audience, for us in words": ({"lies": {"aud": "another-app", "azp": CLIENT_ID}}, "claim aud"),
    "among audiences for another": ({"lies": {"aud": [CLIENT_ID, "another-app"], "azp": "another-app"}}, "claim azp"),
    "no audience": ({"lies": {"aud": None}}, "claim aud"),
    "expired": ({"lies": {"exp": 1_700_000_000, "iat": 1_699_999_000}}, "claim exp"),
    "never expires": ({"lies": {"exp": None}}, "claim exp"),
    "from the future": ({"lies": {"iat": 4_000_000_000, "exp": 4_000_000_300}}, "claim iat"),
    "nobody": ({"lies": {"sub": None}}, "claim sub"),
    "an empty name": ({"lies": {"sub": ""}}, "no ID token"),
    "unsigned": ({"signed": "none"}, "keys are not accepted"),
    "signed with the client's secret": ({"signed": "HS256"}, "keys are not accepted"),
    "signed with another key": ({"signs_with": RSAKey.generate_key(2048)}, "bad_signature"),
    "userinfo of somebody else": (
        {"lies": {"groups": None}, "userinfo": {"sub": "u-2", "groups": ["heads"]}}, "of somebody else",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_for_this_log_in_is_refused_and_the_log_says_why(
    provider: Provider, caplog: pytest.LogCaptureFixture, lie: str
) -> None:
    lies, why = LIES[lie]
    for name, value in lies.items():
        setattr(provider, name, value)
    client = Client()
    assert "answer was not accepted" in refusal_of(client, provider)
    assert client.get("/").status_code == 302
    assert not User.objects.exists()
    (reason,) = reasons(caplog)
    assert why in reason


FAILURES: dict[str, tuple[str, int, str, str]] = {
    "a failure": ("/token", 500, "boom", "token endpoint answered 500"),
    "a page": ("/token", 200, "<html>s3cret</html>", "token endpoint answered 200, with no JSON object"),
    "an unknown client": ("/token", 401, '{"error": "invalid_client"}', "token endpoint answered invalid_client"),
    "words of its own": ("/token", 400, '{"error": "s3cret Words"}', "answered an error without a known name"),
    "a way elsewhere": ("/token", 307, "", "token endpoint answered 307, and redirects are not followed"),
    "no keys": ("/keys", 404, "{}", "its keys answered 404"),
    "no userinfo": ("/userinfo", 403, "no", "userinfo endpoint answered 403"),
    "a configuration without end": (CONFIGURATION, 200, "x" * 3_000_000, "configuration answered 200, with more than"),
    "a configuration elsewhere": (CONFIGURATION, 301, "", "configuration answered 301"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_of_the_provider_is_logged_by_endpoint_and_status(
    provider: Provider, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    path, status, body, why = FAILURES[kind]
    provider.failures = {path: (status, body)}
    client = Client()
    begun = client.get("/login/provider/")
    if begun.status_code == 302:
        client.get(provider.log_in(begun["Location"]))
    (reason,) = reasons(caplog)
    assert why in reason
    assert not [secret for secret in ("s3cret", "code-1", CLIENT_SECRET, "evil.example") if secret in reason]


@pytest.mark.parametrize("skew", [-100, 100])
def test_clocks_may_differ_by_two_minutes(provider: Provider, skew: int) -> None:
    now = int(time.time())
    provider.lies = {"iat": now + skew, "nbf": now + skew, "exp": now + min(skew, 300)}
    assert go(Client(), provider)["Location"] == "/"


NO_CONFIGURATIONS: dict[str, Any] = {
    "a list": [1],
    "a text": "down for maintenance",
    "nothing": None,
    "a number of algorithms": {"id_token_signing_alg_values_supported": 3},
    "numbers of challenges": {"code_challenge_methods_supported": 3},
    "no addresses": {"authorization_endpoint": None, "token_endpoint": None},
    "no keys": {"jwks_uri": None},
    "an address that is none": {"token_endpoint": 7},
}


@pytest.mark.parametrize("kind", NO_CONFIGURATIONS)
def test_a_configuration_that_is_none_is_told_and_not_a_traceback(provider: Provider, kind: str) -> None:
    provider.instead = NO_CONFIGURATIONS[kind]
    if isinstance(provider.instead, dict):
        provider.instead = provider.configuration() | provider.instead
    client = Client()
    begun = client.get("/login/provider/")
    assert begun.status_code in (302, 503)
    if begun.status_code == 302:
        assert client.get(provider.log_in(begun["Location"])).status_code in (302, 503)
    assert client.get("/login/").status_code == 200
    assert [finding.name for finding in provider_findings()] == ["log-in"]

"""Signatures of webhooks: what was signed is recognised, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.webhooks import TOLERANCE, secret_of, sign, verify
from tests.conftest import Corpus

SECRET = secret_of(bytes(range(32)))
OTHER = secret_of(bytes(range(1, 33)))
NOW = 1_700_000_000
BODY = b'{"type": "call.blocked"}'


def headers(*secrets: str, message_id: str = "msg_1", timestamp: int = NOW, body: bytes = BODY) -> dict[str, str]:
    return {
        "Webhook-Id": message_id,
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": sign(secrets or (SECRET,), message_id, timestamp, body),
    }


@pytest.mark.corpus
def test_published_vectors_are_judged_as_published(corpus: Corpus) -> None:
    rows = corpus("webhook_vectors")
    for row in rows:
        secret = base64.b64decode(row["secret_b64"]).decode()
        given_headers, body = row["headers"], row["body"].encode()
        assert verify([secret], given_headers, body, now=row["now"]) is row["valid"], row["name"]
        assert not verify([OTHER], given_headers, body, now=row["now"]), row["name"]
    assert {row["valid"] for row in rows} == {True, False}


def test_a_signature_is_the_hmac_of_id_timestamp_and_body() -> None:
    digest = hmac.new(bytes(range(32)), b"msg_1.1700000000." + BODY, hashlib.sha256).digest()
    assert sign([SECRET], "msg_1", NOW, BODY) == "v1," + base64.b64encode(digest).decode()


def test_several_secrets_give_several_signatures_and_each_is_enough() -> None:
    both = headers(SECRET, OTHER)
    assert len(both["Webhook-Signature"].split(" ")) == 2
    for secret in (SECRET, OTHER):
        assert verify([secret], both, BODY, now=NOW)
    assert verify([OTHER, SECRET], headers(SECRET), BODY, now=NOW)
    assert not verify([OTHER], headers(SECRET), BODY, now=NOW)
    assert not verify([], both, BODY, now=NOW)


@pytest.mark.parametrize(
    ("changed", "is_taken"),
    [
        ({}, True),
        ({"Webhook-Id": "msg_2"}, False),
        ({"Webhook-Id": ""}, False),
        ({"Webhook-Timestamp": str(NOW + 1)}, False),
        ({"Webhook-Timestamp": f" {NOW}"}, False),
        ({"Webhook-Timestamp": "١٧٠٠٠٠٠٠٠٠"}, False),
        ({"Webhook-Timestamp": "1" * 5_000}, False),
        ({"Webhook-Signature": ""}, False),
        ({"Webhook-Signature": "v1,"}, False),
        ({"Webhook-Signature": "é v1,ü"}, False),
        ({"Webhook-Signature": sign([SECRET], "msg_1", NOW, BODY).removeprefix("v1,")}, False),
        ({"Webhook-Signature": "v2" + sign([SECRET], "msg_1", NOW, BODY).removeprefix("v1")}, False),
        ({"Webhook-Signature": "v1a,x " + sign([SECRET], "msg_1", NOW, BODY)}, True),
    ],
)
def test_what_was_changed_on_its_way_is_refused(changed: dict[str, str], is_taken: bool) -> None:
    assert verify([SECRET], headers() | changed, BODY, now=NOW) is is_taken


@pytest.mark.parametrize(("off", "is_taken"), [(-TOLERANCE, True), (TOLERANCE, True), (-301, False), (301, False)])
def test_a_message_is_taken_for_five_minutes(off: int, is_taken: bool) -> None:
    assert verify([SECRET], headers(), BODY, now=NOW + off) is is_taken


def test_names_of_headers_have_no_case_and_other_headers_change_nothing() -> None:
    found = {name.upper(): value for name, value in headers().items()} | {"HOST": "x"}
    assert verify([SECRET], found, BODY, now=NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_ä", "whsec_a", "not base64!"])
def test_what_is_no_secret_is_told_to_whoever_configured_it(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        sign([secret], "msg_1", NOW, BODY)
    with pytest.raises(ValueError, match="whsec_"):
        verify([secret], headers(), BODY, now=NOW)


@pytest.mark.parametrize("length", [23, 65])
def test_a_secret_is_neither_short_nor_long(length: int) -> None:
    with pytest.raises(ValueError, match="24 to 64"):
        secret_of(bytes(length))


@given(st.binary(min_size=24, max_size=64), st.text(), st.integers(0, 10**11), st.binary())
def test_what_was_signed_is_verified_and_another_body_is_not(key: bytes, name: str, moment: int, body: bytes) -> None:
    signed = headers(secret_of(key), message_id=name or "x", timestamp=moment, body=body)
    assert verify([secret_of(key)], signed, body, now=moment)
    assert not verify([secret_of(key)], signed, body + b"x", now=moment)


@given(st.dictionaries(st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.text()))
def test_no_headers_raise_and_none_by_chance_are_taken(found: dict[str, str]) -> None:
    assert not verify([SECRET], found, BODY, now=NOW)

"""Negative control of 'silence is no consent': were a call accepted because nobody answered, its agent would run it."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.configuration import OnExpiry, RetryConfiguration
from retrycontract.contract.lifecycle import LEGAL_MOVES, CallState
from retrycontract.store.models import Call
from retrycontract.usecases.calls.sweep import expire_overdue
from tests.api.conftest import Door
from tests.factories import RIGHT, make_blocked

RUN = {CallState.VALID, CallState.ACCEPTED}


def is_run(door: Door, call: Call) -> bool:
    """Ask as an agent does, and tell whether it may run its output now."""
    reply = door.get(f"/calls/{call.public_id}/wait?for=guidance")
    assert reply.status == 200
    return reply.body["state"] in RUN and "Nothing was executed" not in (reply.body["expiry"] or "")


@pytest.mark.parametrize("policy", ["expire", "reject"])
def test_nothing_is_run_because_nobody_answered(door: Door, settings: Settings, policy: OnExpiry) -> None:
    settings.CONTRACT = RetryConfiguration(overrides=(("deploy", {"on_expiry": policy}),))
    call = make_blocked(door.agent)
    Call.objects.update(expires_at=timezone.now())
    assert expire_overdue(now=timezone.now()) == 1
    assert not is_run(door, call)
    assert door.submit(RIGHT, call_id=call.public_id).status == 409
    assert CallState.VALID not in LEGAL_MOVES[CallState.EXPIRED]


def test_if_silence_were_consent_it_would_be_run(door: Door) -> None:
    call = make_blocked(door.agent)
    call.move(CallState.ACCEPTED, timezone.now())  # what no policy of ours does
    assert is_run(door, call)

"""What rows keep and refuse: events, keys, JSON, sealed text, ids, candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.matching import Submission
from retrycontract.store import call_texts
from retrycontract.store.fields import ALPHABET, JSONText, new_id
from retrycontract.store.history import forgetting
from retrycontract.store.models import ApiKey, AppendOnlyError, Call, Door, Event, ToolVersion
from retrycontract.store.models.calls import MAX_CANDIDATES, candidates
from retrycontract.store.sealing import UnreadableError, keyed_hash, seal, unseal, unseal_apart, write_output
from retrycontract.usecases.calls.sweep import index_calls, judge_waiting
from tests.factories import make_agent, make_blocked, make_call, make_tool

pytestmark = pytest.mark.django_db


def stored_event() -> Event:
    return Event.record("tool.registered", actor="agent", door=Door.API, at=timezone.now(), tool="deploy")


WAYS_TO_CHANGE_HISTORY: dict[str, Callable[[Event], object]] = {
    "save": lambda event: event.save(),
    "delete": lambda event: event.delete(),
    "update": lambda event: Event.objects.filter(pk=event.pk).update(name="other"),
    "update all": lambda _: Event.objects.update(name="other"),
    "delete many": lambda event: Event.objects.filter(pk=event.pk).delete(),
    "bulk update": lambda event: Event.objects.bulk_update([event], ["name"]),
    "update or create": lambda event: Event.objects.update_or_create(pk=event.pk, defaults={"name": "other"}),
}


@pytest.mark.parametrize("change", WAYS_TO_CHANGE_HISTORY.values(), ids=list(WAYS_TO_CHANGE_HISTORY))
def test_history_is_only_appended_to(change: Callable[[Event], object]) -> None:
    event = stored_event()
    with pytest.raises(AppendOnlyError), transaction.atomic():
        change(event)
    assert Event.objects.get().name == "tool.registered"


@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_events_of_a_call_are_only_appended_to(change: str) -> None:
    call = make_blocked()
    with pytest.raises(AppendOnlyError):
        getattr(call.events.all(), change)()


def test_an_event_keeps_who_did_what_when_and_through_which_door() -> None:
    event = Event.objects.get(pk=stored_event().pk)
    assert (event.actor, event.door, event.name, event.data) == ("agent", "api", "tool.registered", {"tool": "deploy"})


def test_only_the_digest_of_a_key_is_stored() -> None:
    key, text = ApiKey.create_for(make_agent(), timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM retrycontract_apikey")
        row = cursor.fetchone()
    assert hashlib.sha256(text.encode()).hexdigest() in row
    assert text not in map(str, row)
    assert text.startswith(key.prefix)
    assert len(key.prefix) < len(text) // 3


def test_no_two_keys_are_alike() -> None:
    agent = make_agent()
    assert len({ApiKey.create_for(agent, timezone.now())[1] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    ("changes", "is_accepted"),
    [
        ({}, True),
        ({"expires_at": timedelta(seconds=1)}, True),
        ({"expires_at": timedelta(0)}, False),
        ({"expires_at": timedelta(seconds=-1)}, False),
        ({"revoked_at": timedelta(seconds=-1)}, False),
    ],
    ids=["new", "not yet expired", "expiring now", "expired", "revoked"],
)
def test_a_key_opens_until_it_expires_or_is_revoked(changes: dict[str, timedelta], is_accepted: bool) -> None:
    now = timezone.now()
    key, text = ApiKey.create_for(make_agent(), now)
    ApiKey.objects.filter(pk=key.pk).update(**{name: now + offset for name, offset in changes.items()})
    assert (ApiKey.objects.authenticate(text, now) is not None) is is_accepted


@pytest.mark.parametrize("presented", ["", "rc_", "rc_00000000_x", "é\udcff", "x" * 100_000])
def test_what_is_no_key_opens_nothing(presented: str) -> None:
    ApiKey.create_for(make_agent(), timezone.now())
    assert ApiKey.objects.authenticate(presented, timezone.now()) is None


@pytest.mark.parametrize(("later", "is_noted"), [(59, False), (60, True)])
def test_the_use_of_a_key_is_noted_once_a_minute(later: int, is_noted: bool) -> None:
    now = timezone.now()
    key, _ = ApiKey.create_for(make_agent(), now)
    key.touch(now)
    key.refresh_from_db()
    key.touch(now + timedelta(seconds=later))
    key.refresh_from_db()
    assert key.last_used_at == (now + timedelta(seconds=later) if is_noted else now)


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": 2},
        {"nul": "\x00", "\x00": 1},
        {"lone surrogate": "\ud800"},
        {"large": 1e308, "larger": 10**399, "small": -0.0},
        [[], {}, None, True, "", "é🙂"],
        "text",
        0,
        False,
    ],
    ids=repr,
)
def test_json_is_kept_as_it_was_sent(value: Any) -> None:
    version = make_tool(make_agent()).current_version
    assert version is not None
    ToolVersion.objects.filter(pk=version.pk).update(schema=value)
    found = ToolVersion.objects.get(pk=version.pk).schema
    assert repr(found) == repr(value)


@pytest.mark.parametrize("schema", [{"b": [1, None]}, "text", '{"a": 1}', 5, True, ""], ids=repr)
def test_json_survives_a_dump(schema: Any) -> None:
    version = make_tool(make_agent()).current_version
    assert version is not None
    ToolVersion.objects.filter(pk=version.pk).update(schema=schema)
    dump = serializers.serialize("json", ToolVersion.objects.all())
    ToolVersion.objects.filter(pk=version.pk).update(schema={})
    for row in serializers.deserialize("json", dump):
        row.save()
    assert ToolVersion.objects.get().schema == schema


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_what_is_no_json_number_is_not_stored(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        JSONText().get_prep_value(value)


SUBMISSION = {"output": '{"a": "\ud800 é"}', "callback_error": None}


def test_a_sealed_submission_opens_again_and_shows_nothing() -> None:
    sealed = seal(SUBMISSION)
    assert unseal(sealed) == SUBMISSION
    assert b"output" not in sealed


ODD: list[Any] = [
    "\ud800", {"\ud800": 1}, 10**400, -(2**64), 1e22, 5e-324, -0.0, float("inf"), "\u2028\x00\x7f\n é", [[]] * 3,
    {"a": [True, None, {"": ""}]}, "x" * 200_000, reduce(lambda inner, _: [inner], range(300), 1),
]  # fmt: skip


@pytest.mark.parametrize("output", ODD, ids=lambda output: repr(output)[:20])
def test_an_output_is_sealed_on_a_line_of_its_own_as_it_was_sent(output: Any) -> None:
    payload, written = unseal_apart(seal({"a": 1}, beside=write_output(output)))
    assert payload == {"a": 1}
    assert json.loads(written) == output
    assert repr(json.loads(written)) == repr(output)


def test_an_older_key_still_opens_what_it_sealed(settings: Settings) -> None:
    old = list(settings.RETRYCONTRACT.encryption_keys)
    sealed = seal(SUBMISSION)
    newer = [Fernet.generate_key().decode(), *old]
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"encryption_keys": newer})
    assert unseal(sealed) == SUBMISSION


def test_without_its_key_a_submission_stays_closed(settings: Settings) -> None:
    sealed = seal(SUBMISSION)
    others = [Fernet.generate_key().decode()]
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"encryption_keys": others})
    with pytest.raises(UnreadableError):
        unseal(sealed)


def test_hashes_of_submissions_are_keyed(settings: Settings) -> None:
    first = keyed_hash("text \ud800")
    assert first == keyed_hash("text \ud800")
    assert first != hashlib.sha256(b"text").hexdigest()
    settings.SECRET_KEY = "another"
    assert first != keyed_hash("text \ud800")


def test_ids_say_what_they_are_and_sort_by_age(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for milliseconds in (0, 1, 1_700_000_000_000, 2**48 - 1):
        monkeypatch.setattr("time.time_ns", lambda at=milliseconds: at * 1_000_000)
        made.append(new_id("call"))
    assert made == sorted(made)
    assert all(identifier.startswith("call_") and set(identifier[5:]) <= set(ALPHABET) for identifier in made)


def test_the_call_with_the_same_id_is_found_among_any_number_of_open_ones() -> None:
    agent, now = make_agent(), timezone.now()
    calls = Call.objects.bulk_create(
        Call(
            agent=agent, kind="tool_call", tool_name="deploy", session_id="s", last_tool_call_id=f"id_{number}",
            state=CallState.RETRYING, attempts_allowed=3, created_at=now, updated_at=now,
        )
        for number in range(MAX_CANDIDATES * 2 + 1)
    )  # fmt: skip
    for wanted in (calls[0], calls[MAX_CANDIDATES], calls[-1]):
        found = candidates(agent, Submission("deploy", wanted.last_tool_call_id, "s"))
        assert wanted in found
        assert len(found) == MAX_CANDIDATES


def test_schemas_hash_alike_whatever_the_order_of_their_keys() -> None:
    assert ToolVersion.hash_of({"a": 1, "b": 2}) == ToolVersion.hash_of({"b": 2, "a": 1})
    assert ToolVersion.hash_of({"a": [1, 2]}) != ToolVersion.hash_of({"a": [2, 1]})


def test_a_version_is_quarantined_once() -> None:
    version, now = make_tool(make_agent()).current_version, timezone.now()
    assert version is not None
    assert version.quarantine(now)
    assert not version.quarantine(now + timedelta(hours=1))
    assert ToolVersion.objects.get(pk=version.pk).quarantined_at == now


@pytest.mark.django_db(transaction=True)
def test_an_emptied_database_finds_the_words_of_its_new_calls() -> None:
    for goal in ("first", "second"):
        make_tool(make_agent())
        call = make_call(make_agent(), [{"service": "checkout"}], context={"goal": goal})
        assert index_calls() == 1
        assert call_texts.find(goal, most=9) == [call.pk]
        with transaction.atomic(), forgetting():
            call_command("flush", interactive=False, verbosity=0)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON_VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


def values_of(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [each for one in (value.values() if isinstance(value, dict) else value) for each in values_of(one)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


@given(JSON_VALUES, st.integers(0, 200))
def test_values_are_found_in_written_json_and_as_far_as_it_was_cut_off(value: Any, at: int) -> None:
    written = JSONText().get_prep_value([value]) or ""
    assert list(call_texts.values_in(written)) == values_of(value)
    whole, cut = values_of(value), list(call_texts.values_in(written[:at]))
    names = len(cut) > len(whole)  # the name that it ends in may be the last of them
    assert cut[:-1] == whole[: max(len(cut) - 1, 0)] or names


@pytest.mark.django_db
def test_what_a_large_output_begins_with_is_found() -> None:
    agent = make_agent()
    make_tool(agent, schema={})
    call = make_call(agent, [{"first": "zanzibar", "rest": ["lorem ipsum"] * 40_000}])
    judge_waiting(clock=timezone.now)
    index_calls()
    assert call_texts.find("zanzibar", most=9) == [call.pk]

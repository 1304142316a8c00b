"""How an output came about: what an agent tells of its model is redacted, kept and given back."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.outputs import MAX_TOKENS, MAX_WORDS
from retrycontract.store.models import Call
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door
from tests.canaries.places import canary
from tests.factories import RIGHT, WRONG, make_tool

TOLD: dict[str, Any] = {
    "model": "gpt-5-mini", "prompt": "Deploy to eu.\n\x00\u2028ünïcode", "said": "I'll use the nearest region.",
    "tokens_in": 812, "tokens_out": 0, "seconds": 1.25, "finish_reason": "tool_calls",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent)


def attempts_of(door: Door, call_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = door.get(f"/calls/{call_id}").body["attempts"]
    return found


def told_of(attempt: dict[str, Any]) -> dict[str, Any]:
    return {name: attempt[name] for name in TOLD}


def test_what_is_told_of_an_attempt_stands_in_its_history_letter_for_letter(door: Door) -> None:
    first = door.submit(WRONG, **TOLD).body
    door.submit(RIGHT, call_id=first["call_id"], said="Now I have it.")
    told, untold = map(told_of, attempts_of(door, first["call_id"]))
    assert told == TOLD
    assert untold == dict.fromkeys(TOLD) | {"said": "Now I have it."}


@pytest.mark.usefixtures("by_a_worker")
def test_what_is_told_of_a_queued_attempt_is_kept_all_the_same(door: Door) -> None:
    call_id = door.submit(WRONG, **TOLD).body["call_id"]
    assert told_of(attempts_of(door, call_id)[0]) == TOLD
    judge_waiting(clock=timezone.now)
    assert [(attempt["status"], told_of(attempt)) for attempt in attempts_of(door, call_id)] == [("retry", TOLD)]


def test_secrets_in_it_are_redacted_also_where_a_long_text_is_shortened(door: Door) -> None:
    secret = canary("a generation")
    long = f"{'a ' * (MAX_WORDS // 4)}the key is {secret} {'b ' * MAX_WORDS}"
    call_id = door.submit(WRONG, model=f"m-{secret}", prompt=long, said=f"Take {secret}!").body["call_id"]
    (attempt,) = attempts_of(door, call_id)
    assert secret not in str(attempt)
    assert secret not in str(door.get("/calls").body)
    assert (len(attempt["prompt"]), attempt["said"]) == (MAX_WORDS, "Take [REDACTED: GITHUB_TOKEN]!")


def test_of_words_of_hundreds_of_kilobytes_the_ends_are_kept_without_secrets(door: Door) -> None:
    secret = canary("a generation")
    told = f"{secret} {'lorem ipsum ' * 25_000} {secret}"
    ids = {"session_id": told, "tool": told}
    reply = door.submit(RIGHT, prompt=told, said=told, context={"goal": told, told: 1}, **ids)
    kept = str(door.get(f"/calls/{reply.body['call_id']}").body)
    assert secret not in kept
    assert kept.count("[REDACTED: GITHUB_TOKEN]") >= 8
    assert len(kept) < 4 * MAX_WORDS


def test_of_a_context_with_thousands_of_members_the_first_are_kept(door: Door) -> None:
    reply = door.submit({}, context={f"k{number}": "password=x1y2z3" for number in range(60_000)})
    context = door.get(f"/calls/{reply.body['call_id']}").body["context"]
    assert list(context) == [f"k{number}" for number in range(20)]
    assert set(context.values()) == {"password=[REDACTED: PASSWORD]"}


def test_calls_are_found_by_the_model_that_was_named_last(door: Door) -> None:
    first = door.submit(WRONG, model="gpt-5-mini").body["call_id"]
    door.submit(WRONG, tool_call_id="id_2", model="gpt-5-mini")
    door.submit(WRONG, call_id=first, model="opus-5")
    door.submit(WRONG, call_id=first)
    assert [call["call_id"] for call in door.get("/calls?model=opus-5").body["calls"]] == [first]
    assert [call["model"] for call in door.get("/calls?model=gpt-5-mini").body["calls"]] == ["gpt-5-mini"]
    assert door.get("/calls?model=gpt-5").body["calls"] == []


def test_a_model_with_a_secret_in_its_name_is_found_by_that_name(door: Door) -> None:
    name = f"m-{canary('a model')}"
    door.submit(WRONG, model=name)
    assert len(door.get(f"/calls?model={name}").body["calls"]) == 1
    assert canary("a model") not in str(Call.objects.values_list("model").get())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", ""), ("model", "m" * 201), ("model", "a\nb"), ("model", 5), ("prompt", 5), ("said", ["a"]),
        ("tokens_in", -1), ("tokens_in", "5"), ("tokens_in", 1.5), ("tokens_in", True), ("tokens_in", MAX_TOKENS + 1),
        ("tokens_out", -1), ("seconds", -0.5), ("seconds", "1"), ("seconds", 1e300), ("seconds", False),
    ],
)  # fmt: skip
def test_what_it_cannot_be_is_refused_with_its_pointer(door: Door, field: str, value: Any) -> None:
    reply = door.submit(WRONG, **{field: value})
    assert (reply.status, [error["pointer"] for error in reply.body["errors"]]) == (422, [f"/{field}"])
    assert not Call.objects.exists()

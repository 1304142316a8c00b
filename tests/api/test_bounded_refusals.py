"""A refusal is short, however long and many the faults of the request are."""

from __future__ import annotations

from tests.api.conftest import Door

LONGEST = 20_000  # bytes of a refusal


def test_a_key_of_a_megabyte_is_not_echoed_whole(door: Door) -> None:
    reply = door.post("/calls", {"tool": "deploy", "x" * 1_000_000: 1})
    assert reply.status == 422
    assert len(reply.text) < LONGEST


def test_twenty_thousand_faults_are_named_in_part(door: Door) -> None:
    reply = door.post("/calls", {"tool": "deploy"} | {f"f{number}": 1 for number in range(20_000)})
    assert (reply.status, len(reply.body["errors"])) == (422, 20)


def test_words_of_the_query_are_named_in_part(door: Door) -> None:
    reply = door.get("/calls?" + "&".join(f"{'w' * 900}{number}=1" for number in range(50)))
    assert (reply.status, len(reply.body["errors"])) == (422, 20)
    assert len(reply.text) < LONGEST

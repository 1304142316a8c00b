"""Comments and empty lines between the events of a stream: passed on as they came, and no work."""

from __future__ import annotations

import random

import pytest

from retrycontract.mcp.events import ENDS, EventSplitter, data_of, documents

PIECES = [b": x", b":", b"", b'data: {"a": 1}', b"data: b", b"event: c", b"id: 1", b": data: none", b'{"d": 2}']


def made(chance: random.Random) -> bytes:
    end = chance.choice([b"\n", b"\r\n", b"\r"])
    return b"".join(chance.choice(PIECES) + end * chance.randrange(1, 4) for _ in range(40)) + end * 2


def plainly_split(content: bytes) -> list[bytes]:
    """Split at the empty lines alone."""
    events, begin = [], 0
    while end := ENDS.search(content, begin):
        events.append(content[begin : end.end()])
        begin = end.end()
    return [*events, content[begin:]]


@pytest.mark.parametrize("seed", range(50))
def test_what_events_tell_is_the_same_however_much_is_idle_between_them(seed: int) -> None:
    chance = random.Random(seed)
    content, splitter, fed = made(chance), EventSplitter(), list[bytes]()
    place = 0
    while place < len(content):
        size = chance.randrange(1, 60)
        fed += splitter.feed(content[place : place + size])
        place += size
    assert b"".join([*fed, splitter.rest]) == content
    for read in (documents, data_of):
        expected = [*filter(None, map(read, plainly_split(content)))]
        assert [*filter(None, map(read, [*fed, splitter.rest]))] == expected


@pytest.mark.parametrize("idle", [b": keep-alive\n\n", b"\r", b"\n", b":\r\n\r\n", b": a\n: b\n\n"])
def test_a_megabyte_of_signs_of_life_is_a_few_pieces(idle: bytes) -> None:
    content = b"data: 1\n\n" + idle * (2**20 // len(idle)) + b"data: 2\n\n"
    splitter, fed = EventSplitter(), list[bytes]()
    for at in range(0, len(content), 65_536):
        fed += splitter.feed(content[at : at + 65_536])
    assert b"".join([*fed, splitter.rest]) == content
    assert len(fed) < 50
    assert [data for event in fed if (data := data_of(event))] == [b"1", b"2"]

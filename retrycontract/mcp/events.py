"""Take a stream of server-sent events apart into whole events, wherever the network has cut it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

# An empty line, whichever of the three line ends is used. A CR behind LF may be half of one: the next byte tells.
ENDS: Final = re.compile(rb"\n\n|\n\r\n|\n\r(?=[^\n])|\r\r\n?")
# Comments and empty lines, of which a server may send any number to say that it is alive: among what is still to come,
# where the next byte tells what a CR is, and as a whole event.
_IDLE: Final = rb"(?:(?::[^\r\n]*+)?(?:\r\n|\n|\r%b))++"
IDLE: Final = re.compile(_IDLE % rb"(?=[^\n])")
IS_IDLE: Final = re.compile(_IDLE % rb"(?!\n)")
MAX_EVENT: Final = 8 * 1024 * 1024  # bytes of one event: a server that never ends one must not fill our memory
MARK: Final = b"\xef\xbb\xbf"  # of the byte order, with which some servers begin
FIELD: Final = re.compile(rb"[A-Za-z][A-Za-z_-]*")  # of an event; clients pass over those that they do not know


class AnswerTooLargeError(ValueError):
    """Raised for an answer that is larger than what is held of one."""


class EventSplitter:
    """Collect bytes and give the events that are whole, as they came, their empty line included.

    Comments and empty lines between two events are given as one.
    """

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._rest, self._max_event = bytearray(), max_event

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take some bytes; raises AnswerTooLargeError."""
        searched = max(len(self._rest) - 3, 0)  # an end may have begun in what was searched before
        self._rest += chunk
        events, begin = [], 0
        while end := ENDS.search(self._rest, max(begin, searched)):
            events.append(bytes(self._rest[begin : end.end()]))
            begin = end.end()
            if idle := IDLE.match(self._rest, begin):
                events.append(idle[0])
                begin = idle.end()
        del self._rest[:begin]
        if len(self._rest) > self._max_event:
            raise AnswerTooLargeError("an event of the upstream's is too large")
        return events

    @property
    def rest(self) -> bytes:
        """Give what came after the last whole event."""
        return bytes(self._rest)


def data_of(event: bytes) -> bytes | None:
    """Give the data of an event; None for a comment, or an event without any."""
    if IS_IDLE.fullmatch(event):
        return None
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def documents(event: bytes) -> list[bytes]:
    """Give the JSON texts of an event of a stream, however a client may read it; none for a comment or an empty one.

    Lines of data are one text, or one each where a server leaves out the empty lines between its events. So are lines
    that no field begins.
    """
    if IS_IDLE.fullmatch(event):
        return []
    told, loose = list[bytes](), list[bytes]()
    for line in event.splitlines():
        bare = line.strip().removeprefix(MARK).strip()
        name, colon, value = bare.partition(b":")
        if name.lower() == b"data":
            told.append(value.strip())
        elif bare and not (bare.startswith(b":") or (colon and FIELD.fullmatch(name))):
            loose.append(bare)
    found = [part for lines in (told, loose) for part in ([b"\n".join(lines)] if _is_one(lines) else lines)]
    return [text for text in found if text not in (b"", b"[DONE]")]


def _is_one(lines: Sequence[bytes]) -> bool:
    if len(lines) < 2:
        return True
    try:
        json.loads(b"\n".join(lines))
    except ValueError:
        return all(line[:1] not in b"{[" for line in lines[1:])
    return True


def field_of(event: bytes, name: bytes) -> bytes | None:
    """Give the last value of a field: `id` or `retry`."""
    found = [line[len(name) + 1 :].removeprefix(b" ") for line in event.splitlines() if line.startswith(name + b":")]
    return found[-1] if found else None


def written_event(data: bytes, event_id: str) -> bytes:
    """Write an event; data of several lines is read as it was."""
    lines = b"".join(b"data: " + line + b"\n" for line in re.split(rb"\r\n|\r|\n", data))
    return b"id: " + event_id.encode() + b"\n" + lines + b"\n"


async def events_of(chunks: AsyncIterator[bytes], max_event: int = MAX_EVENT) -> AsyncIterator[bytes]:
    """Give the events of a stream, what follows the last empty line too; raises AnswerTooLargeError."""
    splitter = EventSplitter(max_event)
    async for chunk in chunks:
        for event in splitter.feed(chunk):
            yield event
    if splitter.rest.strip():
        yield splitter.rest

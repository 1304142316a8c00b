"""A stream of events on its way through the proxy: what goes on at once, and what is held until it is judged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from retrycontract.mcp.events import AnswerTooLargeError, EventSplitter, documents
from retrycontract.mcp.visiting import aside
from retrycontract.proxy.exchange import Settled
from retrycontract.proxy.upstream import Rests, aside_if_long, put_together
from retrycontract.proxy.visit import ClientVisit
from retrycontract.proxy.wire import AnswerStream, ModelAnswer, Wire


class Passage:
    """Let a stream through event by event; with `holds` what is judged stays here until it is released."""

    def __init__(self, visit: ClientVisit, stream: AnswerStream, limit: int, *, holds: bool) -> None:
        self._visit, self._stream, self._limit, self._holds = visit, stream, limit, holds
        self._splitter = EventSplitter(limit)
        self._held: list[bytes] = []
        self._size = 0  # bytes that have come
        self._is_followed, self._has_begun, self._said = True, False, ""

    async def follow(self, chunks: AsyncIterator[bytes]) -> None:
        """Pass the stream on to its end; raises AnswerTooLargeError where more would be held than there is room for."""
        async for chunk in chunks:
            self._size += len(chunk)
            if self._size > self._limit:
                if self._holds:
                    raise AnswerTooLargeError("the upstream's answer is too large to be judged")
                self._is_followed = False
            if not (self._holds and self._is_followed):
                await self._visit.write(chunk)  # as the network has cut it, before anybody looks at it
            if self._is_followed:
                await self._pass(self._splitter.feed(chunk))
        if self._is_followed and self._splitter.rest:
            await self._pass([self._splitter.rest])

    async def _pass(self, events: list[bytes]) -> None:
        free, rests = [], Rests()
        for event in events:
            # A comment among held events is held with them, so that nothing overtakes what came before it.
            told = [await aside(self._stream.feed, data) for data in documents(event)]
            if (any(told) if told else bool(self._held)) and self._holds:
                self._held.append(event)
            else:
                free.append(event)
            if self._stream.has_failed:  # nobody will judge it
                self._held.clear()
            await rests.take()
        if free and self._holds:
            self._has_begun = True
            await self._visit.write(b"".join(free))

    @property
    def has_failed(self) -> bool:
        """Tell whether the client has read, in the upstream's own words, that there is no answer."""
        return self._stream.has_failed

    async def answer(self, wire: Wire, seconds: float) -> ModelAnswer | None:
        """Give the whole answer; None where there is none and nothing is held. Raises UpstreamError."""
        return await aside_if_long(self._size, partial(self._put_together, wire, seconds))

    def _put_together(self, wire: Wire, seconds: float) -> ModelAnswer | None:
        body = self._stream.body() if self._is_followed else None
        if not self._held and (body is None or self._stream.is_garbled):
            return None
        answer = put_together(wire, body, seconds, is_garbled=self._stream.is_garbled)
        self._said = self._stream.spoken
        return answer

    def text_of(self, settled: Settled) -> str:
        """Give the whole text that the client reads in the end."""
        if settled.final is None or not self._holds:
            return settled.newest.text if not self._said else self._said
        return self._said + settled.final.after_words().text if self._said else settled.final.text

    async def release(self, settled: Settled, report: list[tuple[str, str]]) -> None:
        """Let what was held go as it came, or write the final answer in its place."""
        if not self._holds:
            return
        if settled.final is None:
            if self._held:
                await self._visit.write(b"".join(self._held))
            return
        told = " ".join(f"{name}={value}" for name, value in report)
        words = settled.final.after_words() if self._said else settled.final
        final = self._stream.events(words, begun=self._has_begun)
        await self._visit.write(b"".join([f": retrycontract {told}\n\n".encode(), *final]))

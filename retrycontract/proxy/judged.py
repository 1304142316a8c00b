"""One request of a judged path, from the client's bytes to the answer's."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import httpx2

from retrycontract.contract.json_types import write_json
from retrycontract.mcp.events import AnswerTooLargeError
from retrycontract.mcp.visiting import USED_UP, aside, seconds_overdrawn
from retrycontract.proxy.contracts import ContractName, Contracts, JudgingSettings, RequestContract, name_of
from retrycontract.proxy.conversation import Conversation, Conversations, news_for
from retrycontract.proxy.exchange import NOT_EXECUTED, Exchange, ExchangeReport, Settled
from retrycontract.proxy.openai_responses import with_outputs
from retrycontract.proxy.passage import Passage
from retrycontract.proxy.upstream import (
    RefusedByUpstreamError,
    Upstream,
    UpstreamError,
    end_to_end,
    is_error,
    is_readable,
    is_stream,
    read,
    received,
)
from retrycontract.proxy.visit import BusyError, ClientVisit, parsed
from retrycontract.proxy.wire import (
    Body,
    MadeId,
    ModelAnswer,
    Terms,
    Wire,
    text_of,
)

MAX_HEADER: Final = 500  # characters of one of ours
UNCHECKED, UNAVAILABLE = "unchecked", "unavailable"
CONVERSATION: Final = b"x-retrycontract-conversation"
SIZED: Final = frozenset({b"content-length", b"content-encoding"})  # no longer so, once a body was read and written

logger = logging.getLogger("retrycontract.proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Say how the proxy behaves; sizes are in bytes, times in seconds."""

    judging: JudgingSettings = field(default_factory=JudgingSettings)
    refuses_broken_schemas: bool = False
    max_request: int = 64 * 1024 * 1024  # a conversation with pictures
    max_answer: int = 8 * 1024 * 1024  # of what is held to be judged
    stall: float = 600.0  # an upstream may think so long before it says a word
    delay: float = 1.0  # before an upstream that failed is asked again, as the loops have it
    repeats: int = 3  # equal calls in a row that are told of; 0: none are looked for
    tells_repeats: bool = False  # the model as well
    rescue: bool = False  # take calls that a model writes as text
    wait: float = 0.0  # for a person, while the client is kept waiting; else the answer ends and says so


@dataclass(frozen=True, slots=True)
class Doorway:
    """Hold what all judged requests share."""

    settings: ProxySettings
    upstream: Upstream
    contracts: Contracts
    note: Callable[[ExchangeReport], None]
    conversations: Conversations = field(default_factory=Conversations)


class JudgedRequest:
    """Answer one request: ask the upstream, judge what it says, and let the client have what is right."""

    def __init__(self, doorway: Doorway, visit: ClientVisit, wire: Wire) -> None:
        self._doorway, self._visit, self._wire = doorway, visit, wire
        self._settings, self._upstream = doorway.settings, doorway.upstream
        self._began = time.monotonic()
        self._conversation = Conversation("")
        self._here: bytes | None = None  # the request's place in it, where a service keeps its calls
        self._news: tuple[str, ...] = ()  # what people have said, which the request tells the model
        self._is_settled = False

    async def serve(self) -> None:
        """Answer it; raises RequestTooLargeError, and UpstreamError where nothing was answered yet."""
        content = await self._visit.body(self._settings.max_request)
        if wait := seconds_overdrawn(content):
            if self._settings.judging.mode == "enforce":
                raise BusyError(USED_UP, wait)
            await self._pass_on(content, f"nothing is judged: {USED_UP}")
            return
        content, request, asked, warning = await aside(self._understood, content)
        if request is None or asked is None:
            await self._pass_on(content, warning)
            return
        terms, name = asked
        try:
            contract = await self._doorway.contracts.of(terms, name)
        except BusyError as busy:
            if self._doorway.contracts.enforces(terms):
                raise
            await self._pass_on(content, f"nothing is judged: {busy}")
            return
        if contract.faults and self._settings.refuses_broken_schemas:
            faults = "; ".join(f"{name}: {why}" for name, why in contract.faults.items())
            await self._visit.answer(400, self._wire.error(400, f"a schema cannot be judged by: {faults}"))
            return
        # Only where it is enforced: to take a call out of a text is to change the answer, which observing never does.
        # Nor for `functions`: what is read in a text has an id, and their calls have none.
        rescues = self._settings.rescue and contract.enforces and bool(terms.tools) and not request.get("functions")
        terms = replace(terms, rescues=rescues)
        content, request = await self._caught_up(content, request, contract)
        exchange = self._exchange(terms, request, contract)
        async with self._upstream.answered(self._visit.request, content, is_judged=True) as response:
            if not response.is_success:
                await relay(self._visit, response)
            elif not is_readable(response):
                if contract.enforces:
                    coding = _header(response.headers["content-encoding"])
                    raise UpstreamError(f"the upstream's answer comes in a coding ({coding}) that cannot be judged")
                await relay(self._visit, response, [("outcome", UNCHECKED)])
            elif is_stream(response, terms):
                await self._stream(response, exchange, terms, holds=contract.enforces)
            else:
                await self._whole(response, exchange, holds=contract.enforces)
        # Else it is told again: the client's repetition of a request that failed does not hold it.
        if self._is_settled:
            self._conversation.has_read(self._news)

    def _understood(self, content: bytes) -> tuple[bytes, Body | None, tuple[Terms, ContractName] | None, str]:
        """Read what a request asks for, and what the client is told where nothing is judged."""
        request, warning = parsed(content)
        if coding := self._visit.header(b"content-encoding"):
            warning = f"the request comes in a coding ({coding}): nothing is judged by it"
        if request is None:
            return content, None, None, warning
        content, request = self._with_outputs(content, request)
        try:
            terms = self._wire.terms(request)
        except (ValueError, TypeError, AttributeError, KeyError) as error:  # tools that are none, among others
            return content, request, None, f"the request's contract cannot be read: {error}"
        return content, request, (terms, name_of(terms)) if terms.has_contract else None, ""

    def _with_outputs(self, content: bytes, request: Body) -> tuple[bytes, Body]:
        """Answer those calls of an earlier response that never reached the client: the upstream waits for them."""
        if not (response_id := request.get("previous_response_id")):
            return content, request
        left = self._doorway.conversations.unanswered(self._visit.request.headers, response_id)
        if not left:
            return content, request
        request = with_outputs(request, left, NOT_EXECUTED)
        return write_json(request).encode(), request

    def _exchange(self, terms: Terms, request: Body, contract: RequestContract) -> Exchange:
        async def ask(body: Body) -> ModelAnswer:
            return await self._upstream.ask(self._wire, self._visit.request, body, terms)

        history = self._wire.history(request)
        said = (text_of(message.get("content")) for message in reversed(history) if isinstance(message, dict))
        return Exchange(
            self._wire, terms, request, contract, ask, conversation=self._conversation,
            prompt=next(filter(None, said), ""), delay=self._settings.delay, wait=self._settings.wait,
            # A stream has signs of life around all of it.
            waiting=nullcontext if terms.streams else self._visit.waited, repeats=self._settings.repeats,
            tells_repeats=self._settings.tells_repeats,
        )  # fmt: skip

    async def _caught_up(self, content: bytes, request: Body, contract: RequestContract) -> tuple[bytes, Body]:
        """Find the conversation, and let the model read what people have said since its last request."""
        if contract.service is None:
            return content, request
        conversations, headers = self._doorway.conversations, self._visit.request.headers
        history = self._wire.history(request)
        places = await aside(lambda _: conversations.places(headers, history), content)
        self._conversation, self._here = conversations.find(
            self._visit.header(CONVERSATION), places, request.get("previous_response_id")
        )
        self._news = await news_for(self._conversation, contract.service)
        if not self._news:
            return content, request
        request = self._wire.told(request, "\n\n".join(self._news))
        return (await asyncio.to_thread(write_json, request)).encode(), request

    def _remember(self, settled: Settled, text: str | None = None) -> None:
        """Note where the conversation stands, with the text that has reached the client."""
        self._is_settled = True
        conversations, headers, final = self._doorway.conversations, self._visit.request.headers, settled.final
        if final is not None:
            arrived = {call.id for call in final.calls}
            # An upstream that keeps the conversation waits for an output of every call, those that the client never saw
            # included.
            left = (call.id for call in settled.newest.calls if call.id not in arrived)
            conversations.leave_unanswered(headers, settled.newest.body, left)
        if self._here is None:
            return
        body = settled.newest.body if final is None else self._wire.final(final)
        said = final.text if final is not None else settled.newest.text
        # As it came, the client has had no id either, and may make up its own.
        is_nameless = final is None and any(isinstance(call.id, MadeId) for call in settled.newest.calls)
        told = self._wire.said(body, said if text is None else text)
        conversations.remember(self._conversation, self._here, told, is_nameless=is_nameless)
        conversations.remember_response(self._conversation, headers, body)

    async def _pass_on(self, content: bytes, warning: str) -> None:
        if warning:
            logger.warning("A request is passed on unjudged: %s", _header(warning))
        async with self._upstream.answered(self._visit.request, content) as response:
            await relay(self._visit, response, [("warning", _header(warning))] if warning else [])

    async def _whole(self, response: httpx2.Response, exchange: Exchange, *, holds: bool) -> None:
        headers = end_to_end(response)
        chunks = received(response)
        content = bytearray()
        async for chunk in chunks:
            content += chunk
            if len(content) > self._settings.max_answer:
                break
        else:
            await self._answer(bytes(content), headers, exchange, holds=holds)
            return
        if holds:
            raise UpstreamError("the upstream's answer is too large to be judged")
        await self._visit.begin(response.status_code, headers, [("outcome", UNCHECKED)])
        await self._visit.write(bytes(content))
        async for chunk in chunks:
            await self._visit.write(chunk)
        await self._visit.end()

    async def _answer(
        self, content: bytes, headers: list[tuple[bytes, bytes]], exchange: Exchange, *, holds: bool
    ) -> None:
        try:
            answer = await aside(partial(read, self._wire), content, time.monotonic() - self._began)
        except UpstreamError:  # no answer of its API: the client's to make sense of, where it can hold no call
            if holds and b"{" in content and not await aside(is_error, content):
                self._report(exchange.report, UNAVAILABLE)
                raise
            await self._visit.answer(200, content, headers=headers, ours=[("outcome", UNCHECKED)])
            return
        try:
            settled = await exchange.settle(answer)
        except RefusedByUpstreamError as refusal:
            ours = self._report(exchange.report, UNAVAILABLE)
            await self._visit.answer(refusal.status, refusal.body, headers=refusal.headers, ours=ours)
            return
        except (UpstreamError, AnswerTooLargeError) as error:
            ours, status = self._report(exchange.report, UNAVAILABLE), getattr(error, "status", 502)
            if self._visit.has_begun:
                raise UpstreamError(str(error)) from error
            await self._visit.answer(status, self._wire.error(status, f"{error}."), ours=ours)
            return
        self._remember(settled)
        body = content if settled.final is None else self._wire.final(settled.final)
        await self._visit.answer(200, body, headers=headers, ours=self._report(exchange.report))

    async def _stream(self, response: httpx2.Response, exchange: Exchange, terms: Terms, *, holds: bool) -> None:
        headers = [pair for pair in end_to_end(response) if pair[0] not in SIZED]
        known = [("mode", self._settings.judging.mode), ("warning", _header("; ".join(exchange.report.warnings)))]
        await self._visit.begin(200, headers, [pair for pair in known if pair[1]])
        passage = Passage(self._visit, self._wire.stream(terms), self._settings.max_answer, holds=holds)
        try:
            async with self._visit.kept_alive(self._wire.heartbeat) if holds else nullcontext():
                await passage.follow(received(response))
                if not holds:
                    await self._visit.end()
                if passage.has_failed:
                    self._report(exchange.report, UNAVAILABLE)
                elif (answer := await passage.answer(self._wire, time.monotonic() - self._began)) is not None:
                    settled = await exchange.settle(answer)
                    self._remember(settled, passage.text_of(settled))
                    await passage.release(settled, self._report(exchange.report))
        except RefusedByUpstreamError as refusal:
            self._report(exchange.report, UNAVAILABLE)
            told, _ = parsed(refusal.body)
            words = f"the upstream refuses to mend its answer (HTTP {refusal.status})."
            error = told if told and told.get("error") else self._wire.error(refusal.status, words)
            await self._break_off(self._wire.error_event(error))
        except (UpstreamError, AnswerTooLargeError) as error:
            self._report(exchange.report, UNAVAILABLE)
            if not passage.has_failed:
                told = self._wire.error(getattr(error, "status", 502), f"{error}.")
                await self._break_off(getattr(error, "event", b"") or self._wire.error_event(told))
        # Where only is observed, the client's answer has ended before it was judged.
        if not self._visit.has_ended:
            await self._visit.end()

    async def _break_off(self, event: bytes) -> None:
        if not self._visit.has_ended:
            await self._visit.write(event)

    def _report(self, report: ExchangeReport, outcome: str | None = None) -> list[tuple[str, str]]:
        """Count and log what became of an answer, and give it as headers."""
        report.outcome = outcome or report.outcome
        self._doorway.note(report)
        logger.info("%s %s: %s", self._wire.name, _header(report.model), report.outcome)
        told = {
            "mode": self._settings.judging.mode, "outcome": report.outcome, "attempts": str(report.asked),
            "codes": ",".join(dict.fromkeys(report.codes)), "calls": ",".join(report.call_ids),
            "rescued": report.dialect, "repeated": ",".join(report.repeated), "warning": "; ".join(report.warnings),
        }  # fmt: skip
        return [(name, _header(value)) for name, value in told.items() if value]


async def relay(visit: ClientVisit, response: httpx2.Response, ours: list[tuple[str, str]] | None = None) -> None:
    """Pass an answer on as it comes, compressed or not; breaks off where the upstream does."""
    await visit.begin(response.status_code, end_to_end(response), ours or [])
    try:
        async for chunk in response.aiter_raw():
            await visit.write(chunk)
    except (httpx2.HTTPError, OSError):
        return  # without an end the server closes the connection, and the client sees what we saw
    await visit.end()


def _header(text: str) -> str:
    """Make a text fit for a header: printable ASCII on one line, bounded."""
    return "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in text)[:MAX_HEADER]

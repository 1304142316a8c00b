"""What the upstream offers, as it last said, and what of it can be judged."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import anyio

from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.judging import Judge
from retrycontract.judging.asking import NoVerdictError, settled
from retrycontract.mcp import messages
from retrycontract.mcp.messages import Message

NO_SCHEMA = {"type": "object"}  # the protocol demands a schema; a server that sends none accepts anything
BETWEEN: Final = "__"  # stands between the name of one of several servers and what that calls its tool
STANDS_IN: Final = "retrycontract/unavailable"  # in `_meta` of what is no tool of a server, but says that it has none

logger = logging.getLogger("retrycontract.mcp")


class Toolbox:
    """Remember the upstream's tools, and show each to the judge before it is first called."""

    def __init__(self, judge: Judge, listing: ToolListing, begin_anew: Callable[[str], None]) -> None:
        """Take whom to tell of a tool whose schema has changed."""
        self._judge, self._listing, self._one_at_a_time = judge, listing, anyio.Lock(fast_acquire=True)
        self._begin_anew = begin_anew
        self._tools: dict[str, dict[str, Any]] = {}
        self._schemas: dict[str, Any] = {}  # as last declared, also of tools that have gone: they may come again
        self._unseen: dict[str, DeclaredTool] = {}
        self._unchecked: set[str] = set()
        self._changes, self._as_of = 0, -1  # the upstream's list has changed so often, and is known as of then

    async def look_up(self, name: str, meta: Mapping[str, Any]) -> None:
        """See to it that the judge has the tool's present schema; raises NoToolListError and NoVerdictError."""
        # Calls that come together would each ask the upstream for its list, and show the same tools to the judge.
        async with self._one_at_a_time:
            if name not in self._tools or self._as_of != self._changes:
                as_of = self._changes  # it may change again while the upstream answers
                self._replace(await self._listing.tools(meta), as_of)
            if new := list(self._unseen.values()):
                refused = await settled(self._judge.import_tools(new))
                for tool in new:
                    self._unchecked.discard(tool.name)
                    if self._unseen.get(tool.name) is tool:  # else it has changed meanwhile, and is shown again
                        del self._unseen[tool.name]
                for unjudged, why in refused.items():
                    logger.warning("Tool %r is passed on unchecked, its schema cannot be judged: %s", unjudged, why)
                    self._unchecked.add(unjudged)
            absent = self._tools.get(stand_in(name), {})
            # No mistake of the model's: its server may have the tool.
            if _stands_in(absent) and self._tools.get(name, absent) is absent:
                raise NoVerdictError(str(absent.get("description")))

    def is_shown(self, name: str) -> bool:
        """Tell whether nothing has to be looked up: the judge has seen what the upstream lists."""
        is_known = name in self._tools and not _stands_in(self._tools[name])
        return self._as_of == self._changes and not self._unseen and is_known

    def is_unchecked(self, name: str) -> bool:
        """Tell whether a tool's schema was refused."""
        return name in self._unchecked

    def output_schema(self, name: str) -> Any:
        """Give what the server says that a tool's structured results fit; None where it says nothing."""
        return self._tools.get(name, {}).get("outputSchema")

    def has_changed(self) -> None:
        self._changes += 1

    def read_along(self, request: Message, response: Message) -> None:
        """Learn from what the client asked for: most clients list the tools before they call one."""
        result = response.value.get("result")
        if not isinstance(result, dict) or not isinstance(tools := result.get("tools"), list):
            return
        # A page of several says what there is, and not what is gone.
        if request.params.get("cursor") is None and result.get("nextCursor") is None:
            self._replace(tools, self._changes)
        else:
            self._declare(tools)

    def _replace(self, tools: list[Any], as_of: int) -> None:
        names = {tool.get("name") for tool in tools if isinstance(tool, dict)}
        self._tools = {name: tool for name, tool in self._tools.items() if name in names}
        self._declare(tools)
        self._as_of = as_of

    def _declare(self, tools: Iterable[Any]) -> None:
        """Take over what is new or changed; what is no tool is left to the client."""
        for tool in tools:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str) and self._tools.get(tool["name"]) != tool:
                self._tools[tool["name"]] = tool
                if _stands_in(tool):
                    continue
                schema, description = tool.get("inputSchema"), tool.get("description")
                if self._schemas.get(tool["name"], schema) != schema:
                    self._begin_anew(tool["name"])
                self._schemas[tool["name"]] = schema
                self._unseen[tool["name"]] = DeclaredTool(
                    tool["name"],
                    description if isinstance(description, str) else "",
                    NO_SCHEMA if schema is None else schema,
                )


def stand_in(name: str) -> str:
    """Name what stands in a list in the place of the tools of one of several servers, while that is not there."""
    return f"{name.partition(BETWEEN)[0]}{BETWEEN}unavailable"


def _stands_in(tool: Mapping[str, Any]) -> bool:
    meta = tool.get("_meta")
    return isinstance(meta, dict) and meta.get(STANDS_IN) is True


PAGE_SECONDS = 30.0  # for one page of the upstream's tools
# A server whose cursors never end must not be read for ever.
MAX_PAGES = 100

Send = Callable[[Message], Awaitable[bool]]


class NoToolListError(Exception):
    """Raised when the upstream does not list its tools."""


class ToolListing:
    """Put requests of our own to the upstream, and pick their answers out of what it sends.

    `send` says whether a message could be sent.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._questions: dict[str, UpstreamQuestion] = {}

    async def tools(self, meta: Mapping[str, Any]) -> list[Any]:
        """Give every page of the list; `meta` is that of the client's request.

        Raises NoToolListError, and NoVerdictError where the server was not reached.
        """
        tools: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            asked = await self.put(messages.list_request(own_id(), meta, cursor), self._send)
            if asked.is_lost:  # it may list them, and was not reached
                raise NoVerdictError("the MCP server's tools cannot be listed at the moment.")
            page = asked.result
            if page is None:
                raise NoToolListError("the server does not list its tools")
            tools += page.get("tools") or []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return tools
        raise NoToolListError(f"its list has more than {MAX_PAGES} pages")

    async def ask(self, request: Message, send: Callable[[str], Awaitable[bool]]) -> None:
        """Put a request of the client's once more, and keep the answer from it."""
        await self.put(request.with_id(own_id()), lambda message: send(message.text))

    def takes(self, message: Message) -> bool:
        """Take a message if it answers us; nobody else has asked for it then."""
        if not message.is_answer or message.key not in self._questions:
            return False
        self._questions[message.key].take(message)
        return True

    def cannot_read(self, key: str) -> bool:
        """Wait no longer for an answer that cannot be read; tells whether it was for us."""
        if key in self._questions:
            self._questions[key].answered.set()
        return key in self._questions

    def awaits(self, key: str) -> bool:
        """Tell whether a question of ours is open."""
        return key in self._questions and not self._questions[key].answered.is_set()

    def lose(self, key: str) -> None:
        """Wait no longer for an answer: the question did not reach the server, or its answer us."""
        if self.awaits(key):
            self._questions[key].is_lost = True
            self._questions[key].answered.set()

    def give_up(self) -> None:
        """Wait no longer: the upstream has ended."""
        for question in self._questions.values():
            question.answered.set()

    async def put(self, request: Message, send: Send) -> UpstreamQuestion:
        """Put a question, and wait some time for its answer."""
        question = self._questions[request.key] = UpstreamQuestion()
        try:
            with anyio.move_on_after(PAGE_SECONDS):
                if await send(request):
                    await question.answered.wait()
        finally:
            del self._questions[request.key]
        return question


def own_id() -> str:
    # The client numbers its own requests as it likes, and the upstream sees both.
    return f"retrycontract-{uuid.uuid4().hex}"


class UpstreamQuestion:
    """Hold a request of ours until the upstream has answered it; no result when it did not."""

    def __init__(self) -> None:
        self.answered, self.is_lost = anyio.Event(), False
        self.answer: Message | None = None
        self.result: Mapping[str, Any] | None = None

    def take(self, message: Message) -> None:
        """Take the upstream's answer; an error is none."""
        result = message.value.get("result")
        self.answer = message
        self.result = result if isinstance(result, dict) else None
        self.answered.set()

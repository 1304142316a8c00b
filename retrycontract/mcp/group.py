"""Make one MCP server out of several: what each offers is called NAME__WHAT, and one that fails harms no other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from retrycontract import __version__
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.mcp import messages
from retrycontract.mcp.connection import Receiver, ServerConnection
from retrycontract.mcp.json_places import items_at, replaced
from retrycontract.mcp.member import CHANGED, ServerMember
from retrycontract.mcp.messages import Message
from retrycontract.mcp.toolbox import BETWEEN, STANDS_IN, own_id, stand_in

START_SECONDS = 30.0  # for the slowest server: what it offers then is announced when it comes
LIST_SECONDS = 5.0  # for the slowest server that is there: what it last listed stands for it meanwhile
MAX_PAGES = 100
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
CHANGE_OF: Final = '{"jsonrpc": "2.0", "method": "notifications/%s/list_changed"}'
# Where a list stands in its answer, and the capability that it belongs to.
LISTS: Final = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resourceTemplates", "resources"),
}
OF_A_NAME: Final = ("tools/call", "prompts/get")
OF_A_RESOURCE: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")


class ServerGroup:
    """Connect one client with several servers, of which each is called anew by `connectors`."""

    def __init__(self, connectors: Mapping[str, Callable[[], ServerConnection]]) -> None:
        self._connectors = connectors
        self._members = {name: ServerMember(name, self) for name in connectors}
        self._questions: dict[str, tuple[ServerMember, Any]] = {}
        self._numbers = itertools.count(1)
        self._homes: dict[str, ServerMember] = {}
        self.is_initialized = self.is_closed = False
        self._ended = anyio.Event()

    def bind(self, receiver: Receiver, tasks: TaskGroup) -> None:
        """Say who gets the messages, and start every server."""
        self.receiver, self._tasks = receiver, tasks
        for name, member in self._members.items():
            member.connect(self._connectors[name], tasks)

    async def run(self) -> int:
        """Wait until the client has left."""
        await self._ended.wait()
        return 0

    async def listen(self) -> None:
        """Hear what the servers say of their own accord."""
        for member in self._members.values():
            if member.connection is not None:
                self._tasks.start_soon(member.connection.listen)

    async def close(self) -> None:
        self.is_closed = True
        self._ended.set()
        async with anyio.create_task_group() as leaving:
            for member in self._members.values():
                if member.connection is not None:
                    leaving.start_soon(member.connection.close)

    async def send(self, text: str) -> bool:
        read = messages.read_again(text)
        for message in [read] if isinstance(read, Message) else read or []:
            if message.method in OF_A_NAME and message.is_request:
                await self._answer(message)  # at once, which keeps calls in their order
            elif message.is_request:
                self._tasks.start_soon(self._answer, message)
            elif message.method is None:
                asker, request_id = self._questions.pop(message.key, (None, None))
                if asker is not None:
                    await asker.tell(message.with_id(request_id).text)
            elif message.method == "notifications/cancelled":
                key = messages.key_of(message.params.get("requestId"))
                for member in self._members.values():
                    if member.awaits(key):
                        member.forget(key)
                        await member.tell(message.text)
            else:
                self.is_initialized |= message.method == "notifications/initialized"
                for member in self._there():
                    await member.tell(message.text)
        return True

    def named(self, message: Message, member: ServerMember) -> Message:
        """Give a request of a server's an id that no other server uses, and its cancellation as well."""
        if message.is_request:
            request_id = f"{member.name}-{next(self._numbers)}"
            self._questions[messages.key_of(request_id)] = (member, message.id)
            return message.with_id(request_id)
        if message.method == "notifications/cancelled":
            for key, (asker, request_id) in self._questions.items():
                if asker is member and request_id == message.params.get("requestId"):
                    return messages.read_message(replaced(message.text, ("params", "requestId"), key))
        return message

    def _there(self, capability: str = "") -> list[ServerMember]:
        return [
            member
            for member in self._members.values()
            if member.greeted is not None and member.fault is None and (not capability or member.offers(capability))
        ]

    async def _answer(self, request: Message) -> None:
        """Answer a request of the client's here, or have the server answer that it is for."""
        match request.method:
            case "initialize":
                await self._say(await self._greeted(request))
            case "ping":
                await self._say(messages.result(request.id, "{}"))
            case method if method in LISTS:
                await self._say(await self._listed(request, *LISTS[method]))
            case method if method in OF_A_NAME:
                await self._forward_by_name(request, ("params", "name"), request.params.get("name"))
            case method if method in OF_A_RESOURCE:
                await self._try(request, self._by_uri(request.params.get("uri")))
            case "completion/complete":
                ref = request.params.get("ref")
                ref = ref if isinstance(ref, dict) else {}
                if ref.get("type") == "ref/prompt":
                    await self._forward_by_name(request, ("params", "ref", "name"), ref.get("name"))
                else:
                    await self._try(request, self._by_uri(ref.get("uri")))
            case "logging/setLevel":
                await self._try(request, self._there("logging"), everyone=True)
            case _:
                text = f"{request.method} cannot be sent to several servers."
                await self._say(messages.failure(request.id, METHOD_NOT_FOUND, text))

    async def _say(self, message: Message) -> None:
        await self.receiver.from_upstream(message.text)

    async def _greeted(self, greeting: Message) -> Message:
        self._homes.clear()
        async with anyio.create_task_group() as asking:
            for member in self._members.values():
                asking.start_soon(self._greet, member, greeting)
        there = [(member.name, member.greeted) for member in self._there() if member.greeted is not None]
        versions = [told.get("protocolVersion") for _, told in there] or [greeting.params.get("protocolVersion")]
        capabilities: dict[str, Any] = {}
        for _, told in there:
            _unite(capabilities, told.get("capabilities"))
        _unite(capabilities, {"tools": {"listChanged": True}})
        said = {
            "protocolVersion": min(map(str, versions)),
            "capabilities": capabilities,
            "serverInfo": {"name": "retrycontract", "version": __version__},
        }
        if words := [f"{name}: {told['instructions']}" for name, told in there if told.get("instructions")]:
            said["instructions"] = "\n\n".join(words)
        return messages.result(greeting.id, json.dumps(said))

    async def _greet(self, member: ServerMember, greeting: Message) -> None:
        done = anyio.Event()

        async def greet() -> None:
            await member.greet(greeting)
            if done.is_set():  # the client has got its answer without this one
                await self.receiver.from_upstream(CHANGED)
            done.set()

        self._tasks.start_soon(greet)
        with anyio.move_on_after(START_SECONDS):
            await done.wait()
        done.set()

    async def _listed(self, request: Message, what: str, capability: str) -> Message:
        method, members = str(request.method), self._there(capability)
        asked = {member: self._ask_for_list(member, request, what, capability) for member in members}
        with anyio.move_on_after(LIST_SECONDS):
            for member, given in asked.items():
                if method not in member.silent:
                    await given.wait()
        for member, given in asked.items():
            if not given.is_set():
                member.silent.add(method)
        items = [item for member in members for item in member.listed.get(method, ())]
        if what == "tools":
            # A server that is not there is named where its tools would stand.
            items += [
                json.dumps(_unavailable(absent.name, absent.fault or "it has not listed its tools"))
                for absent in self._members.values()
                if absent.fault is not None or (method in absent.silent and method not in absent.listed)
            ]
        return messages.result(request.id, f'{{"{what}": [{", ".join(items)}]}}')

    def _ask_for_list(self, member: ServerMember, request: Message, what: str, capability: str) -> anyio.Event:
        """Ask a server for a list, unless it still owes one that it was late with; the event tells that it has come."""
        method, given = str(request.method), anyio.Event()
        if method in member.silent and member.asked_for[method]:
            return given
        member.asked_for[method] += 1

        async def ask() -> None:
            pages = await self._pages(member, request, what)
            member.asked_for[method] -= 1
            given.set()
            if pages is None:
                return
            before, member.listed[method] = member.listed.get(method), pages
            if method in member.silent and pages != before:  # the client has got its answer without these
                await self.receiver.from_upstream(CHANGE_OF % capability)
            member.silent.discard(method)

        self._tasks.start_soon(ask)
        return given

    async def _pages(self, member: ServerMember, request: Message, what: str) -> list[str] | None:
        """Give every page of a server's list; None where it gave no answer."""
        items: list[str] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            answer = await member.ask(messages.list_request(own_id(), request.meta, cursor, str(request.method)))
            if answer is None:
                return None
            if not isinstance(result := answer.value.get("result"), dict):
                break
            for item in items_at(answer.text, "result", what):
                value = messages.read_message(item).value
                if isinstance(value, dict) and isinstance(name := value.get("name"), str):
                    items.append(replaced(item, ("name",), json.dumps(f"{member.name}{BETWEEN}{name}")))
                    # A URI stays as it is, for results name it: of equal ones the first is meant.
                    if isinstance(uri := value.get("uri"), str):
                        self._homes.setdefault(uri, member)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                break
        return items

    async def _forward_by_name(self, request: Message, path: tuple[str, ...], name: Any) -> None:
        owner, _, own = str(name).partition(BETWEEN)
        member = self._members.get(owner)
        if member is None or not own:
            await self._say(messages.failure(request.id, INVALID_PARAMS, f"Nothing is called {name!r} here."))
        elif member.fault is not None or member.greeted is None:
            said = (
                f"The MCP server {owner!r} is not there: {member.fault or 'it is being started'}. Nothing was executed."
            )
            if request.is_call:
                await self._say(messages.refusal(request, ToolResult("", said)))
            else:
                await self._say(messages.failure(request.id, messages.CONNECTION_CLOSED, said))
        else:
            await member.forward(messages.read_message(replaced(request.text, path, json.dumps(own))))

    def _by_uri(self, uri: Any) -> list[ServerMember]:
        """Choose whom to ask: who has listed a resource, else one after another."""
        home = self._homes.get(uri) if isinstance(uri, str) else None
        return [home] if home is not None and home.fault is None else self._there("resources")

    async def _try(self, request: Message, members: Sequence[ServerMember], *, everyone: bool = False) -> None:
        found: Message | None = None
        for member in members:
            answer = await member.ask(request)
            if answer is not None and (found is None or "error" in found.value):
                found = answer
            if not everyone and found is not None and "result" in found.value:
                break
        missing = messages.failure(request.id, INVALID_PARAMS, "No server has it.")
        await self._say(missing if found is None else found.with_id(request.id))


def _unavailable(name: str, why: str) -> dict[str, Any]:
    told = f"The MCP server {name!r} is not there: {why}."
    return {
        "name": stand_in(name), "description": told, "inputSchema": {"type": "object"}, "_meta": {STANDS_IN: True},
    }  # fmt: skip


def _unite(into: dict[str, Any], more: Any) -> None:
    for name, value in (more if isinstance(more, dict) else {}).items():
        if isinstance(value, dict) and isinstance(into.setdefault(name, {}), dict):
            _unite(into[name], value)
        else:
            into[name] = into.get(name) or value

"""Put the contract into agents of other frameworks, one line each; a framework is imported when its line runs."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrycontract.client.errors import ConflictError, NoConversationError, ToolDeclarationError
from retrycontract.client.exchange import value_of
from retrycontract.client.guarding import begun_with
from retrycontract.contract.forking import renew_in_children
from retrycontract.contract.lifecycle import Status

if TYPE_CHECKING:
    from retrycontract.client.clients import AsyncClient, Client
    from retrycontract.client.results import ImportedTools, Settlement

__all__ = ["langchain_middleware", "litellm_callback", "openai_agents_tools", "pydantic_ai_capability"]

MOST_CONVERSATIONS = 10_000  # whose newest turn is remembered
MOST_REQUESTS = 10  # that LiteLLM makes to have one answer mended
UNREAD = "retrycontract_unread"  # where LangChain's message keeps the texts of calls that are no JSON
KEPT = "This call is valid and will be run together with those that are still wrong: do not make it again."
UNASKED = (
    "This call was not run: a person has corrected it, and with these arguments it has not been approved yet. Make it "
    "again with exactly these arguments:\n{}"
)
OF_ONE_REQUEST = ("litellm_logging_obj", "litellm_call_id")
MENDING: ContextVar[bool] = ContextVar("MENDING", default=False)


def langchain_middleware(client: Client | AsyncClient, *, timeout: float | None = None) -> Any:
    """Make an AgentMiddleware for `create_agent` that has every tool call checked before its tool runs.

    A conversation is the session that was begun around the agent, else the thread of messages. `timeout` is how many
    seconds a Blocked call waits for a person; None sets no limit. An AsyncClient serves `ainvoke` and `astream` only.
    """
    gate = _Gate(client, timeout)
    middleware, messages = import_module("langchain.agents.middleware"), import_module("langchain_core.messages")
    describe = import_module("langchain_core.utils.function_calling").convert_to_openai_tool

    def taken(outcome: Settlement[Any], request: Any) -> Any:
        if outcome.status is Status.VALID:
            found = {} if outcome.is_observed else {"args": outcome.arguments}
            return request.override(tool_call=request.tool_call | found)
        told = outcome.tool_result.render("langchain") | {"tool_call_id": request.tool_call["id"]}
        return messages.ToolMessage(**told)

    def read(request: Any) -> FrameworkCall:
        call, thread = request.tool_call, request.state["messages"]
        written = next(each for each in reversed(thread) if each.type == "ai").additional_kwargs.get(UNREAD, {})
        declared = describe(request.tool)["function"] if request.tool else {"name": call["name"]}
        # Arguments that a middleware, or a person whom it asked, has put in their place count.
        arguments = call["args"] or written.get(call["id"], call["args"])
        return FrameworkCall(declared, call["id"], arguments, thread[0].id, len(thread))

    # LangChain hands no tool what it could not parse: as a call without arguments it comes to the check like any other.
    def with_unread(response: Any) -> Any:
        for message in response.result:
            unread = getattr(message, "invalid_tool_calls", None) or []
            message.additional_kwargs |= {UNREAD: {call["id"]: call["args"] for call in unread}} if unread else {}
            for call in unread:
                message.tool_calls.append({"type": "tool_call", "name": call["name"], "args": {}, "id": call["id"]})
                message.invalid_tool_calls = []
        return response

    def wrap_tool_call(_: Any, request: Any, handler: Any) -> Any:
        found = taken(gate.settle(read(request)), request)
        return found if isinstance(found, messages.ToolMessage) else handler(found)

    async def awrap_tool_call(_: Any, request: Any, handler: Any) -> Any:
        found = taken(await gate.settle_in_loop(read(request)), request)
        return found if isinstance(found, messages.ToolMessage) else await handler(found)

    async def awrap_model_call(_: Any, request: Any, handler: Any) -> Any:
        return with_unread(await handler(request))

    members = {
        "wrap_tool_call": wrap_tool_call,
        "awrap_tool_call": awrap_tool_call,
        "wrap_model_call": lambda _, request, handler: with_unread(handler(request)),
        "awrap_model_call": awrap_model_call,
    }
    return type("RetryContractMiddleware", (middleware.AgentMiddleware,), members)()


def openai_agents_tools(
    client: Client | AsyncClient, tools: Iterable[Any], *, timeout: float | None = None
) -> list[Any]:
    """Give the tools of an OpenAI `Agent`, function tools or plain functions, with a check before each.

    The agent runs inside `with client.session():`, or inside a trace; raises NoConversationError where neither is.
    """
    gate, agents = _Gate(client, timeout), import_module("agents")

    def checked(tool: Any) -> Any:
        own = tool if isinstance(tool, agents.FunctionTool) else agents.function_tool(tool)
        tool, asks = copy.copy(own), _approval_of(own)
        declared = {"name": tool.name, "description": tool.description, "input_schema": tool.params_json_schema}
        run = tool.on_invoke_tool

        async def on_invoke_tool(context: Any, written: str) -> Any:
            trace = agents.get_current_trace()
            own_id = trace.trace_id if trace and trace.trace_id != "no-op" else None
            # A model of one's own may count no requests; then each of its answers has an input of its own.
            marks = () if context.usage.requests else (getattr(context, "turn_input", None) or [])[:1]
            answer = (_Held(context.usage, *marks), context.usage.requests)
            call = FrameworkCall(declared, context.tool_call_id, written, own_id, answer)
            outcome = await gate.settle_in_loop(call)
            if outcome.status is not Status.VALID:
                return outcome.tool_result.content
            if outcome.is_observed:
                return await run(context, written)
            text = json.dumps(outcome.arguments)
            # What a person has put in their place has passed neither the guardrails nor the approval.
            if _in_order(outcome.arguments) != _in_order(value_of(written)[0]) and (
                tool.tool_input_guardrails or await asks(context, outcome.arguments, context.tool_call_id)
            ):
                return UNASKED.format(text)
            return await run(context, text)

        tool.on_invoke_tool = on_invoke_tool
        if callable(own.needs_approval):
            tool.needs_approval = asks
        return tool

    return [checked(tool) for tool in tools]


def _approval_of(tool: Any) -> Any:
    """Give what tells whether arguments of a function tool need an approval, in the SDK's own words where it has any.

    It asks of whatever its reading would change, since a policy would judge something else than what runs, and looks
    for its own invoker to know: so it is asked about the tool as it was before the guard.
    """

    async def asks(context: Any, arguments: Any, call_id: str) -> bool:
        if isinstance(tool.needs_approval, bool):
            return tool.needs_approval
        try:
            evaluate = import_module("agents.util._approvals").evaluate_function_tool_approval
        except (ImportError, AttributeError):
            return True  # the SDK is another version: a person is asked, since nobody can say what would run
        return bool((await evaluate(tool, context, json.dumps(arguments), call_id)).outcome != "invoke")

    return asks


def pydantic_ai_capability(client: Client | AsyncClient, *, timeout: float | None = None) -> Any:
    """Make a capability for a Pydantic AI `Agent` that has every tool call checked before the framework reads it.

    What is wrong uses up no `retries` of the agent's. A conversation is the session that was begun around the run, else
    the run.
    """
    gate, failed = _Gate(client, timeout), import_module("pydantic_ai").ToolFailed
    hooks = import_module("pydantic_ai.capabilities").Hooks()

    async def before_tool_validate(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        declared = {"name": tool_def.name, "input_schema": tool_def.parameters_json_schema}
        declared |= {"description": tool_def.description} if tool_def.description else {}
        made = FrameworkCall(declared, call.tool_call_id, args, ctx.run_id, (ctx.run_id, ctx.run_step))
        outcome = await gate.settle_in_loop(made)
        if outcome.status is Status.VALID:
            return args if outcome.is_observed else outcome.arguments
        raise failed(outcome.tool_result.content)

    hooks.on.before_tool_validate(before_tool_validate)
    return hooks


def litellm_callback(client: Client | AsyncClient, *, timeout: float | None = None) -> Any:
    """Make a callback for `litellm.callbacks` that has every tool call mended before `acompletion` returns it.

    What is wrong goes back to the model within the same call, also where a person gives a hint. What stays wrong is
    taken out, and its text says why. Streams with tools, and several choices, are refused with ValueError.
    """
    gate, litellm = _Gate(client, timeout), import_module("litellm")
    base = import_module("litellm.integrations.custom_guardrail").CustomGuardrail

    async def before(_: Any, kwargs: dict[str, Any], call_type: Any) -> None:  # noqa: ARG001 - LiteLLM's names
        if kwargs.get("tools") and (kwargs.get("stream") or kwargs.get("n", 1) > 1):
            raise ValueError("retrycontract judges one whole answer: ask for tools without 'stream' and 'n'")

    async def after(_: Any, request_data: dict[str, Any], response: Any, call_type: Any) -> Any:  # noqa: ARG001
        if MENDING.get() or not request_data.get("tools"):
            return None
        token = MENDING.set(True)
        try:
            return await _mended(gate, litellm.acompletion, request_data, response)
        finally:
            MENDING.reset(token)

    members = {"async_pre_call_deployment_hook": before, "async_post_call_success_deployment_hook": after}
    return type("RetryContractCallback", (base,), members)(guardrail_name="retrycontract", default_on=True)


class _Held:
    """Stand for objects by their identity, and keep them: an address is given again once it is free."""

    def __init__(self, *held: Any) -> None:
        self._held, self._key = held, tuple(map(id, held))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True, slots=True)
class FrameworkCall:
    """Say what a framework knows of one call of a model."""

    declared: dict[str, Any]  # its tool, as an entry of a provider's list
    call_id: str
    arguments: Any
    conversation: str | None  # the framework's own, which counts where no session was begun
    answer: Hashable  # of the model's, in which it stands beside others

    @property
    def name(self) -> str:
        return str(self.declared["name"])


@dataclass(slots=True)
class _Turn:
    """Hold what the calls of one answer share."""

    session: Any
    answer: Hashable
    place: Any
    continued: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)

    def own_id(self, call: FrameworkCall) -> str:
        """Give a call's id, or one of its own where it has none or another call of the answer has the same.

        It is made of what was written: a framework that runs a call again means the same one.
        """
        text = json.dumps([call.name, call.arguments], sort_keys=True, default=str)
        if call.call_id and self.written.setdefault(call.call_id, text) == text:
            return call.call_id
        return f"{call.call_id or 'call'}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def continuing(self, refusal: ConflictError) -> str:
        """Choose among the calls that could be meant, each once: models answer in the order in which they were told."""
        found = next((each for each in refusal.candidates if each not in self.continued), None)
        if found is None:
            raise refusal
        self.continued.add(found)
        return found


class _Gate:
    """Register each tool when it first comes, and settle its calls in the turn and conversation that they belong to."""

    def __init__(self, client: Client | AsyncClient, timeout: float | None) -> None:
        self.client: Any = client
        self._timeout = timeout
        self._is_in_loop = hasattr(client, "__aenter__")
        self._registered: dict[str, str] = {}
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._renew_locks()
        renew_in_children(self, _Gate._renew_locks)

    def _renew_locks(self) -> None:
        """Begin with a lock that nobody holds: frameworks make the calls of one answer in threads."""
        self._lock = threading.Lock()

    def settle(self, call: FrameworkCall) -> Settlement[Any]:
        """Settle a call in this thread; raises TypeError for a client that an event loop needs."""
        if self._is_in_loop:
            raise TypeError("an AsyncClient waits in an event loop: call the agent there, or give a Client")
        schema = self._unregistered(call)
        if schema:
            self._note(call, schema, self.client.register_tools([call.declared]))
        turn = self._turn_of(call)
        given: tuple[Any, ...] = (call.name, turn.own_id(call), call.arguments)
        try:
            found: Settlement[Any] = turn.place.settle(*given, timeout=self._timeout)
        except ConflictError as refusal:
            found = turn.place.settle(*given, timeout=self._timeout, call_id=turn.continuing(refusal))
        return found

    async def settle_in_loop(self, call: FrameworkCall) -> Settlement[Any]:
        """Settle a call in an event loop; what a plain client has to wait for is waited for in a thread."""
        if not self._is_in_loop:
            return await asyncio.to_thread(self.settle, call)
        schema = self._unregistered(call)
        if schema:
            self._note(call, schema, await self.client.register_tools([call.declared]))
        turn = self._turn_of(call)
        given: tuple[Any, ...] = (call.name, turn.own_id(call), call.arguments)
        try:
            found: Settlement[Any] = await turn.place.settle(*given, timeout=self._timeout)
        except ConflictError as refusal:
            found = await turn.place.settle(*given, timeout=self._timeout, call_id=turn.continuing(refusal))
        return found

    def _unregistered(self, call: FrameworkCall) -> str:
        """Give what is to be registered as text; nothing where the service has it, or the model made the name up."""
        text = json.dumps(call.declared, sort_keys=True) if len(call.declared) > 1 else ""
        return "" if self._registered.get(call.name) == text else text

    def _note(self, call: FrameworkCall, schema: str, imported: ImportedTools) -> None:
        for refused in imported.refused:
            raise ToolDeclarationError(call.name, refused.detail)
        self._registered[call.name] = schema

    def _turn_of(self, call: FrameworkCall) -> _Turn:
        begun = begun_with(self.client)
        session_id = begun.session_id if begun else call.conversation
        if session_id is None:
            raise NoConversationError(call.name)
        with self._lock:
            known = self._turns.get(session_id)
            if known is None or known.answer != call.answer:
                session = begun or (known.session if known else self.client.session(session_id))
                known = self._turns[session_id] = _Turn(session, call.answer, session.turn())
            self._turns.move_to_end(session_id)
            if len(self._turns) > MOST_CONVERSATIONS:
                self._turns.popitem(last=False)
        return known


def _in_order(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True)


async def _mended(gate: _Gate, ask: Any, request: Mapping[str, Any], response: Any) -> Any:
    """Ask a model again until its calls are valid; the valid ones of each answer are kept."""
    declared = {tool["function"]["name"]: tool["function"] for tool in request["tools"] if "function" in tool}
    again = {name: value for name, value in request.items() if name not in OF_ONE_REQUEST}
    messages, kept, conversation = list(request["messages"]), [], uuid.uuid4().hex
    for number in range(MOST_REQUESTS):
        message = response.choices[0].message
        calls, said = message.tool_calls or [], message.model_dump(exclude_none=True)
        made = [
            FrameworkCall(declared.get(each.name, {"name": each.name}), call.id, each.arguments, conversation,
                     (conversation, number))
            for call in calls for each in [call.function]
        ]  # fmt: skip
        outcomes = await asyncio.gather(*map(gate.settle_in_loop, made))
        results = []
        for call, outcome in zip(calls, outcomes, strict=True):
            if outcome.status is not Status.VALID:
                results.append(outcome.tool_result.render("openai") | {"tool_call_id": call.id})
                continue
            if not outcome.is_observed:
                call.function.arguments = json.dumps(outcome.arguments)
            kept.append(call)
            results.append({"role": "tool", "tool_call_id": call.id, "content": KEPT})
        message.tool_calls = kept or None
        wrong = [outcome.tool_result.content for outcome in outcomes if outcome.status is not Status.VALID]
        if kept:
            response.choices[0].finish_reason = "tool_calls"
        if not wrong:
            break
        message.content, response.choices[0].finish_reason = "\n\n".join(wrong), "tool_calls" if kept else "stop"
        if number + 1 < MOST_REQUESTS:
            messages += [said, *results]
            response = await ask(**again | {"messages": messages})
    return response

"""Tools that are functions: how they are described to the service, and the guard before each of their calls."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary, ref

from retrycontract.client.errors import ConflictError, NoConversationError, ToolDeclarationError
from retrycontract.client.exchange import a_time
from retrycontract.client.results import ImportedTools, Settlement
from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError, WrongInputError
from retrycontract.contract.lifecycle import Status

if TYPE_CHECKING:
    from retrycontract.client.clients import AsyncClient, Client
    from retrycontract.client.sessions import AsyncSession, Session

NO_PYDANTIC = 'pydantic describes functions and types as tools: pip install "pydantic>=2"'


def tool_list(tools: Any) -> Any:
    """Give a list that the service can import.

    Takes a tool list of OpenAI, Anthropic or MCP, whole or under `tools`, with the SDKs' own objects in it or plain
    dicts; and functions, pydantic models, dataclasses and TypedDicts. Raises ToolDeclarationError, and ImportError
    where pydantic is needed and missing.
    """
    if isinstance(tools, Mapping):
        return tools
    # A string and an enum class can be iterated over, and are meant as one thing all the same.
    if not isinstance(tools, Iterable) or isinstance(tools, str | type):
        raise ToolDeclarationError(_name(tools), "give a list of tools, even of one")
    return [_declared(tool) for tool in tools]


def _declared(tool: Any) -> Any:
    # First: a pydantic class has `model_dump` as well, and stands for a tool itself.
    if callable(tool):
        name = _name(tool)
        # A `functools.partial`, or an object that can be called, has none.
        if not hasattr(tool, "__name__"):
            raise ToolDeclarationError(name, "it has no name")
        try:
            import pydantic  # only who describes tools by code needs it
        except ImportError:
            raise ImportError(NO_PYDANTIC) from None
        try:
            schema = pydantic.TypeAdapter(tool).json_schema()
        # NameError comes of an annotation in quotes that names what is not there.
        except (pydantic.errors.PydanticUserError, NameError) as error:
            raise ToolDeclarationError(name, str(error).partition("\n")[0]) from error
        if schema.get("type") == "array":
            raise ToolDeclarationError(name, "its arguments have no names; a model gives arguments by name")
        # `getdoc` of a class without a docstring gives its base's, which says nothing of the tool.
        described = schema.get("description") or (None if isinstance(tool, type) else inspect.getdoc(tool))
        return {"name": name, "input_schema": schema} | ({"description": described} if described else {})
    if hasattr(tool, "model_dump"):  # what the providers' SDKs return are pydantic models
        return tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return tool


def _name(tool: Any) -> str:
    name = getattr(tool, "__name__", type(tool).__name__)
    return str(name)


P = ParamSpec("P")
R = TypeVar("R")

# The conversations that have begun around the code that runs, the innermost last; tasks inherit them.
CONVERSATIONS: ContextVar[tuple[Session | AsyncSession, ...]] = ContextVar("CONVERSATIONS", default=())
# What pydantic finds that a schema cannot say: a validator's own words.
OWN_WORDS = ("value_error", "assertion_error")
TWICE = "'{}' is given by place and by name"
NOT_JSON = (
    "{0!r} was given as {1!r} a value that JSON cannot hold ({2}): a guarded function takes what the model wrote. What "
    "the program adds is no parameter; guard a function that has it already, as one defined inside of another"
)
ANOTHER = (
    "this client guards another function of this name with other parameters, and a model could not tell them apart: "
    "give one of them another name"
)
# The guards of each client whose functions are registered, by name; none is kept alive by it.
_named: WeakKeyDictionary[Any, dict[str, ref[Guard]]] = WeakKeyDictionary()


class Guard:
    """Hold one guarded function: how its calls are read, judged and made."""

    def __init__(self, function: Callable[..., Any], timeout: float | None) -> None:
        if not callable(function):
            raise WrongInputError(f"guard takes a function, and guard_tools a list of functions, not {function!r:.80}")
        a_time("timeout", timeout, or_none=True)
        self.function, self._timeout = function, timeout
        self.name = str(getattr(function, "__name__", type(function).__name__))
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # many that are built in say nothing of their arguments
            raise ToolDeclarationError(self.name, "it does not tell its arguments: guard a function of yours") from None
        # What can be given by place and has a name: functions that take anything by place alone cannot be declared.
        self._parameters = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        if self._parameters[:1] == ["self"]:
            raise WrongInputError(f"{self.name!r} is a method: guard that of an object, as in guard(thing.{self.name})")
        self._reader: Any = None
        self.schema: Any = None
        self.is_registered = False

    @classmethod
    def each(cls, functions: Iterable[Callable[..., Any]], timeout: float | None) -> list[Self]:
        """Guard a list of functions; raises WrongInputError for what is none."""
        if callable(functions) or not isinstance(functions, Iterable):
            raise WrongInputError(f"guard_tools takes a list of functions, even of one, not {functions!r:.80}")
        guards = [cls(function, timeout) for function in functions]
        for name, count in Counter(guard.name for guard in guards).items():
            if count > 1:  # each would be judged by the schema of the last
                raise WrongInputError(f"{name!r} is the name of {count} functions: a model could not tell them apart")
        return guards

    def declaration(self, client: Client | AsyncClient) -> Callable[..., Any]:
        """Give what is registered; raises ToolDeclarationError where the client guards another function so named."""
        self.schema = _declared(self.function)["input_schema"]
        taken = _named.setdefault(client, {})
        other = taken[self.name]() if self.name in taken else None
        # Of one that nobody holds any more, as when a notebook's cell has been run again, this one takes the place.
        if other is not None and other.schema != self.schema:
            raise ToolDeclarationError(self.name, ANOTHER)
        taken[self.name] = ref(self)
        return self.function

    def arguments(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Name what was given by place; wrong names are the model's mistake, and stay for the check."""
        from pydantic_core import to_jsonable_python

        given = dict(zip(self._parameters, positional, strict=False)) | dict(named)
        found: dict[str, Any] = {}
        for name, value in given.items():
            try:
                found[name] = to_jsonable_python(value)
            except ValueError as error:  # pydantic's own, bytes that are no text, a list that holds itself
                raise WrongInputError(NOT_JSON.format(self.name, name, type(value).__name__)) from error
        return found

    def misplaced(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> list[ValidationError]:
        """Say what is wrong with the places of a call, which a schema of names cannot see."""
        twice = [name for name in self._parameters[: len(positional)] if name in named]
        found = [
            _own_error(pointers.from_tokens([name]), TWICE.format(name), "multiple_argument_values") for name in twice
        ]
        if len(positional) > len(self._parameters):
            said = f"{len(positional)} arguments are given by place; at most {len(self._parameters)} can be"
            found.append(_own_error("", said, "unexpected_positional_argument"))
        return found

    def details(self, arguments: dict[str, Any], misplaced: list[ValidationError]) -> dict[str, Any]:
        """Say what else is sent: what the places and the function's own validators have against the arguments."""
        _, errors = self.read(arguments)
        own = [*misplaced, *(error for error in errors if error.keyword in OWN_WORDS)]
        return {"timeout": self._timeout} | ({"callback_error": own} if own else {})

    def read(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[ValidationError]]:
        """Make the function's own types of JSON, or say what keeps them from being made."""
        from pydantic import TypeAdapter
        from pydantic import ValidationError as NotReadError
        from pydantic_core import ArgsKwargs

        if self._reader is None:

            @functools.wraps(self.function)
            def reader(*positional: Any, **named: Any) -> Any:
                return positional, named

            # Its signature is the function's, and its result is what was read.
            taken: Any = reader
            self._reader = TypeAdapter(taken)
        try:
            _, found = self._reader.validate_python(ArgsKwargs((), dict(arguments)))
        except NotReadError as error:
            wrong = []
            for each in error.errors(include_url=False, include_input=False):
                pointer = pointers.from_tokens([str(part) for part in each["loc"]])
                said = str(each["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
                wrong.append(_own_error(pointer, said, str(each["type"])))
            return {}, wrong
        return found, []

    def require(self, imported: ImportedTools) -> None:
        """Note that the service knows the function; raises ToolDeclarationError where it refuses it."""
        refused = next((tool for tool in imported.refused if tool.name == self.name), None)
        if refused is not None:
            raise ToolDeclarationError(self.name, refused.detail)
        self.is_registered = True


def guarded(client: Client, guard: Guard) -> Callable[..., Any]:
    """Wrap a function: its calls are settled first, and what the model should read comes back instead of a result."""

    @functools.wraps(guard.function)
    def call(*positional: Any, **named: Any) -> Any:
        session: Any = conversation_of(client, guard.name)
        # Two threads may both find it so: registering the same schema twice changes nothing.
        if not guard.is_registered:
            guard.require(client.register_tools([guard.declaration(client)]))
        arguments = guard.arguments(positional, named)
        misplaced = guard.misplaced(positional, named)
        further: dict[str, Any] = guard.details(arguments, misplaced)
        # What a person has put right may still fail the function's own validators: then it is one attempt more, whose
        # errors the service is told.
        while True:
            given = guard.name, _new_id(guard), arguments
            try:
                outcome: Settlement[Any] = session.settle(*given, **further)
            except ConflictError as refusal:
                outcome = session.settle(*given, **further, call_id=_meant(session, refusal))
            if outcome.status is not Status.VALID:
                return outcome.tool_result.content
            # Read again, for a person may have put other arguments in the place of those that were submitted.
            found, errors = guard.read(outcome.arguments)
            # Only observed: nothing is blocked, and asking again would bring the same answer without end.
            if outcome.is_observed and (errors or misplaced):
                return guard.function(*positional, **named)
            if not errors:
                return guard.function(**found)
            arguments, further = outcome.arguments, further | {"callback_error": errors}

    return call


def guarded_in_loop(client: AsyncClient, guard: Guard) -> Callable[..., Awaitable[Any]]:
    """Do what `guarded` does in an event loop."""

    @functools.wraps(guard.function)
    async def call(*positional: Any, **named: Any) -> Any:
        session: Any = conversation_of(client, guard.name)
        if not guard.is_registered:
            guard.require(await client.register_tools([guard.declaration(client)]))
        arguments = guard.arguments(positional, named)
        misplaced = guard.misplaced(positional, named)
        further: dict[str, Any] = guard.details(arguments, misplaced)
        while True:
            given = guard.name, _new_id(guard), arguments
            try:
                outcome: Settlement[Any] = await session.settle(*given, **further)
            except ConflictError as refusal:
                outcome = await session.settle(*given, **further, call_id=_meant(session, refusal))
            if outcome.status is not Status.VALID:
                return outcome.tool_result.content
            found, errors = guard.read(outcome.arguments)
            is_as_given = outcome.is_observed and bool(errors or misplaced)
            if is_as_given or not errors:
                result = guard.function(*positional, **named) if is_as_given else guard.function(**found)
                return await result if inspect.isawaitable(result) else result
            arguments, further = outcome.arguments, further | {"callback_error": errors}

    return call


def conversation_of(client: Client | AsyncClient, name: str) -> Session | AsyncSession:
    """Give the innermost conversation that this client has begun; raises NoConversationError without one."""
    found = begun_with(client)
    if found is None:
        raise NoConversationError(name)
    return found


def begun_with(client: Client | AsyncClient) -> Session | AsyncSession | None:
    """Give the innermost conversation that this client has begun, if there is one."""
    return next((session for session in reversed(CONVERSATIONS.get()) if session.client is client), None)


def _meant(session: Session | AsyncSession, refusal: ConflictError) -> str:
    """Give the call that an attempt goes on with where several could be meant; raises the refusal for another one."""
    if not refusal.candidates:
        raise refusal
    return session.place.continuing(refusal.candidates)


def _new_id(guard: Guard) -> str:
    return f"{guard.name[:60]}-{uuid.uuid4().hex}"


def _own_error(pointer: str, said: str, keyword: str) -> ValidationError:
    return ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, pointer, said, keyword=keyword)

"""Compiled tools and the sanitiser of this process."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

from django.conf import settings

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.secret_choices import echoes_of_choices, public_schema
from retrycontract.contract.configuration import Mode, OnExpiry, RetryConfiguration, parse_duration
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.source_code import declared_language
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.admission import DearSchema
from retrycontract.contract.schemas.costs import Weight
from retrycontract.contract.schemas.telling_costs import SECOND
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tool import Tool as Contract
from retrycontract.languages import compiler_of, require_compiler
from retrycontract.store.models import Tool, ToolVersion

# What compiled versions hold of memory goes with the time that compiling them takes: 0.12 MB for each millisecond of
# ordinary ones, 0.4 where patterns are many. Versions are kept that take so many seconds together: a thousand ordinary
# ones.
KEPT_TOGETHER = 1.5
LEAST_OF_ONE = 0.0005
WEIGHING = 0.6  # of that is counted for what is known of the costs: a third of the time, and more objects
MOST_COMPILING = 0.05  # seconds that all threads of this process may stand still, once for each schema
# Seconds that each use of a version earns: it is compiled here when it has earned what that takes. Until then, which is
# at once for ordinary ones, a child process does it, so that nobody stands still for many schemas that are used once.
EARNED = 0.005


def configuration_for(tool_name: str) -> RetryConfiguration:
    """Give the contract's configuration with the overrides of this tool."""
    configuration: RetryConfiguration = settings.CONTRACT
    return configuration.for_tool(tool_name)


def mode_of(tool: Tool | None, tool_name: str) -> Mode:
    """Tell whether a tool is enforced or only observed."""
    mode = tool.mode if tool else None
    return "observe" if (mode or configuration_for(tool_name).mode) == "observe" else "enforce"


def attempts_allowed(tool: Tool | None, tool_name: str) -> int:
    """Give the first budget of a call of this tool."""
    return (tool.max_attempts if tool else None) or configuration_for(tool_name).max_attempts


def expires_after(tool: Tool | None, tool_name: str) -> timedelta:
    """Give how long a Blocked call of this tool waits for an answer."""
    if tool is not None and tool.expires_after is not None:
        return tool.expires_after
    given = _overrides(tool_name).get("expires_after")
    return parse_duration(given) if given else timedelta(days=settings.RETRYCONTRACT.blocked_expires_after_days)


def on_expiry(tool: Tool | None, tool_name: str) -> OnExpiry:
    """Tell what happens to a Blocked call of this tool that nobody answered in time."""
    chosen = (tool.on_expiry if tool else None) or _overrides(tool_name).get("on_expiry")
    return "reject" if chosen == "reject" else "expire"


def schema_to_show(schema: Any) -> Any:
    """Give a schema as it may be stored and shown here: without secrets, and without what its secret fields allow."""
    return public_schema(schema, sanitizer())


def text_to_show(text: str, index: SchemaIndex) -> str:
    """Give what is said of a tool as it may be stored and shown: it may repeat what a secret field allows."""
    redacted = sanitizer().redact_text(text)
    return echoes_of_choices(index, sanitizer()).hidden_in(redacted) if text else redacted


def sanitizer() -> ValueSanitizer:
    """Give the one sanitiser that everything in this process uses."""
    global _sanitizer
    configuration: RetryConfiguration = settings.CONTRACT
    if _sanitizer is None or _sanitizer[0] is not configuration:
        _sanitizer = (configuration, ValueSanitizer(configuration))
    return _sanitizer[1]


class PinnedContract:
    """Hold a tool by one version of its schema, and what judging by it costs; compiled when it first judges here."""

    def __init__(self, declared: Contract) -> None:
        self.declared = declared
        self.weight = Weight.of(declared.input_schema)
        self._compiled: CompiledTool | None = None
        self._index: SchemaIndex | None = None
        self._is_judged_apart: bool | None = None
        self._earned = 0.0

    @property
    def holds(self) -> float:
        """Give what it takes of the room for versions, in seconds: what is compiled, and what is known of its costs."""
        # Long patterns may take seconds to compile, and nothing of what is known of the costs.
        seconds = min(self.weight.compiling / SECOND, MOST_COMPILING)
        return LEAST_OF_ONE + WEIGHING * seconds + (seconds if self._compiled else 0)

    def use(self) -> bool:
        """Compile the schema if that is worth while by now, and tell whether this process may judge by it.

        Where compiling or judging would hold everybody up only child processes do it.
        """
        if self._is_judged_apart is None:
            self._earned += EARNED
            seconds = self.weight.compiling / SECOND
            if self._earned < seconds <= MOST_COMPILING:
                return False
            self._is_judged_apart = seconds > MOST_COMPILING or self._is_dear()
        return not self._is_judged_apart

    def _is_dear(self) -> bool:
        try:
            return not self.compiled
        except DearSchema:
            return True

    # Not `functools.cached_property`: in Python 3.11 that has one lock for all contracts, so that whoever compiles one
    # would keep all others from theirs.
    @property
    def compiled(self) -> CompiledTool:
        """Give the tool ready to judge; raises DearSchema and InvalidSchema."""
        if self._compiled is None:
            self._compiled = CompiledTool.of(self.declared, compiler_of)
            _make_room()
        return self._compiled

    @property
    def index(self) -> SchemaIndex:
        """Give the index of the schema's places, which the engine has no part in."""
        if self._index is None:
            compiled = self._compiled
            self._index = compiled.schema.index if compiled else SchemaIndex(self.declared.input_schema)
        return self._index


def pinned(tool: Tool, version: ToolVersion, kind: str) -> PinnedContract:
    """Give the contract of a version of a tool for a call of a kind; versions never change, so it is kept.

    Raises UnreadableError for a schema that is sealed with a key that nobody has any more.
    """
    # By content: keys of rows can come again, when a database is restored or replaced under a running process.
    key = (tool.name, version.schema_hash, tool.strict, kind)
    # Read without the lock: at worst two threads make the same one, and either may be kept.
    found, is_kept = _kept.get(key), True
    if found is None:
        declared = Contract(name=tool.name, input_schema=version.judged_by, strict=tool.strict, kind=Kind(kind))
        found, is_kept = PinnedContract(declared), False
    with _keeping:
        # Used last, it comes last: many new ones push out what nobody has asked for.
        _kept.pop(key, None)
        _kept[key] = found
    if not is_kept:
        _make_room()
    return found


def _make_room() -> None:
    with _keeping:
        held = sum(contract.holds for contract in _kept.values())
        while held > KEPT_TOGETHER:
            held -= _kept.pop(next(iter(_kept))).holds


def require_compiler_of(declared: Contract) -> None:
    """Make sure that what a tool writes can be checked here; raises UnknownLanguageError and MissingGrammarError."""
    if declared.kind is Kind.SOURCE_FILE:
        require_compiler(declared_language(declared.name, declared.input_schema))


def _overrides(tool_name: str) -> dict[str, object]:
    configuration: RetryConfiguration = settings.CONTRACT
    return configuration.overrides_of(tool_name)


_kept: dict[tuple[str, str, bool, str], PinnedContract] = {}
_keeping = threading.Lock()
_sanitizer: tuple[RetryConfiguration, ValueSanitizer] | None = None

"""Register tools: a changed schema makes a new version, an invalid or dangerous one is refused."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic, thread_time
from typing import Any, Final, TypeAlias

from django.utils import timezone

from retrycontract.checking import admit_apart
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.configuration import OnExpiry, shown_duration
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.source_code import declared_language
from retrycontract.contract.schemas.document import InvalidSchema, SchemaWarning
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.languages import require_compiler
from retrycontract.store.models import Agent, Door, Event, Tool, ToolVersion
from retrycontract.store.sealing import UnreadableError
from retrycontract.store.transactions import WritersQueue, write_transaction
from retrycontract.usecases.calls.repeat_request import safe_tool_name
from retrycontract.usecases.counts.keep_count import NOTED, charge, note_work, refuse_overdrawn
from retrycontract.usecases.tools.contracts import pinned, schema_to_show, text_to_show


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Hold what a registration may set besides the schema; None leaves it as it is."""

    description: str | None = None
    kind: str | None = None
    strict: bool | None = None
    hold: bool | None = None
    mode: str | None = None
    max_attempts: int | None = None
    expires_after: timedelta | None = None
    on_expiry: OnExpiry | None = None

    def given(self) -> dict[str, Any]:
        """Give only what was set, as every database takes it: PostgreSQL refuses NUL in a text."""
        values = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        values["description"] = self.description and self.description.replace("\x00", "\ufffd")
        return {name: value for name, value in values.items() if value is not None}


class ListTakesLongError(Exception):
    """Raised when a list took longer than its sender waits; what is registered stays, and the same list goes on."""


class ToolChangedError(RuntimeError):
    """Raised when a tool is not as its client takes it to be; `revision` is None when there is no such tool."""

    def __init__(self, revision: str | None) -> None:
        self.revision = revision
        super().__init__("the tool was changed meanwhile; read it again")


@dataclass(frozen=True, slots=True)
class Registration:
    """Say what a registration did."""

    tool: Tool
    version: ToolVersion
    is_new_tool: bool
    is_new_version: bool
    warnings: tuple[SchemaWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Say which tools of a list were registered, and which were refused and why."""

    registered: list[Registration]
    refused: list[tuple[str, InvalidSchema]]


def register_tool(
    agent: Agent,
    name: str,
    schema: Any,
    *,
    now: datetime,
    door: Door = Door.API,
    settings: ToolSettings | None = None,
    may_replace: Callable[[str | None], bool] | None = None,
    actor: str | None = None,
    at_once: int | None = None,
) -> Registration:
    """Register a tool in the agent's namespace; raises InvalidSchema that names the fault.

    `may_replace` is asked with the revision that is there, None for a new tool; its no raises ToolChangedError.
    `actor` is who did it where it was not the agent itself. With `at_once` TooManyWaitingError is raised while so many
    checks of the agent are under way.

    A tool that writes source files raises UnknownLanguageError or MissingGrammarError where they can't be checked.
    """
    # Before the transaction: a child process may work on it for seconds, and writers would wait.
    admitted = _admitted(agent, schema, charge=partial(charge, agent.pk, now=now), at_once=at_once)
    if isinstance(admitted, InvalidSchema):
        raise admitted
    begun = thread_time()
    with _preparing:
        shown = _to_show(agent, name, schema)
    done = _store(agent, name, schema, shown, settings or ToolSettings(), now, door, may_replace, actor)
    # Ordinary ones are compiled in this thread, so that the first attempt need not wait for that.
    with _preparing:
        pinned(done.tool, done.version, done.tool.kind).use()
    note_work(agent.pk, thread_time() - begun, now=now)
    return replace(done, warnings=admitted)


# One at a time: several would take the interpreter from everybody who submits.
_preparing = threading.Lock()


def _store(
    agent: Agent,
    name: str,
    schema: Any,
    shown: Any,
    settings: ToolSettings,
    now: datetime,
    door: Door = Door.API,
    may_replace: Callable[[str | None], bool] | None = None,
    actor: str | None = None,
) -> Registration:
    """Register a tool whose schema was admitted; `shown` is what `_to_show` gives for it."""
    name, given = safe_tool_name(name), _given(settings, schema)
    with write_transaction():
        tool, is_new = Tool.objects.get_or_create(
            namespace=agent.namespace,
            name=name,
            defaults={"kind": Kind.TOOL_CALL, "created_at": now, "updated_at": now, **given},
        )
        if may_replace is not None:
            tool = tool if is_new else _held(tool)
            revision = None if is_new else tool.revision
            if not may_replace(revision):
                raise ToolChangedError(revision)
        version, is_new_version = _version(tool, schema, shown, now, is_new=is_new)
        # Not earlier: a registration may leave the kind as it is, and what the tool has is known here only. A refusal
        # takes back what was stored above.
        if given.get("kind", tool.kind) == Kind.SOURCE_FILE:
            require_compiler(declared_language(tool.name, schema))
        changes = {} if is_new else {key: value for key, value in given.items() if getattr(tool, key) != value}
        if changes or tool.current_version_id != version.pk:
            tool.current_version_id = version.pk  # the row alone: the version holds the tool already
            for key, value in changes.items():
                setattr(tool, key, value)
            tool.updated_at = now
            tool.save()
            Event.record(
                "tool.registered", actor=actor or agent.name, door=door, at=now, tool=name, namespace=tool.namespace,
                version=version.number, changed=sorted(given if is_new else changes),
            )  # fmt: skip
    return Registration(tool, version, is_new, is_new_version)


def _given(settings: ToolSettings, schema: Any) -> dict[str, Any]:
    given = settings.given()
    if "description" in given:
        given["description"] = text_to_show(given["description"], SchemaIndex(schema))
    return given


def _to_show(agent: Agent, name: str, schema: Any) -> Any:
    """Give a schema without its secrets, None where its version is stored.

    Of a large one that takes a tenth of a second, for which all writers would wait within a transaction.
    """
    versions = ToolVersion.objects.filter(tool__namespace=agent.namespace, tool__name=safe_tool_name(name))
    is_stored = versions.filter(schema_hash=ToolVersion.hash_of(schema)).exists()
    return None if is_stored else schema_to_show(schema)


Admitted: TypeAlias = InvalidSchema | tuple[SchemaWarning, ...]  # the fault of a schema, or its warnings

KNOWN: Final = 10_000  # schemas that were asked for last, of which what was found is kept
_known: dict[str, Admitted] = {}
_knowing = threading.Lock()


def _admitted(
    agent: Agent, schema: Any, *, charge: Callable[[float], None], at_once: int | None = None, is_listed: bool = False
) -> Admitted:
    """Admit a schema in a child process, once: tools are registered with every start of an agent.

    One that was refused is asked for again, unless it stands in a list, which must come to its end some time.
    """
    digest = ToolVersion.hash_of(schema)
    found = _known.get(digest)
    if found is None or (isinstance(found, InvalidSchema) and not is_listed):
        try:
            found = admit_apart(schema, key=agent.pk, at_once=at_once, charge=charge)
        except InvalidSchema as fault:
            found = InvalidSchema(fault.pointer, fault.reason, fault.code)  # without the frames that it came through
        with _knowing:
            while len(_known) >= KNOWN:
                del _known[next(iter(_known))]
            _known[digest] = found
    return found


def _admitted_list(agent: Agent, tools: Sequence[DeclaredTool], until: float) -> list[Admitted]:
    found = list[Admitted]()
    took = list[float]()  # processor seconds that are not charged yet: a write for each tool would take longer
    try:
        for declared in tools:
            now = timezone.now()  # a list of thousands takes so long that what the agent may cause grows meanwhile
            if not found or sum(took) > NOTED:
                # A single list may hold more dear schemas than an agent may have checked in an hour.
                note_work(agent.pk, sum(took), now=now)
                took.clear()
                refuse_overdrawn(Agent.objects.get(pk=agent.pk), now=now)
            if monotonic() > until:
                raise ListTakesLongError
            begun = thread_time()
            found.append(_admitted(agent, declared.schema, charge=took.append, is_listed=True))
            took.append(thread_time() - begun)
    finally:
        note_work(agent.pk, sum(took), now=timezone.now())
    return found


TOGETHER: Final = 4  # tools that are stored in one transaction, which takes some 10 ms
READ_TOGETHER: Final = 100
LONGEST_IMPORT: Final = 6.0  # seconds; a thousand new tools take three when nothing else is going on
_lists = WritersQueue()  # of several lists at once one stands among the writers, each in its turn


def import_tools(
    agent: Agent, tools: Sequence[DeclaredTool], *, settings: ToolSettings | None = None, now: datetime
) -> ImportResult:
    """Register every tool of a list that can be, all with these settings; the others are told with the fault of each.

    A few are stored in each transaction, since other writers would wait for a whole list; whoever does it again finds
    what was stored. Raises WorkUsedUpError, also in the midst of the checks, when the agent has caused more work than
    it may; then nothing is stored. Raises ListTakesLongError after some seconds.
    """
    until = monotonic() + LONGEST_IMPORT
    admitted = _admitted_list(agent, tools, until)
    begun = thread_time()
    refused = [
        (safe_tool_name(tool.name), found)
        for tool, found in zip(tools, admitted, strict=True)
        if isinstance(found, InvalidSchema)
    ]
    warnings = {place: found for place, found in enumerate(admitted) if not isinstance(found, InvalidSchema)}
    of_each = [replace(settings or ToolSettings(), description=tool.description) for tool in tools]
    # By name, whatever their order: of two lists at once, in a transaction each, none holds what the other waits for.
    named = sorted((safe_tool_name(tools[place].name), place) for place in warnings)
    times = Counter(name for name, _ in named)  # a tool may stand twice in a list, and the last one holds
    done: dict[int, Registration] = {}
    try:
        for start in range(0, len(named), READ_TOGETHER):
            some = named[start : start + READ_TOGETHER]
            present = {tool.name: tool for tool in Tool.objects.of(agent.namespace).filter(name__in=dict(some))}
            for name, place in some:
                tool = present.get(name) if times[name] == 1 else None
                if tool and (as_it_is := _unchanged(tool, tools[place].schema, of_each[place])):
                    done[place] = as_it_is
        named = [(name, place) for name, place in named if place not in done]
        for start in range(0, len(named), TOGETHER):
            if monotonic() > until:
                raise ListTakesLongError
            some = named[start : start + TOGETHER]
            shown = {place: _to_show(agent, name, tools[place].schema) for name, place in some}
            with _lists, write_transaction():
                for name, place in some:
                    done[place] = _store(agent, name, tools[place].schema, shown[place], of_each[place], now)
    finally:
        note_work(agent.pk, thread_time() - begun, now=now)
    return ImportResult([replace(done[place], warnings=told) for place, told in warnings.items()], refused)


def _unchanged(tool: Tool, schema: Any, settings: ToolSettings) -> Registration | None:
    """Give what a registration says that changes nothing, as most do when an agent starts; None for any other."""
    version, given = tool.current_version, _given(settings, schema)
    if version is None or version.schema_hash != ToolVersion.hash_of(schema):
        return None
    if tool.kind == Kind.SOURCE_FILE or any(getattr(tool, name) != value for name, value in given.items()):
        return None
    try:
        _ = version.judged_by
    except UnreadableError:
        return None
    return Registration(tool, version, is_new_tool=False, is_new_version=False)


def _held(tool: Tool) -> Tool:
    """Read a tool as it is now; nobody changes it until the transaction ends."""
    # `no_key`: else, on PostgreSQL, every new call of the tool would wait, since inserting a reference locks the row's
    # key.
    held = Tool.objects.select_for_update(of=("self",), no_key=True).select_related("current_version")
    return held.get(pk=tool.pk)


def _version(tool: Tool, schema: Any, shown: Any, now: datetime, *, is_new: bool) -> tuple[ToolVersion, bool]:
    digest = ToolVersion.hash_of(schema)
    # A new tool has none, and nobody else sees it yet.
    found = None if is_new else tool.versions.filter(schema_hash=digest).first()
    if found is None and not is_new:
        # Of several that bring a new schema at once, one numbers its version and the others look again.
        Tool.objects.select_for_update(no_key=True).get(pk=tool.pk)
        found = tool.versions.filter(schema_hash=digest).first()
    if found is not None:
        # It may be sealed with a key that was lost: its author has brought the text back.
        found.open_again(schema)
        return found, False
    last = None if is_new else tool.versions.order_by("-number").first()
    number = last.number + 1 if last else 1
    if shown is None:  # it was stored when it was looked for, and has gone since
        shown = schema_to_show(schema)
    version = ToolVersion.of(tool, schema, shown=shown, number=number, now=now)
    version.save(force_insert=True)
    return version, True


CHANGEABLE = ("strict", "hold", "mode", "max_attempts", "expires_after", "on_expiry")


def change_tool(tool: Tool, settings: dict[str, Any], *, now: datetime, actor: str, door: Door) -> None:
    """Store the settings that differ; None means 'as the configuration says'."""
    unknown = set(settings) - set(CHANGEABLE)
    if unknown:
        raise ValueError(f"a tool has no setting {', '.join(sorted(unknown))}; it has {', '.join(CHANGEABLE)}")
    with write_transaction():
        held = Tool.objects.select_for_update().get(pk=tool.pk)
        changes = {name: value for name, value in settings.items() if getattr(held, name) != value}
        if not changes:
            return
        Tool.objects.filter(pk=tool.pk).update(**changes, updated_at=now)
        told = {name: shown_duration(v) if isinstance(v, timedelta) else v for name, v in changes.items()}
        Event.record(
            "tool.changed", actor=actor, door=door, at=now, tool=held.name, namespace=held.namespace, changes=told
        )


def release_version(version: ToolVersion, *, now: datetime, actor: str, door: Door) -> bool:
    """Let a quarantined version be judged at the door again; False when it was not in quarantine."""
    with write_transaction():
        held = ToolVersion.objects.filter(pk=version.pk, quarantined_at__isnull=False)
        if not held.update(quarantined_at=None):
            return False
        tool = version.tool
        Event.record(
            "version.released", actor=actor, door=door, at=now, tool=tool.name, namespace=tool.namespace,
            version=version.number,
        )  # fmt: skip
    return True

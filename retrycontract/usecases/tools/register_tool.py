"""Register tools: a changed schema makes a new version, an invalid or dangerous one is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from time import thread_time
from typing import Any, Final, TypeAlias

from django.utils import timezone

from retrycontract.checking import admit_apart
from retrycontract.contract.configuration import OnExpiry, shown_duration
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.source_code import declared_language
from retrycontract.contract.schemas.document import InvalidSchema, SchemaWarning
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.languages import require_compiler
from retrycontract.store.models import Agent, Door, Event, Tool, ToolVersion
from retrycontract.store.transactions import WritersQueue, write_transaction
from retrycontract.usecases.calls.repeat_request import safe_tool_name
from retrycontract.usecases.counts.keep_count import NOTED, charge, note_work, refuse_overdrawn
from retrycontract.usecases.tools.contracts import pinned, sanitizer


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
    warnings = _admitted(agent, schema, charge=partial(charge, agent.pk, now=now), at_once=at_once)
    begun = thread_time()
    shown = _to_show(agent, name, schema)
    done = _store(agent, name, schema, shown, settings or ToolSettings(), now, door, may_replace, actor)
    # Compiled in this thread, so that the first attempt need not be: that would hold up all others at the door.
    _ = pinned(done.tool, done.version, done.tool.kind).is_judged_apart
    note_work(agent.pk, thread_time() - begun, now=now)
    return replace(done, warnings=warnings)


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
    name, given = safe_tool_name(name), settings.given()
    if "description" in given:
        given["description"] = sanitizer().redact_text(given["description"])
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
            tool.current_version = version
            for key, value in changes.items():
                setattr(tool, key, value)
            tool.updated_at = now
            tool.save()
            Event.record(
                "tool.registered", actor=actor or agent.name, door=door, at=now, tool=name, namespace=tool.namespace,
                version=version.number, changed=sorted(given if is_new else changes),
            )  # fmt: skip
    return Registration(tool, version, is_new, is_new_version)


def _to_show(agent: Agent, name: str, schema: Any) -> Any:
    """Give a schema without its secrets, None where its version is stored.

    Of a large one that takes a tenth of a second, for which all writers would wait within a transaction.
    """
    versions = ToolVersion.objects.filter(tool__namespace=agent.namespace, tool__name=safe_tool_name(name))
    is_stored = versions.filter(schema_hash=ToolVersion.hash_of(schema)).exists()
    return None if is_stored else sanitizer().redact_schema(schema)


def _admitted(
    agent: Agent, schema: Any, *, charge: Callable[[float], None], at_once: int | None = None
) -> tuple[SchemaWarning, ...]:
    """Admit a schema in a child process, once: tools are registered with every start of an agent."""
    digest = ToolVersion.hash_of(schema)
    found = _known.get(digest)
    if found is None:
        found = admit_apart(schema, key=agent.pk, at_once=at_once, charge=charge)
        with _knowing:
            while len(_known) >= KNOWN:
                del _known[next(iter(_known))]
            _known[digest] = found
    return found


KNOWN: Final = 2_000  # schemas that were admitted last, of which their warnings are kept
_known: dict[str, tuple[SchemaWarning, ...]] = {}
_knowing = threading.Lock()

Admitted: TypeAlias = Mapping[int, InvalidSchema | tuple[SchemaWarning, ...]]  # of each tool of a list, by its place


def _admitted_list(agent: Agent, tools: Sequence[DeclaredTool]) -> Admitted:
    """Give the fault of each that is refused, else its warnings."""
    found: dict[int, InvalidSchema | tuple[SchemaWarning, ...]] = {}
    took = list[float]()  # processor seconds that are not charged yet: a write for each tool would take longer
    for place, declared in enumerate(tools):
        now = timezone.now()  # a list of thousands takes so long that what the agent may cause grows meanwhile
        if not place or sum(took) > NOTED:
            # A single list may hold more dear schemas than an agent may have checked in an hour.
            note_work(agent.pk, sum(took), now=now)
            refuse_overdrawn(Agent.objects.get(pk=agent.pk), now=now)
            took.clear()
        begun = thread_time()
        try:
            found[place] = _admitted(agent, declared.schema, charge=took.append)
        except InvalidSchema as fault:
            found[place] = fault
        took.append(thread_time() - begun)
    note_work(agent.pk, sum(took), now=timezone.now())
    return found


TOGETHER: Final = 4  # tools that are stored in one transaction, which takes some 10 ms
_lists = WritersQueue()  # of several lists at once one stands among the writers, each in its turn


def import_tools(
    agent: Agent, tools: Sequence[DeclaredTool], *, settings: ToolSettings | None = None, now: datetime
) -> ImportResult:
    """Register every tool of a list that can be, all with these settings; the others are told with the fault of each.

    A few are stored in each transaction, since other writers would wait for a whole list; whoever does it again finds
    what was stored. Raises WorkUsedUpError, also in the midst of the checks, when the agent has caused more work than
    it may; then nothing is stored.
    """
    admitted = _admitted_list(agent, tools)
    begun = thread_time()
    done: dict[int, Registration] = {}
    refused: dict[int, tuple[str, InvalidSchema]] = {}
    # By name, whatever their order: of two lists at once, in a transaction each, none holds what the other waits for.
    named = sorted(enumerate(tools), key=lambda item: safe_tool_name(item[1].name))
    for start in range(0, len(named), TOGETHER):
        some = [(place, each, admitted[place]) for place, each in named[start : start + TOGETHER]]
        shown = {place: _to_show(agent, each.name, each.schema) for place, each, found in some if type(found) is tuple}
        with _lists, write_transaction():
            for place, each, found in some:
                if isinstance(found, InvalidSchema):
                    refused[place] = safe_tool_name(each.name), found
                else:
                    own = replace(settings or ToolSettings(), description=each.description)
                    stored = _store(agent, each.name, each.schema, shown[place], own, now)
                    done[place] = replace(stored, warnings=found)
    note_work(agent.pk, thread_time() - begun, now=now)
    return ImportResult([done[place] for place in sorted(done)], [refused[place] for place in sorted(refused)])


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
        shown = sanitizer().redact_schema(schema)
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
        Event.record("version.released", actor=actor, door=door, at=now, tool=version.tool.name, version=version.number)
    return True

"""Try a schema without storing anything: on one output, or on what agents sent lately."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from time import monotonic
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from retrycontract.checking import AT_ONCE, admit_apart
from retrycontract.config.installed_formatters import gather_formatters
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.answer import Examined, write_feedback
from retrycontract.contract.feedback.tool_result import ToolResult, metadata
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.tool_lists import refuse_slips
from retrycontract.contract.tool import Tool as Contract
from retrycontract.store.fields import IN_BLOCKS
from retrycontract.store.models import Agent, Attempt, Call, Tool
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.calls.check_output import DESK, Submitted, ask_child, check
from retrycontract.usecases.counts.keep_count import charge
from retrycontract.usecases.tools.contracts import (
    PinnedContract,
    configuration_for,
    pinned,
    require_compiler_of,
    sanitizer,
)

MOST_REPLAYED: Final = 200  # failures, and as many that were right: most take a second of work together
REPLAY_SECONDS: Final = 4.0  # for a person waits; what is left then is not tried, and they are told how many
MOST_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class ChangedOutput:
    """Show one output that would be judged otherwise, with what was wrong, or what would be."""

    attempt: Attempt
    errors: tuple[ValidationError, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """Hold what the schema would have said, in numbers and with a few examples.

    What was redacted is not what the agent sent, and what failed for another reason than its schema would fail again:
    neither says anything of a schema.
    """

    failures: int
    now_valid: int
    still_wrong: int
    right: int
    now_wrong: int
    redacted: int
    elsewhere: int
    untried: int
    mended: tuple[ChangedOutput, ...]
    broken: tuple[ChangedOutput, ...]

    @property
    def replayed(self) -> int:
        """Count the failures that say something."""
        return self.now_valid + self.still_wrong


def replay(tool: Tool, schema: Any) -> Replay:
    """Judge the last failures of a tool, and the last outputs that were right, by a schema; raises InvalidSchema.

    Nothing is stored. A tool that writes source files raises UnknownLanguageError or MissingGrammarError, too.
    """
    # First of all: what weighs and compiles a schema afterwards is bounded for admitted ones only.
    admit_apart(schema, key=DESK)
    edited = PinnedContract(Contract(name=tool.name, input_schema=schema, strict=tool.strict, kind=Kind(tool.kind)))
    require_compiler_of(edited.declared)
    calls = Call.objects.filter(tool=tool, tool_name=tool.name).order_by(*IN_BLOCKS).values_list("pk", flat=True)
    # A call may have several: of all the last so many are taken.
    failures = list(_attempts(_failed_calls(tool, MOST_REPLAYED), is_valid=False)[:MOST_REPLAYED])
    right = list(_attempts(calls[:MOST_REPLAYED], is_valid=True))
    told = [attempt for attempt in failures if not attempt.is_redacted]
    whole = [attempt for attempt in right if not attempt.is_redacted]
    end = monotonic() + REPLAY_SECONDS
    # In turns, the newest first: of large outputs, or by a dear schema, only a few of each may be tried.
    turns = [attempt for pair in zip_longest(told, whole) for attempt in pair if attempt is not None]
    tried = [_replayed(tool, attempt, edited) for attempt in turns if monotonic() < end]
    verdicts = [one for one in tried if one.is_of_schema and not one.attempt.is_valid]
    mended = [ChangedOutput(one.attempt, _blocking(one.attempt.errors)) for one in verdicts if not one.errors]
    again = [one for one in tried if one.attempt.is_valid]
    broken = [ChangedOutput(one.attempt, one.errors) for one in again if one.errors]
    return Replay(
        failures=len(failures), now_valid=len(mended), still_wrong=len(verdicts) - len(mended), right=len(again),
        now_wrong=len(broken), redacted=len(failures) - len(told) + len(right) - len(whole),
        elsewhere=len(tried) - len(again) - len(verdicts), untried=len(turns) - len(tried),
        mended=tuple(mended[:MOST_EXAMPLES]), broken=tuple(broken[:MOST_EXAMPLES]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tried:
    attempt: Attempt
    is_of_schema: bool  # it was right, or its own schema would refuse it again
    errors: tuple[ValidationError, ...] = ()


def _replayed(tool: Tool, attempt: Attempt, edited: PinnedContract) -> _Tried:
    if not attempt.is_valid and not _is_of_schema(tool, attempt):
        return _Tried(attempt, is_of_schema=False)
    return _Tried(attempt, is_of_schema=True, errors=_errors(attempt, edited))


def last_failed(tool: Tool, number: int) -> list[Attempt]:
    """List the newest failed attempt of each of the last calls of a tool that failed, the newest first."""
    of_call = Attempt.objects.filter(call=OuterRef("call"), is_valid=False).order_by("-number").values("pk")[:1]
    newest = _attempts(_failed_calls(tool, number), is_valid=False).filter(pk=Subquery(of_call))
    return list(newest)


def _failed_calls(tool: Tool, number: int) -> Iterable[int]:
    failed = Call.objects.filter(tool=tool).exclude(fingerprint="").order_by("-pk")
    return failed.values_list("pk", flat=True)[:number]


def _attempts(calls: Iterable[int], *, is_valid: bool) -> QuerySet[Attempt]:
    """Find the attempts of some calls, newest first."""
    found = Attempt.objects.filter(call__in=list(calls), is_valid=is_valid).order_by("-call_id", "-number")
    return found.select_related("call__version", "call__agent").defer("feedback", "call__context")


def _is_of_schema(tool: Tool, attempt: Attempt) -> bool:
    """Tell whether the schema that judged it would say so again: a callback may have refused it, or a cut-off."""
    version = attempt.call.version
    if version is None or not attempt.has_output:
        return False
    try:
        return bool(_errors(attempt, pinned(tool, version, attempt.call.kind)))
    except UnreadableError:
        return False


def _errors(attempt: Attempt, tool: PinnedContract) -> tuple[ValidationError, ...]:
    output = attempt.output
    if attempt.is_parsed and (output is None or isinstance(output, str)):  # else it would be read as text again
        output = json.dumps(output)
    checked = check(Submitted(output=output, tool_name=tool.declared.name), tool, key=DESK)
    return _blocking(checked.examined.findings.errors)


def _blocking(errors: Iterable[ValidationError]) -> tuple[ValidationError, ...]:
    return tuple(error for error in errors if error.severity is ErrorSeverity.ERROR)


CALL_ID = "call_1"  # nobody called: the providers' shapes want one


@dataclass(frozen=True, slots=True)
class DryRun:
    """Hold a verdict and the exact answer that a model would read, None when it may go on."""

    examined: Examined
    kind: Kind
    answer: ToolResult | None

    @property
    def findings(self) -> Findings:
        return self.examined.findings

    @property
    def is_valid(self) -> bool:
        return self.findings.is_valid

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """List everything that was found, warnings too."""
        return self.findings.errors

    @property
    def feedback(self) -> str:
        """Give the text that a model would read, empty when valid."""
        return self.answer.content if self.answer else ""

    @property
    def tokens_estimate(self) -> int:
        """Guess the tokens of the text: characters / 4, no tokenizer is asked."""
        return -(-len(self.feedback) // 4)

    @property
    def redacted(self) -> Any:
        """Give the output as it may be shown: its value without secrets, or its text when it never parsed."""
        return self.examined.kept


def dry_run(
    schema: Any,
    output: Any,
    *,
    tool_name: str,
    strict: bool,
    attempt: int,
    max_attempts: int,
    kind: Kind = Kind.TOOL_CALL,
    agent: Agent | None = None,
) -> DryRun:
    """Check an output given as text or as a parsed value, on an agent's account or the desk's; raises InvalidSchema.

    Nothing is known of such a schema, so that all of it is done in a child process.
    """
    refuse_slips(schema)
    tool_name, attempt = sanitizer().redact_name(tool_name), min(attempt, max_attempts)
    tool = Contract(name=tool_name, input_schema=schema, strict=strict, kind=kind)
    require_compiler_of(tool)
    submitted = Submitted(output=output, tool_name=tool_name)
    if agent is None:
        checked = ask_child(submitted, tool, DESK)
    else:
        # Few at once: each holds a thread of the web process while it waits for a child.
        account = partial(charge, agent.pk, now=timezone.now())
        checked = ask_child(submitted, tool, agent.pk, at_once=AT_ONCE, charge=account)
    findings = checked.examined.findings
    if findings.is_valid:
        return DryRun(checked.examined, kind, None)
    status = Status.BLOCKED if attempt == max_attempts else Status.RETRY
    feedback = write_feedback(
        tool_name, findings.errors, attempt=attempt, max_attempts=max_attempts,
        configuration=configuration_for(tool_name), kind=kind, blocked=status is Status.BLOCKED,
        formatters=gather_formatters(),
    )  # fmt: skip
    twin = metadata(findings.errors, attempt=attempt, max_attempts=max_attempts, status=status.value)
    return DryRun(checked.examined, kind, ToolResult(CALL_ID, feedback, metadata=twin, name=tool_name))

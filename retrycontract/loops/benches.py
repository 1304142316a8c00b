"""Where attempts are judged: the contract in this process, or a service through its client."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from retrycontract.contract.checks.findings import Findings, blocks
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import examine, redacted_output
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Decision, Status
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool, PluginCheck, Tool
from retrycontract.in_process import RetryContract
from retrycontract.languages import compiler_of
from retrycontract.loops.steps import Steps

if TYPE_CHECKING:
    from retrycontract.client import AsyncClient, Client

Contract: TypeAlias = "RetryContract | Client | AsyncClient"
MAX_REASON = 1_000  # characters of what checks of our own tell the service


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Say what a loop checks: its kind, the name that feedback and history call it by, and its schema.

    `checks` run after the schema, on the parsed output. `details` go along with every attempt to the service: task_id,
    turn, correlation_id, context.
    """

    kind: Kind
    name: str
    schema: Schema = True
    strict: bool = True
    checks: tuple[PluginCheck, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def tool(self) -> Tool:
        """Give the subject as the contract registers it; a loop cannot go on with what is only observed."""
        return Tool(
            name=self.name, input_schema=self.schema, strict=self.strict, kind=self.kind, checks=self.checks,
            mode="enforce",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attempt:
    """Hold what is judged; `failure` says why a check of the loop's own rejects it, or why there is no output."""

    output: Any
    call_id: str | None = None
    finish_reason: str | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold the verdict on one attempt; `value` is the parsed output when valid, `feedback` what the model may read."""

    call_id: str
    status: Status
    attempt: int
    max_attempts: int
    errors: tuple[ValidationError, ...] = ()
    feedback: str = ""
    value: Any = None
    escalation: str | None = None

    @property
    def is_valid(self) -> bool:
        """Tell whether the output may be used."""
        return self.status is Status.VALID


@dataclass(frozen=True, slots=True)
class Advice:
    """Hold what a person answered; `accepted` is the ruling that takes an earlier output as it is."""

    text: str
    max_attempts: int
    is_refusal: bool = False
    accepted: Ruling | None = None
    has_correction: bool = False
    correction: Any = None

    def reopened(self, ruling: Ruling) -> Ruling:
        """Give the state of a call that has attempts again."""
        return replace(ruling, status=Status.RETRY, max_attempts=self.max_attempts)


class Bench(Protocol):
    """Judge attempts, and pass on what a person answers."""

    def register(self) -> Steps[None]:
        """Make the subject known."""

    def judge(self, attempt: Attempt) -> Steps[Ruling]:
        """Judge one attempt."""

    def guidance(self, ruling: Ruling, wait: float | None) -> Steps[Advice | None]:
        """Wait at most so many seconds for a person; None when nobody answered, or nobody is there."""

    def cancel(self, ruling: Ruling) -> Steps[None]:
        """Give the call up."""


def bench_of(contract: Contract | None, subject: Subject, *, max_attempts: int) -> Bench:
    """Choose where attempts are judged; without a contract, by one of our own in this process."""
    if contract is None:
        contract = RetryContract()
    if isinstance(contract, RetryContract):
        return InProcessBench(contract, subject, max_attempts)
    return ServiceBench(contract, subject, max_attempts)


def configuration_of(contract: Contract | None) -> RetryConfiguration:
    """Give the settings that a loop words its own texts by; those of a service are not known here."""
    return contract.configuration if isinstance(contract, RetryContract) else RetryConfiguration()


@dataclass(slots=True)
class InProcessBench:
    """Judge by a RetryContract in this process; nobody is at a desk."""

    contract: RetryContract
    subject: Subject
    max_attempts: int

    def register(self) -> Steps[None]:
        """Register the subject; raises InvalidSchema."""
        yield partial(self.contract.register, self.subject.tool)

    def judge(self, attempt: Attempt) -> Steps[Ruling]:
        """Check one attempt."""
        outcome = yield partial(
            self.contract.check, self.subject.name, _new_id(), attempt.output, call_id=attempt.call_id,
            finish_reason=attempt.finish_reason, callback_error=attempt.failure, max_attempts=self.max_attempts,
            turn=self.subject.details.get("turn"), correlation_id=self.subject.details.get("correlation_id"),
        )  # fmt: skip
        return _ruling(outcome, outcome.arguments, escalation=outcome.escalation)

    def guidance(self, ruling: Ruling, wait: float | None) -> Steps[Advice | None]:  # noqa: ARG002 - nobody is asked
        """Give nothing."""
        yield from ()
        return None

    def cancel(self, ruling: Ruling) -> Steps[None]:  # noqa: ARG002 - it is forgotten with its contract
        """Do nothing."""
        yield from ()


@dataclass(slots=True)
class ServiceBench:
    """Submit to a service, which stores every attempt; checks of the loop's own run here, before."""

    client: Client | AsyncClient
    subject: Subject
    max_attempts: int
    version: str | None = None

    def register(self) -> Steps[None]:
        """Register the subject; its version is named with each attempt, as others may use the name meanwhile."""
        subject = self.subject
        done = yield partial(
            self.client.register_tool, subject.name, subject.schema, kind=subject.kind.value, strict=subject.strict,
            mode="enforce",
        )  # fmt: skip
        self.version = done.schema_hash

    def judge(self, attempt: Attempt) -> Steps[Ruling]:
        """Submit one attempt and wait for its verdict, however long it takes."""
        failure = attempt.failure or self._rejection(attempt)
        outcome = yield partial(
            self.client.submit, self.subject.name, _new_id(), attempt.output, call_id=attempt.call_id,
            finish_reason=attempt.finish_reason, callback_error=failure, max_attempts=self.max_attempts,
            kind=self.subject.kind.value, version=self.version, **self.subject.details,
        )  # fmt: skip
        while outcome.status is None:
            outcome = yield partial(self.client.wait_for_verdict, outcome)
        return _ruling(outcome, outcome.arguments)

    def guidance(self, ruling: Ruling, wait: float | None) -> Steps[Advice | None]:
        """Wait for a person's answer, and say that it has arrived."""
        if wait is None:
            return None
        given = yield partial(self.client.wait_for_guidance, ruling.call_id, wait)
        if given.decision is None:
            return Advice(given.text, 0, is_refusal=True) if given.text else None
        yield partial(self.client.acknowledge, ruling.call_id)
        match given.decision:
            case Decision.ACCEPT:
                taken = replace(ruling, status=Status.VALID, value=given.arguments)
                return Advice(given.text, given.max_attempts, accepted=taken)
            case Decision.CORRECTED:
                is_text = self.subject.kind is Kind.SOURCE_FILE
                corrected = given.arguments if is_text else as_text(given.arguments)
                return Advice(given.text, given.max_attempts, has_correction=True, correction=corrected)
            case Decision.REJECT:
                return Advice(given.text, given.max_attempts, is_refusal=True)
        return Advice(given.text, given.max_attempts)

    def cancel(self, ruling: Ruling) -> Steps[None]:
        """Give the call up."""
        yield partial(self.client.cancel, ruling.call_id)

    def _rejection(self, attempt: Attempt) -> str | None:
        """Say what the loop's own checks have against an output, as the service cannot run them."""
        if not self.subject.checks:
            return None
        findings = Examiner(self.subject).examine(attempt.output, attempt.finish_reason)
        told = [error.message for error in findings.errors if blocks(error)]
        return "; ".join(told)[:MAX_REASON] or None


class Examiner:
    """Check outputs of a subject and count nothing; raises InvalidSchema."""

    def __init__(self, subject: Subject, configuration: RetryConfiguration | None = None) -> None:
        self.tool = CompiledTool.of(subject.tool, compiler_of)
        self.sanitizer = ValueSanitizer(configuration or RetryConfiguration())

    def examine(self, output: Any, finish_reason: str | None = None) -> Findings:
        """Find everything wrong with an output; never raises on what a model wrote."""
        name = self.tool.tool.name
        return examine(output, self.tool, self.sanitizer, tool_name=name, finish_reason=finish_reason)

    def redacted(self, findings: Findings, output: Any) -> Any:
        """Give what may be stored or shown of an output."""
        return redacted_output(findings, output, self.tool, self.sanitizer)


def as_text(value: Any) -> Any:
    """Give a parsed value as it is submitted: a string as JSON text, since text would be read as JSON."""
    return json.dumps(value) if isinstance(value, str) else value


def _ruling(outcome: Any, value: Any, *, escalation: str | None = None) -> Ruling:
    """Read an outcome of the library or the client; both have the same words."""
    return Ruling(
        call_id=outcome.call_id,
        status=outcome.status,
        attempt=outcome.attempt,
        max_attempts=outcome.max_attempts,
        errors=outcome.errors,
        feedback=outcome.tool_result.content if outcome.tool_result else "",
        value=value,
        escalation=escalation,
    )


def _new_id() -> str:
    """Name an attempt; new each time, so that no attempt continues another loop's call."""
    return f"loop-{uuid.uuid4().hex}"

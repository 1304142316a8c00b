"""What the API takes and gives, as pydantic models; OpenAPI is made from them."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SkipValidation,
    StrictBool,
    StringConstraints,
    model_validator,
)

from retrycontract.api import openapi as examples
from retrycontract.api.known_fields import Strict
from retrycontract.api.openapi import (
    HASH,
    ONE_OUTPUT,
    PLACED,
    POINTER,
    UNASKED,
    AnyText,
    AttemptCount,
    GivenId,
    Identifier,
    InputSchema,
    ModelsName,
    OwnWords,
    ProvidersId,
    Seconds,
    SessionId,
    Time,
    TokenCount,
    ToolName,
    Turn,
)
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import MAX_PLUGIN_ERRORS, ValidationError
from retrycontract.contract.feedback.feedback_forms import (
    LONGEST_FEEDBACK_LENGTH,
    MAX_FEEDBACK_LENGTH,
    MIN_FEEDBACK_LENGTH,
    FeedbackForm,
    FeedbackOptions,
)
from retrycontract.contract.feedback.tool_result import Provider
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.outputs import Generation
from retrycontract.usecases.calls.repeat_request import safe_identifier, safe_tool_name

Kinds = Literal["tool_call", "agent_response", "extraction", "source_file"]


class WithOutput(Strict):
    """What the model produced: the arguments of a tool call, as an object or as the raw text that it wrote."""

    # The body was read as JSON: to look at each of a hundred thousand values once more takes half a second.
    arguments: SkipValidation[JsonValue] = None
    raw: AnyText = Field(None, description="The arguments as text, when they are not parsed yet.")

    @model_validator(mode="after")
    def _one_output(self) -> Self:
        given = {"arguments", "raw"} & self.model_fields_set
        if len(given) != 1 or (self.raw is None and "raw" in given):
            raise ValueError("send either 'arguments' or 'raw'")
        return self

    @property
    def output(self) -> Any:
        """Give what is checked: text, or the parsed arguments.

        Arguments that are one string are a value: the checks take a text for JSON text, so it is written as such.
        """
        if "raw" in self.model_fields_set:
            return self.raw
        return json.dumps(self.arguments) if isinstance(self.arguments, str) else self.arguments


class OwnErrorIn(Strict):
    """One thing that a check of the agent's own has against an output, in its own words."""

    error_code: ErrorCode = ErrorCode.OBJECT_SCHEMA_VIOLATION
    field_path: Annotated[str, StringConstraints(max_length=1_000, pattern=POINTER)] = ""
    message: OwnWords
    severity: Literal["error", "warning", "info"] = "error"
    expected_value: OwnWords | None = None
    actual_value: OwnWords | None = None
    hint: OwnWords | None = None

    @property
    def error(self) -> ValidationError:
        """Give it as the contract's own."""
        return ValidationError.from_json(self.model_dump(mode="json"))


class FeedbackIn(Strict):
    """What a feedback holds beside the errors; agents whose model reads nothing else ask for more."""

    form: FeedbackForm = Field(
        FeedbackForm.ERRORS,
        description="extraction adds the schema and the submission, correction also that only JSON is wanted.",
    )
    max_length: int = Field(
        MAX_FEEDBACK_LENGTH,
        ge=MIN_FEEDBACK_LENGTH,
        le=LONGEST_FEEDBACK_LENGTH,
        description="Characters, of the form 'extraction'.",
    )

    @property
    def options(self) -> FeedbackOptions:
        return FeedbackOptions(self.form, self.max_length)


OwnErrors = Annotated[list[OwnErrorIn], Field(min_length=1, max_length=MAX_PLUGIN_ERRORS)]


class CallIn(WithOutput):
    """An attempt: the arguments of a tool call, an agent's structured response, or what was extracted."""

    model_config = ConfigDict(
        json_schema_extra={**ONE_OUTPUT, **PLACED, **UNASKED, "examples": [examples.CALL, examples.RAW_CALL]}
    )

    kind: Kinds = Field("tool_call", description="As the tool is registered; agent_response needs task_id and turn.")
    tool: ModelsName = Field(description="One that is not registered is the model's mistake, and gets a verdict.")
    tool_call_id: ProvidersId = Field(description="The provider's id; the ToolResult bears it.")
    call_id: Identifier | None = Field(None, description="Our id of the call that this attempt continues.")
    session_id: SessionId | None = None
    turn: Turn | None = None
    task_id: GivenId | None = None
    correlation_id: GivenId | None = None
    finish_reason: Identifier | None = None
    callback_error: OwnWords | OwnErrors | None = Field(
        None, description="What a check of the agent's own has against it: a reason, or at most 100 errors."
    )
    version: Annotated[str, StringConstraints(pattern=HASH)] | None = Field(
        None, description="Hash of the schema's version to judge by; else the current one."
    )
    render: Provider | None = None
    max_attempts: AttemptCount | None = Field(None, description="Of the call that this attempt begins.")
    context: dict[str, JsonValue] | None = Field(
        None, description="What helps a person: goal, last_user_message, trace_url. Redacted before it is stored."
    )

    model: Identifier | None = Field(None, description="The model that wrote this.")
    prompt: str | None = Field(None, description="What the model read before this attempt; redacted and shortened.")
    said: str | None = Field(None, description="The model's own words, beside the output; redacted and shortened.")
    tokens_in: TokenCount | None = Field(None, description="Tokens that the model read for this attempt.")
    tokens_out: TokenCount | None = Field(None, description="Tokens that it wrote.")
    seconds: Seconds | None = Field(None, description="How long the model took.")
    api_error: Annotated[str, StringConstraints(min_length=1, max_length=4_000)] | None = Field(
        None,
        description="Why the model could not be asked: a try, and no mistake. 'arguments' is null then.",
    )
    gives_up: bool = Field(False, description="With api_error: the agent will not try again, so the call ends.")
    feedback: FeedbackIn | None = Field(None, description="How its feedback is written.")

    @property
    def rejection(self) -> str | tuple[ValidationError, ...] | None:
        """Give what a check of the agent's own has against it."""
        given = self.callback_error
        return tuple(each.error for each in given) if isinstance(given, list) else given

    @property
    def generation(self) -> Generation:
        """Give how the output came about."""
        return Generation(**{each.name: getattr(self, each.name) for each in fields(Generation)})

    @model_validator(mode="after")
    def _place_of_a_response(self) -> Self:
        if self.kind == "agent_response" and (self.task_id is None or self.turn is None):
            raise ValueError("an agent_response needs 'task_id' and 'turn'")
        if self.api_error is not None and self.output is not None:
            raise ValueError("with 'api_error' there is no output: 'arguments' is null")
        if self.gives_up and self.api_error is None:
            raise ValueError("'gives_up' goes with 'api_error', which says why: send both or neither")
        return self


class ErrorOut(BaseModel):
    """One violation; see docs/codes.md."""

    error_code: str
    field_path: str
    message: str
    severity: str
    expected_value: str | None = None
    actual_value: str | None = None
    keyword: str = ""
    hint: str | None = None
    patch: list[dict[str, Any]] = Field(
        default=[], description="JSON Patch (RFC 6902) that would mend a near miss. Nothing is applied by itself."
    )


class ToolResultOut(BaseModel):
    """The answer for the model."""

    role: str = "tool"
    tool_call_id: str
    content: str
    is_error: bool
    metadata: dict[str, Any]
    name: str = Field("", description="The tool's name.")


class Links(BaseModel):
    """Where to go from here."""

    self: str
    wait: str
    guidance: str


class VerdictOut(BaseModel):
    """What became of an attempt. While it waits `status` is null."""

    call_id: str
    tool: str
    state: str
    status: Status | None
    attempt: int
    max_attempts: int
    attempt_number: int
    errors: list[ErrorOut]
    warnings: list[ErrorOut]
    errors_left_out: int = Field(0, description="Errors beyond the first 100, or beyond 64 kB of a reply.")
    tool_result: ToolResultOut | None = None
    rendered: dict[str, Any] | None = None
    traceparent: str | None = Field(None, description="The trace that the attempt came with.")
    links: Links


class AttemptOut(BaseModel):
    """One attempt in a call's history; the output is redacted."""

    number: int
    tool_call_id: str
    turn: int | None
    state: str
    status: str
    is_valid: bool | None
    errors: list[ErrorOut]
    output: Any
    feedback: str
    submitted_at: Time
    judged_at: Time | None
    model: str | None = Field(None, description="The model that wrote it, as the agent told.")
    prompt: str | None = Field(None, description="What the model read before it; redacted and shortened.")
    said: str | None = Field(None, description="The model's own words; redacted and shortened.")
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = Field(None, description="How long the model took.")
    finish_reason: str | None = Field(None, description="Why the model ended, in its provider's word.")
    api_error: str | None = Field(None, description="Why the model could not be asked; nothing was judged then.")
    traceparent: str | None = Field(None, description="The trace that the attempt came with.")


class EscalationOut(BaseModel):
    """A request for a person."""

    id: str
    round: int
    state: str
    text: str
    opened_at: Time
    closed_at: Time | None


class CallSummary(BaseModel):
    """A call without its history."""

    call_id: str
    kind: str
    tool: str
    state: CallState
    session_id: str | None
    task_id: str | None
    correlation_id: str | None
    model: str | None = Field(None, description="The model of the newest attempt that named one.")
    attempts_made: int
    attempts_allowed: int
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    links: Links


class CallOut(CallSummary):
    """A call with its history."""

    version: int | None
    schema_hash: str | None
    context: dict[str, Any] | None
    attempts: list[AttemptOut] = Field(description="The history, the oldest first; of a long one the beginning.")
    next: str | None = Field(description="The address of the call with what follows; null where its history ends.")
    escalations: list[EscalationOut]


class CallPage(BaseModel):
    """Some calls, the newest first."""

    calls: list[CallSummary]
    next: str | None = Field(description="The address of the next page; null on the last one.")


class CallFilters(Strict):
    """Which calls are asked for; filters narrow each other."""

    state: CallState | None = None
    tool: ToolName | None = None
    session_id: GivenId | None = None
    task_id: GivenId | None = None
    correlation_id: GivenId | None = None
    model: Identifier | None = None
    cursor: Identifier | None = Field(None, description="Where the page begins, as the page before says.")
    limit: int = Field(50, ge=1, le=100)

    @property
    def of_call(self) -> dict[str, Any]:
        """Give what the calls must have, identifiers as they are stored."""
        wanted = self.model_dump(exclude={"state", "tool", "cursor", "limit"}, exclude_none=True)
        wanted = {name: safe_identifier(value) for name, value in wanted.items()}
        return wanted | ({"tool_name": safe_tool_name(self.tool)} if self.tool else {})


class BaseOut(BaseModel):
    """The submission that a patch is made against."""

    attempt: int
    hash: str


class GuidanceOut(BaseModel):
    """An operator's answer; `text` is what the model should read."""

    id: int
    decision: Decision
    text: str
    operator_text: str
    arguments: Any = None
    patch: list[dict[str, Any]] | None = None
    base: BaseOut | None = None
    granted: int
    next_attempt: int
    max_attempts: int
    given_at: Time
    acknowledged: bool


class WaitOut(BaseModel):
    """Where a call stands, and the guidance when there is some."""

    call_id: str
    state: str
    guidance: GuidanceOut | None = None
    expiry: str | None = Field(
        None, description="What the model should read when nobody answered in time; that is no person's no."
    )
    links: Links


class AckOut(BaseModel):
    """Whether the acknowledgement was the first."""

    acknowledged: bool


class CheckIn(WithOutput):
    """An output to try against a schema; nothing is stored."""

    model_config = ConfigDict(json_schema_extra={**ONE_OUTPUT, "examples": [examples.CHECK]})

    input_schema: InputSchema
    kind: Kinds = Field("tool_call", description="What is checked; of a source_file, its text is sent as 'raw'.")
    tool: ToolName = "tool"
    strict: StrictBool = True
    attempt: AttemptCount = 1
    max_attempts: AttemptCount = 3


class CheckOut(BaseModel):
    """The verdict and the exact text that a model would read."""

    valid: bool
    errors: list[ErrorOut]
    errors_left_out: int = Field(0, description="Errors beyond the first 100, or beyond 64 kB of a reply.")
    feedback: str
    characters: int
    tokens_estimate: int = Field(description="Characters / 4: an estimate, no tokenizer is asked.")

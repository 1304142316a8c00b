"""What the API takes and gives of tools."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from retrycontract.api import examples
from retrycontract.api.fields import AttemptCount, Duration, InputSchema
from retrycontract.api.schemas import Kinds, Strict, ToolName
from retrycontract.contract.kinds import Kind


class ToolIn(Strict):
    """A tool to register."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.TOOL]})

    kind: Kinds | None = Field(None, description="What is checked against the schema (default tool_call).")
    input_schema: InputSchema = Field(description="The JSON Schema of the tool's arguments.")
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    strict: StrictBool | None = Field(
        None, description="Refuse fields that the schema does not declare (default true)."
    )
    hold: StrictBool | None = Field(None, description="Keep a Blocked call closed until a person answered.")
    mode: Literal["enforce", "observe"] | None = None
    max_attempts: AttemptCount | None = None
    expires_after: Duration | None = Field(
        None, description="How long a Blocked call waits for an answer: seconds, or text such as 30m, 12h or 7d."
    )
    on_expiry: Literal["expire", "reject"] | None = Field(
        None, description="What becomes of a Blocked call that nobody answered in time (default expire)."
    )


class ToolOut(BaseModel):
    """A registered tool."""

    name: str
    namespace: str
    version: int
    schema_hash: str
    created: bool = Field(description="The tool was not known before.")
    changed: bool = Field(description="The schema made a new version.")
    max_attempts: int = Field(description="Of its calls that name none themselves.")


class RefusedTool(BaseModel):
    """A tool of an imported list that was refused."""

    name: str
    pointer: str
    code: str
    detail: str


class ImportOut(BaseModel):
    """What became of an imported list."""

    registered: list[ToolOut]
    refused: list[RefusedTool]


class ToolQuery(Strict):
    """Which tools are asked for."""

    kind: Kind | None = None
    cursor: ToolName | None = Field(None, description="The name after which the page begins.")
    limit: int = Field(50, ge=1, le=100)


class ToolSummary(BaseModel):
    """A tool without its schema; what is null is as the configuration says."""

    name: str
    kind: Kind
    description: str
    strict: bool
    hold: bool
    mode: Literal["enforce", "observe"] | None
    max_attempts: int | None
    expires_after: int | None = Field(description="Seconds.")
    on_expiry: Literal["expire", "reject"] | None
    version: int
    schema_hash: str
    etag: str = Field(description="Names this revision; send it as If-Match to change no other.")
    created_at: datetime
    updated_at: datetime
    link: str = Field(description="Its address.")


class ToolDetail(ToolSummary):
    """A tool with its present schema."""

    input_schema: Any = Field(description="Redacted, where secrets were written into it.")


class ToolPage(BaseModel):
    """Some tools, by name."""

    tools: list[ToolSummary]
    next: str | None = Field(description="The address of the next page; null on the last one.")

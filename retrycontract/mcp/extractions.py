"""The tools of each registered extraction: say what is wrong, give a sample, take the data in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import mcp_types as types

from retrycontract.checking import compiled_or_apart
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.examples import example_of
from retrycontract.contract.tool import DATA, Tool, data_input
from retrycontract.judging import Examiner, Judge
from retrycontract.judging.asking import settled

MAX_NAME = 64  # characters that clients take as the name of a tool
CALL_ID = {"type": "string", "description": "From the answer to an earlier attempt at the same extraction."}
CONFORMS = "The data conforms. Call {submit} with the same data to end the extraction."


class ExtractionStep(StrEnum):
    """Name what a model does on the way to its data."""

    VALIDATE = "validate"
    EXAMPLE = "example"
    SUBMIT = "submit"

    def tool_name(self, extraction: str) -> str:
        """Name the tool; what clients would not take in the extraction's name is replaced by a hash of it."""
        room = MAX_NAME - len(self) - 1
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", extraction)[:room]
        # Without the hash, names that differ in what was replaced or cut off would become one tool.
        if name != extraction:
            name = f"{name[: room - 9]}_{hashlib.sha256(extraction.encode()).hexdigest()[:8]}"
        return f"{self}_{name}"


DESCRIPTIONS = {
    ExtractionStep.VALIDATE: "Say what is wrong with the data of '{name}', without ending the extraction.",
    ExtractionStep.EXAMPLE: "Give a sample of '{name}' that conforms to its schema.",
    ExtractionStep.SUBMIT: "End the extraction '{name}' with the data.",
}


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """Ask for one step of an extraction."""

    step: ExtractionStep
    tool: Tool

    @property
    def name(self) -> str:
        return self.tool.name

    def conforms(self, output: Any) -> bool:
        return Examiner(self.tool, is_kept=True).examine(output).is_valid

    def example(self) -> str:
        return example_of(compiled_or_apart(self.tool)).told

    @property
    def advice(self) -> str:
        """Say what follows a successful validate."""
        return CONFORMS.format(submit=ExtractionStep.SUBMIT.tool_name(self.name))


class Extractions:
    """Know the extractions that a judge has registered; asked each time, for they change while we serve."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def listed(self) -> list[types.Tool]:
        listed: list[types.Tool] = []
        for name in await settled(self._judge.tools(Kind.EXTRACTION)):
            takes = data_input((await settled(self._judge.tool(name))).input_schema)
            takes["properties"] |= {"call_id": CALL_ID}
            listed += [
                types.Tool(
                    name=step.tool_name(name),
                    description=DESCRIPTIONS[step].format(name=name),
                    input_schema={"type": "object", "properties": {}} if step is ExtractionStep.EXAMPLE else takes,
                )
                for step in ExtractionStep
            ]
        return listed

    async def find(self, tool_name: str) -> ExtractionRequest | None:
        """Tell which step of which extraction a tool is."""
        # Most calls are of no extraction, and need not ask the judge which there are.
        if not tool_name.startswith(tuple(f"{step}_" for step in ExtractionStep)):
            return None
        for name in await settled(self._judge.tools(Kind.EXTRACTION)):
            for step in ExtractionStep:
                if step.tool_name(name) == tool_name:
                    return ExtractionRequest(step, await settled(self._judge.tool(name)))
        return None


def read_data(arguments: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Take data and call out of a tool's arguments; some models send the data without its name."""
    call_id = arguments.get("call_id") if DATA in arguments else None
    if arguments.keys() <= {DATA, "call_id"} and DATA in arguments:
        return arguments[DATA], call_id if isinstance(call_id, str) else None
    return dict(arguments), None

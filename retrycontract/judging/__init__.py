"""Judge what a model wrote: in this process with a RetryContract, or through a service and its client.

Loops and the MCP servers know the `Judge` protocol and its `Verdict` only; `judge_for` chooses the implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.in_process import RetryContract
from retrycontract.judging.in_process_judge import InProcessJudge
from retrycontract.judging.judge import Examiner, Judge, ModelOutput, NotJudgedError, Runner, Verdict, as_text

if TYPE_CHECKING:
    from retrycontract.client import AsyncClient, Client

__all__ = [
    "Contract",
    "Examiner",
    "InProcessJudge",
    "Judge",
    "ModelOutput",
    "NotJudgedError",
    "Verdict",
    "as_text",
    "configuration_of",
    "judge_for",
]

Contract: TypeAlias = "RetryContract | Client | AsyncClient"


def judge_for(
    contract: Contract | None,
    *,
    origin: str,
    max_attempts: int | None,
    details: Mapping[str, Any],
    run: Runner | None = None,
) -> Judge:
    """Give the judge that a caller's contract stands for; without one, a new RetryContract in this process.

    `run` takes work of this process to another thread.
    """
    if not isinstance(contract, RetryContract | None):
        # Imported here because the base install lacks the client's HTTP package; whoever has a client has it.
        from retrycontract.judging.service_judge import ServiceJudge

        return ServiceJudge(contract, origin, max_attempts, details)
    judge = InProcessJudge(contract or RetryContract(), origin, max_attempts, details)
    return judge if run is None else replace(judge, run=run)


def configuration_of(contract: Contract | None) -> RetryConfiguration:
    """Give the settings that a caller words its own texts by; those of a service are not known here."""
    return contract.configuration if isinstance(contract, RetryContract) else RetryConfiguration()

"""The agent's side of the service: submit, wait, take a person's guidance over; no Django, one HTTP package.

The names below are imported when first used: who only catches an error, or reads a result, loads no HTTP package.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("httpx2") is None:  # the one package that the base install does not bring
    raise ImportError('the client needs httpx2: pip install "retrycontract[client]"')

if TYPE_CHECKING:
    from retrycontract.client.clients import AsyncClient, Client
    from retrycontract.client.errors import (
        AddressError,
        ClientError,
        ConflictError,
        CorrectionError,
        InvalidRequestError,
        MissingKeyError,
        NoConversationError,
        NotAuthenticatedError,
        NotFoundError,
        RefusedError,
        TooLargeError,
        ToolDeclarationError,
        UnavailableError,
        UnexpectedAnswerError,
        UnreachableError,
        VerdictPendingError,
    )
    from retrycontract.client.events import Event
    from retrycontract.client.results import (
        CallSummary,
        DryRun,
        Guidance,
        ImportedTools,
        KnownTool,
        LoggedResponse,
        Outcome,
        RefusedTool,
        RegisteredTool,
        Settlement,
    )
    from retrycontract.client.sessions import AsyncSession, Session

_HOMES = {
    name: module
    for module, names in {
        "clients": """
            AsyncClient Client
        """,
        "errors": """
            AddressError ClientError ConflictError CorrectionError InvalidRequestError MissingKeyError
            NoConversationError NotAuthenticatedError NotFoundError RefusedError TooLargeError ToolDeclarationError
            UnavailableError UnexpectedAnswerError UnreachableError VerdictPendingError
        """,
        "events": """
            Event
        """,
        "results": """
            CallSummary DryRun Guidance ImportedTools KnownTool LoggedResponse Outcome RefusedTool RegisteredTool
            Settlement
        """,
        "sessions": """
            AsyncSession Session
        """,
    }.items()
    for name in names.split()
}

__all__ = [
    "AddressError",
    "AsyncClient",
    "AsyncSession",
    "CallSummary",
    "Client",
    "ClientError",
    "ConflictError",
    "CorrectionError",
    "DryRun",
    "Event",
    "Guidance",
    "ImportedTools",
    "InvalidRequestError",
    "KnownTool",
    "LoggedResponse",
    "MissingKeyError",
    "NoConversationError",
    "NotAuthenticatedError",
    "NotFoundError",
    "Outcome",
    "RefusedError",
    "RefusedTool",
    "RegisteredTool",
    "Session",
    "Settlement",
    "TooLargeError",
    "ToolDeclarationError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "VerdictPendingError",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"retrycontract.client.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'retrycontract.client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""The agent's side of the service: submit, wait, take a person's guidance over; no Django, one HTTP package."""

from __future__ import annotations

try:
    import httpx2 as _httpx2  # noqa: F401 - the one package that the base install does not bring
except ImportError as missing:
    raise ImportError('the client needs httpx2: pip install "retrycontract[client]"') from missing

from retrycontract.client.clients import AsyncClient, Client
from retrycontract.client.errors import (
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

__all__ = [
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

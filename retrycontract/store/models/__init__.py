"""What the service remembers."""

from retrycontract.store.models.agents import Agent, ApiKey, KeyState, Scope
from retrycontract.store.models.answers import (
    AnswerRecord,
    GuidanceStage,
    GuidanceVersion,
    Mistake,
    SavedReply,
    StandingHint,
)
from retrycontract.store.models.attempts import Attempt, AttemptState, IdempotencyKey, LoggedResponse
from retrycontract.store.models.calls import Call, IllegalMoveError, LostRaceError
from retrycontract.store.models.counts import (
    DETAILED,
    Count,
    Measure,
    Rollup,
    Source,
    Tally,
    hour_of,
)
from retrycontract.store.models.endpoints import WebhookEndpoint
from retrycontract.store.models.escalations import Claim, Escalation, EscalationState, Guidance, HeldAnswer, Snooze
from retrycontract.store.models.events import AppendOnlyError, Door, Event
from retrycontract.store.models.operators import FailedLogins, Preferences, ProviderIdentity, SecondFactor
from retrycontract.store.models.outbox import (
    Channel,
    ChannelTurn,
    Notice,
    OutboxMessage,
    WebhookDelivery,
)
from retrycontract.store.models.summaries import OTHER, Summary, SummarySpan
from retrycontract.store.models.tools import Tool, ToolVersion
from retrycontract.store.models.workers import WorkerBeat

__all__ = [
    "DETAILED",
    "OTHER",
    "Agent",
    "AnswerRecord",
    "ApiKey",
    "AppendOnlyError",
    "Attempt",
    "AttemptState",
    "Call",
    "Channel",
    "ChannelTurn",
    "Claim",
    "Count",
    "Door",
    "Escalation",
    "EscalationState",
    "Event",
    "FailedLogins",
    "Guidance",
    "GuidanceStage",
    "GuidanceVersion",
    "HeldAnswer",
    "IdempotencyKey",
    "IllegalMoveError",
    "KeyState",
    "LoggedResponse",
    "LostRaceError",
    "Measure",
    "Mistake",
    "Notice",
    "OutboxMessage",
    "Preferences",
    "ProviderIdentity",
    "Rollup",
    "SavedReply",
    "Scope",
    "SecondFactor",
    "Snooze",
    "Source",
    "StandingHint",
    "Summary",
    "SummarySpan",
    "Tally",
    "Tool",
    "ToolVersion",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WorkerBeat",
    "hour_of",
]

"""What the service remembers."""

from retrycontract.store.models.agents import Agent, ApiKey, KeyState, Scope
from retrycontract.store.models.answers import AnswerRecord, Mistake, StandingHint
from retrycontract.store.models.calls import (
    Attempt,
    AttemptState,
    Call,
    IllegalMoveError,
    LostRaceError,
)
from retrycontract.store.models.claims import Claim, Snooze
from retrycontract.store.models.endpoints import WebhookEndpoint
from retrycontract.store.models.escalations import Escalation, EscalationState, Guidance
from retrycontract.store.models.events import AppendOnlyError, Door, Event
from retrycontract.store.models.guidance_versions import GuidanceStage, GuidanceVersion
from retrycontract.store.models.held_answers import HeldAnswer
from retrycontract.store.models.idempotency import IdempotencyKey
from retrycontract.store.models.logins import FailedLogins
from retrycontract.store.models.outbox import Channel, ChannelTurn, Notice, OutboxMessage, WebhookDelivery
from retrycontract.store.models.preferences import Preferences
from retrycontract.store.models.replies import SavedReply
from retrycontract.store.models.responses import LoggedResponse
from retrycontract.store.models.rollups import DETAILED, Count, Measure, Rollup, Source, Tally, hour_of
from retrycontract.store.models.second_factors import SecondFactor
from retrycontract.store.models.summaries import Summary, SummarySpan
from retrycontract.store.models.tools import Tool, ToolVersion
from retrycontract.store.models.workers import WorkerBeat

__all__ = [
    "DETAILED",
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

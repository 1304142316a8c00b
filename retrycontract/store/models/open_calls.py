"""The open calls that a submission without our id may continue."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, Q, When

from retrycontract.contract.matching import Submission
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.calls import Call, CallQuerySet
from retrycontract.store.statements import Statement

MAX_CANDIDATES = 50  # open calls of one session and tool that matching looks at


def candidates(agent: Agent, submission: Submission) -> list[Call]:
    """List the agent's open calls that a submission may continue, oldest first; without a session there are none."""
    if submission.session_id is None:
        return []
    found = CONTINUED.rows(
        agent_id=agent.pk,
        tool_call_id=submission.tool_call_id,
        session_id=submission.session_id,
        tool_name=submission.tool_name,
    )
    return sorted(found, key=lambda call: call.pk)


def _continued(agent_id: Any, tool_call_id: Any, session_id: Any, tool_name: Any) -> CallQuerySet:
    """Keep the open calls that a submission without our id may continue, the newest first."""
    by_id = Q(last_tool_call_id=tool_call_id)
    found = Call.objects.open().filter(by_id | Q(tool_name=tool_name), agent_id=agent_id, session_id=session_id)
    # What bears the same id is looked at first, however many calls of the tool were left open.
    return found.order_by(Case(When(by_id, then=0), default=1), "-pk")


CONTINUED = Statement(
    lambda **wanted: _continued(**wanted).select_related("agent", "tool", "version")[:MAX_CANDIDATES],
    "agent_id", "tool_call_id", "session_id", "tool_name",
)  # fmt: skip

"""What the service proposed, what the operator made of it and what the agent was handed are kept apart."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Kind
from retrycontract.store.models import Guidance
from retrycontract.usecases.answers.deliver_answer import mark_delivered
from retrycontract.usecases.answers.give_guidance import RefusedAnswerError
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.usecases.conftest import judge_all

pytestmark = pytest.mark.django_db
NEAR = {"service": "web", "region": "eu-west-1", "replicas": "3"}
MEANT = NEAR | {"replicas": 3}
TOKEN = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"


def stages(guidance: Guidance) -> dict[str, Any]:
    return {version.stage: version for version in guidance.versions.all()}


def test_a_proposal_that_was_taken_over_edited_and_handed_out_is_three_records() -> None:
    corrected = MEANT | {"replicas": 2}
    given = answer(make_blocked(output=NEAR), make_user(), Decision.CORRECTED, text="Two.", arguments=corrected)
    assert set(stages(given)) == {"proposed", "edited"}, "nothing was handed out yet"
    mark_delivered(given, now=timezone.now())
    found = stages(given)
    assert found["proposed"].arguments == MEANT
    assert (found["edited"].arguments, found["edited"].text) == (corrected, "Two.")
    assert (found["delivered"].arguments, found["delivered"].text) == (corrected, given.rendered)


def test_without_a_proposal_there_is_none() -> None:
    given = answer(make_blocked(), make_user(), Decision.CORRECTED, arguments=RIGHT)
    assert set(stages(given)) == {"edited"}


def test_a_second_delivery_adds_no_record() -> None:
    given = answer(make_blocked(), make_user())
    for guidance in (given, given, Guidance.objects.get()):
        mark_delivered(guidance, now=timezone.now())
    assert set(stages(given)) == {"edited", "delivered"}


def test_no_record_holds_a_secret() -> None:
    call = make_blocked(output=NEAR | {"service": TOKEN})
    given = answer(call, make_user(), text=f"Use {TOKEN}.")
    mark_delivered(given, now=timezone.now())
    assert TOKEN not in str(list(given.versions.values()))


def test_a_source_file_is_never_patched() -> None:
    agent = make_agent()
    make_tool(agent, "main.py", {}, kind=Kind.SOURCE_FILE)
    call = None
    for _ in range(3):
        call = submit(agent, f"key = '{TOKEN}'\n)", tool="main.py", kind=Kind.SOURCE_FILE, call=call).call
        judge_all()
    assert call is not None
    mended = "key = '[REDACTED: GITHUB_TOKEN]'\n"
    with pytest.raises(RefusedAnswerError, match="source file is sent whole"):
        answer(call, make_user(), Decision.CORRECTED, arguments=mended)

"""What the service's agents are told beyond the errors: progress, and the words of a tool's own formatter."""

from __future__ import annotations

import pytest

from retrycontract import parse_feedback
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.feedback_text import ParsedFeedback
from retrycontract.store.models import Attempt
from retrycontract.usecases.tools.try_schema import dry_run
from tests.contract.polite_words import polite_words as polite_words
from tests.factories import DEPLOY, WRONG, answer, make_agent, make_tool, make_user
from tests.usecases.conftest import Send

pytestmark = pytest.mark.django_db


def told(attempt: Attempt) -> ParsedFeedback:
    return parse_feedback(attempt.feedback)


def test_the_second_attempt_is_told_what_became_of_the_mistakes_of_the_first(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, {"service": 1, "region": "europe"}).call
    second = told(send(agent, {"service": "web", "region": "europe", "replicas": 0}, call=call))
    assert (second.fixed, second.still, second.new) == (("/service",), ("/region",), ("/replicas",))


def test_an_attempt_that_was_no_json_hides_nothing_of_the_one_before(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, WRONG).call
    second = send(agent, '{"region": ', call=call)
    assert (told(second).fixed, told(second).new) == ((), ("",))
    answered = answer_when_blocked(send, second)
    assert "still wrong /region (same mistake as attempt 1)" in send(agent, WRONG, call=answered.call).feedback


def answer_when_blocked(send: Send, attempt: Attempt) -> Attempt:
    """Send one more attempt that is no JSON, which blocks the call, and grant two more."""
    last = send(attempt.call.agent, '{"region": ', call=attempt.call)
    answer(last.call, make_user(), Decision.HINT)
    return last


def test_the_same_mistakes_again_are_called_so(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, WRONG).call
    assert told(send(agent, {"service": "api", "region": "asia"}, call=call)).is_unchanged


@pytest.mark.usefixtures("polite_words")
def test_an_installed_formatter_words_the_answer_and_the_dry_run(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    text = send(agent, WRONG).feedback
    assert "\n\nKindly change 'region'" in text
    tried = dry_run(DEPLOY, WRONG, tool_name="deploy", strict=True, attempt=1, max_attempts=3)
    assert tried.feedback == text

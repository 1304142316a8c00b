"""A reply lists what a client can use, however much is wrong."""

from __future__ import annotations

import json

import pytest

from retrycontract.api.presenters import verdict
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.store.models import Agent, Attempt, Call


def reply_to(mistakes: int, words: int) -> dict[str, object]:
    errors = [ValidationError(ErrorCode.TYPE_MISMATCH, f"/{at}", "word " * words).to_json() for at in range(mistakes)]
    call = Call(agent=Agent(name="agent"), tool_name="tool", state="retrying", attempts_made=1, attempts_allowed=3)
    attempt = Attempt(call=call, number=1, tool_call_id="c1", status="retry", errors_json=errors, feedback="Wrong.")
    return verdict(attempt, render="langchain").model_dump(mode="json")


@pytest.mark.parametrize(("mistakes", "words"), [(4_000, 5), (100, 200), (4_000, 200)])
def test_a_reply_has_64_kb_and_counts_what_it_leaves_out(mistakes: int, words: int) -> None:
    reply = reply_to(mistakes, words)
    assert len(json.dumps(reply)) <= 65_536
    assert isinstance(listed := reply["errors"], list)
    assert 0 < len(listed) <= 100
    assert reply["errors_left_out"] == mistakes - len(listed)


def test_an_ordinary_reply_leaves_nothing_out() -> None:
    reply = reply_to(20, 5)
    assert reply["errors_left_out"] == 0
    assert isinstance(listed := reply["errors"], list)
    assert len(listed) == 20

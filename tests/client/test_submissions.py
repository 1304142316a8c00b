"""What the client remembers of what it sent, and what it forgets."""

from __future__ import annotations

from retrycontract.client.exchange import MAX_ATTEMPTS, MAX_CALLS, Submissions


def test_each_attempt_of_a_call_is_remembered_by_its_number() -> None:
    sent = Submissions()
    sent.keep("a", 1, "first")
    sent.keep("a", 2, "second")
    sent.keep("b", 1, "other")
    assert [sent.text_of("a", 1), sent.text_of("a", 2), sent.text_of("b", 1)] == ["first", "second", "other"]


def test_what_was_never_sent_is_not_known() -> None:
    sent = Submissions()
    sent.keep("a", 1, "first")
    assert [sent.text_of("a", 2), sent.text_of("a", None), sent.text_of("b", 1)] == [None] * 3


def test_a_call_that_ended_is_forgotten_and_may_be_forgotten_again() -> None:
    sent = Submissions()
    sent.keep("a", 1, "first")
    sent.forget("a")
    sent.forget("a")
    assert sent.text_of("a", 1) is None


def test_the_oldest_attempts_of_a_call_give_way() -> None:
    sent = Submissions()
    for number in range(1, MAX_ATTEMPTS + 2):
        sent.keep("a", number, "text")
    assert sent.text_of("a", 1) is None
    assert sent.text_of("a", 2) == "text"


def test_the_call_that_was_silent_longest_gives_way() -> None:
    sent = Submissions()
    for number in range(MAX_CALLS):
        sent.keep(f"call-{number}", 1, "text")
    sent.keep("call-0", 2, "text")
    sent.keep("one more", 1, "text")
    assert sent.text_of("call-0", 2) == "text"
    assert sent.text_of("call-1", 1) is None


def test_nothing_prints_what_it_holds() -> None:
    sent = Submissions()
    sent.keep("a", 1, "s3cret")
    assert "s3cret" not in repr(sent) + str(sent)

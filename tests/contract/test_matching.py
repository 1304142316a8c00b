"""Which attempt belongs to which call."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from retrycontract.contract.matching import AmbiguousCallError, Submission, is_unfilled, match

# Sessions as templates leave them that nobody filled in, and names that a template may well have made.
UNFILLED = [
    " ", "   ", "\u00a0", "\u3000", "\u2003 ", "{session_id}", "{{ session }}", "{{session.id}}",
    "${SESSION}", "$SESSION", "{}",
    "%s", "%(session)s", "<session-id>", "<your session>", "undefined", "None", "null", "nil", "NaN", "NULL",
    "[object Object]",
    "user-{user_id}", "chat:undefined", "{0}", "{session-id}", "{sessionId!r}", "{session['id']}",
    "%SESSION%", "${session:-}", "$(SESSION)",
    "<%= session %>", "{% session %}", "%7Bsession%7D", "[session_id]", "__SESSION__", "YOUR_SESSION_ID",
    "your session", "@session",
    "00000000-0000-0000-0000-000000000000", "{00000000000000000000000000000000}", "(null)", "undefinedundefined",
    "%session_id", "System.Object", "java.lang.Object@1b6d3586", "uuid.uuid4()", "str(uuid4())", "ObjectId()",
    "crypto.randomUUID()", "TODO", "changeme", "xxxx", "Placeholder",
    "string", "session_id", "sessionId", "thread-id", "none", "session-None", "None/None", "thread_null", "run ${RUN}",
]  # fmt: skip
FILLED = [
    " a ", "s-1", "0", "{6F9619FF-8B86-D011-B42D-00C04FC964FF}", "none-such-street", "nonesuch", "nullable",
    "thread_AbC123", "Ünïcode 会話", "a%20b", "50%", "user@example.com", "nothing", "a<b",
    "00000000-0000-0000-0000-000000000001", "0000", "todo-list-5", "system.7", "f(x)", "xx", "%",
    "session-7", "chat 12", "stringer", "yours", "[7]", "a[b]",
    '{"chat": "5f0c"}',
    "5f0c…", "$5",
    "Nancy", "annull",
]  # fmt: skip


@dataclass
class OpenCall:
    name: str
    state: str = "retrying"
    session_id: str | None = "s"
    tool_name: str = "read"
    last_turn: int | None = 1
    last_tool_call_id: str = "call_1"
    is_of_unknown_tool: bool = False


def submission(
    tool_call_id: str = "call_2", *, tool: str = "read", session: str | None = "s", turn: int | None = 2
) -> Submission:
    return Submission(tool, tool_call_id, session, turn)


CALL = OpenCall("it")


@pytest.mark.parametrize(
    ("sent", "calls", "matched"),
    [
        pytest.param(submission(), [], None, id="nothing-open"),
        pytest.param(submission("call_1", turn=2), [CALL], "it", id="same-session-and-id"),
        pytest.param(submission("call_1", turn=0), [CALL], "it", id="same-id-in-an-earlier-turn"),
        pytest.param(submission("call_1", turn=1), [CALL], None, id="same-id-in-one-turn"),
        pytest.param(submission("call_1", turn=1), [OpenCall("it", "blocked")], None, id="same-id-in-its-turn"),
        pytest.param(
            submission("call_1"), [OpenCall("old", last_turn=0), OpenCall("it")], "it", id="the-newest-of-one-id"
        ),
        pytest.param(submission("call_1", turn=None), [CALL], "it", id="same-id-needs-no-turn"),
        pytest.param(submission("call_1", session="other", turn=9), [CALL], None, id="same-id-in-another-session"),
        pytest.param(submission("call_1", session=None), [CALL], None, id="same-id-without-the-session"),
        pytest.param(submission("call_1", tool="write", turn=1), [CALL], None, id="an-id-reused-for-another-tool"),
        pytest.param(
            submission("call_1", tool="write"),
            [OpenCall("it", is_of_unknown_tool=True)],
            "it",
            id="same-id-corrects-an-unknown-tool",
        ),
        pytest.param(
            submission("call_1", session=None, turn=None), [OpenCall("it", session_id=None)], None, id="id-alone"
        ),
        pytest.param(
            submission("call_1", session=None), [OpenCall("it", "blocked", None)], None, id="id-alone-of-a-blocked-one"
        ),
        pytest.param(
            submission("call_1", session=None, tool="write"),
            [OpenCall("it", session_id=None, is_of_unknown_tool=True)],
            None,
            id="id-alone-of-an-unknown-tool",
        ),
        pytest.param(
            submission("call_2", session=None, turn=9),
            [OpenCall("it", session_id=None)],
            None,
            id="without-session-the-turn-says-nothing",
        ),
        pytest.param(
            submission("call_1"), [OpenCall("old", last_turn=0), OpenCall("new")], "new", id="the-latest-of-the-same-id"
        ),
        pytest.param(
            submission("call_1"),
            [CALL, OpenCall("blocked", state="blocked", last_tool_call_id="call_0")],
            "it",
            id="the-id-comes-before-the-turn",
        ),
        pytest.param(submission(turn=2), [CALL], "it", id="later-turn"),
        pytest.param(submission(turn=1), [CALL], None, id="same-turn-is-parallel"),
        pytest.param(submission(turn=0), [CALL], None, id="earlier-turn"),
        pytest.param(submission(tool="write"), [CALL], None, id="later-turn-of-another-tool"),
        pytest.param(submission(session="other"), [CALL], None, id="later-turn-of-another-session"),
        pytest.param(submission(turn=None), [CALL], None, id="no-turn-and-retrying"),
        pytest.param(submission(), [OpenCall("it", last_turn=None)], None, id="call-without-a-turn"),
        pytest.param(submission(turn=None), [OpenCall("it", state="blocked")], "it", id="no-turn-but-blocked"),
        pytest.param(submission(turn=None), [OpenCall("it", state="guided")], "it", id="no-turn-but-guided"),
        pytest.param(submission(turn=1), [OpenCall("it", state="blocked")], None, id="parallel-to-the-blocked-one"),
        pytest.param(submission(turn=2), [CALL, OpenCall("b", last_turn=2)], "it", id="one-of-two-is-earlier"),
    ],
)  # fmt: skip
def test_an_attempt_continues_its_call_or_begins_a_new_one(
    sent: Submission, calls: list[OpenCall], matched: str | None
) -> None:
    found = match(sent, calls, is_repeated=lambda _: False)
    assert (found.name if found else None) == matched


@pytest.mark.parametrize(
    ("sent", "call", "is_matched"),
    [
        pytest.param(submission("call_1", session=None), OpenCall("it", session_id=None), True, id="the-same-id"),
        pytest.param(submission("call_1", turn=1), OpenCall("it"), True, id="the-same-id-in-one-turn"),
        pytest.param(submission("call_2", session=None), OpenCall("it", session_id=None), False, id="another-id"),
        pytest.param(
            submission("call_2", session=None), OpenCall("it", "blocked", None), False, id="another-id-while-blocked"
        ),
        pytest.param(submission("call_1"), OpenCall("it", session_id=None), False, id="a-session-of-its-own"),
        pytest.param(submission("call_1", session=None), OpenCall("it"), False, id="somebody's-session"),
    ],
)
def test_in_one_conversation_the_providers_id_is_enough(sent: Submission, call: OpenCall, is_matched: bool) -> None:
    assert match(sent, [call], is_one_conversation=True) == (call if is_matched else None)


@pytest.mark.parametrize(
    ("sent", "calls"),
    [
        pytest.param(submission(turn=3), [OpenCall("a"), OpenCall("b", last_turn=2)], id="later-than-both"),
        pytest.param(submission("call_1"), [OpenCall("a"), OpenCall("b")], id="one-id-of-two-calls-of-one-turn"),
        pytest.param(
            submission(turn=None), [OpenCall("a", state="blocked"), OpenCall("b", state="guided")], id="both-waiting"
        ),
    ],
)
def test_several_candidates_are_an_error_that_lists_them(sent: Submission, calls: list[OpenCall]) -> None:
    with pytest.raises(AmbiguousCallError, match="send call_id") as caught:
        match(sent, calls)
    assert caught.value.candidates == tuple(calls)


def test_a_session_that_nobody_filled_in_is_told_from_one_with_a_name() -> None:
    assert [session for session in UNFILLED if not is_unfilled(session)] == []
    assert [session for session in FILLED if is_unfilled(session)] == []

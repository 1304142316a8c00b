"""A life of calls: an agent, its workers and two operators, who do whatever comes to their minds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from retrycontract.contract.decisions import Decision
from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.store.models import (
    Agent,
    Attempt,
    Call,
    Escalation,
    Event,
    Guidance,
    HeldAnswer,
    Rollup,
    ToolVersion,
)
from retrycontract.store.models.escalations import free_calls
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.give_guidance import AlreadyAnsweredError, RefusedAnswerError, give_guidance
from retrycontract.usecases.answers.send_answer import send_answer, send_held, take_back
from retrycontract.usecases.calls import claim_call as desk
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import CallEndedError, CallNotFoundError
from retrycontract.usecases.calls.judge_attempt import judge_leased
from retrycontract.usecases.calls.repeat_request import IdempotencyConflictError, RequestKey, forget_requests
from retrycontract.usecases.calls.sweep import expire_overdue, forget_answers, forget_calls, index_calls, tidy_queue
from retrycontract.usecases.counts import recount
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool, release_version
from tests.factories import RIGHT, submit
from tests.usecases import call_rules as rules
from tests.usecases.conftest import NOON, judge_all
from tests.usecases.expected_calls import CLAIM, LEASE, OUTPUTS, SCHEMAS, UNASKED, Expected, Held, Registered, continued

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
HOLD, KEPT = 8 * SECOND, 90 * DAY
LONG_AGO = NOON - DAY
WAYS = ("auto", "worker")  # where an attempt is judged
TOOLS = ("deploy", "release")  # the first is there from the beginning
CHOSEN = st.builds(
    ToolSettings, hold=st.booleans(), mode=st.sampled_from(["enforce", "enforce", "enforce", "observe"]),
    max_attempts=st.sampled_from([1, 2, 3]), on_expiry=st.sampled_from(["expire", "reject"]),
)  # fmt: skip
SWEEP: tuple[Callable[..., Any], ...] = (
    send_held, expire_overdue, tidy_queue, forget_answers, forget_requests, forget_calls, recount.fold_rollups,
    recount.sum_up_counts, lambda now: index_calls(),  # noqa: ARG005 - every other step is told the time
)  # fmt: skip


class Life(RuleBasedStateMachine):
    """What may happen next, and what must hold after it; `tally` sums up what did happen in all lives."""

    calls = Bundle("calls")
    budget = 3  # where a tool sets none

    def __init__(self, ways: dict[str, Any], agent: Agent, operators: tuple[User, ...], tally: Counter[str]) -> None:
        super().__init__()
        self.ways, self.agent, self.operators = ways, agent, operators
        self.tally, self.now, self.numbers = tally, NOON, count(1)
        self.tools: dict[str, Registered] = {}
        self.expected: dict[int, Expected] = {}
        self.rows: dict[int, Call] = {}  # as they were read first
        self.counts: Counter[tuple[str, str]] = Counter()
        self.requests: list[tuple[Attempt, str | None, datetime, dict[str, Any]]] = []
        self.stalled: list[tuple[Attempt, str]] = []  # attempts of workers that may be dead, with their leases
        self.taken_over: set[int] = set()
        self.written: rules.Written = {}
        self.ends: dict[int, str] = {}
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.register(TOOLS[0], "narrow", ToolSettings())

    def teardown(self) -> None:
        """Leave the database as it was."""
        self.tally.update(lives=1, calls=len(self.rows))
        judged = Event.objects.exclude(name="guidance.given").values_list("data", flat=True)
        self.tally["renewed"] += sum("granted" in data for data in judged)
        for (measure, label), amount in self.counts.items():
            self.tally[label if measure == "outcome" else measure] += amount
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(target=calls)
    def be_young(self) -> Any:
        """Begin with calls that are guided, Blocked and taken on, or wait: few lives would come so far by chance."""
        keys = [self.begin("deploy", "empty", session, "a", "auto") for session in ("one", "two", None)]
        for key in keys[:2]:
            self.go_on(key, "deploy", ["empty", "wrong"], "auto")
        self.go_on(keys[2], "deploy", ["wrong", "right"], "worker")
        self.answer(keys[0], Decision.HINT, 2, 0, False, True, False)
        self.look_after(keys[1], 1, "claim")
        return multiple(*keys)

    @rule(by=st.sampled_from([SECOND, HOLD, LEASE, CLAIM, HOUR, 25 * HOUR, 8 * DAY, KEPT + DAY]))
    def wait(self, by: timedelta) -> None:
        self.now += by

    # The agent

    @rule(name=st.sampled_from(TOOLS), schema=st.sampled_from(sorted(SCHEMAS)), chosen=CHOSEN)
    def register(self, name: str, schema: str, chosen: ToolSettings) -> None:
        register_tool(self.agent, name, SCHEMAS[schema], now=self.now, settings=chosen)
        tool = self.tools.setdefault(name, Registered(schema, max_attempts=self.budget))
        tool.schema = schema
        for setting, value in chosen.given().items():
            setattr(tool, setting, value)

    @precondition(lambda self: sum(not call.has_ended for call in self.expected.values()) < 5)
    @rule(
        target=calls, name=st.sampled_from(TOOLS), output=st.sampled_from(["wrong", *OUTPUTS]),
        session=st.sampled_from([None, "one", "two"]), tool_call_id=st.sampled_from("ab"), judge=st.sampled_from(WAYS),
    )  # fmt: skip
    def begin(self, name: str, output: str, session: str | None, tool_call_id: str, judge: str) -> Any:
        """Submit an output without our id: to the call that session and id lead to, or to a new one."""
        fitting = continued(self.expected, session, tool_call_id, name)
        ids = {"session_id": session, "tool_call_id": tool_call_id}
        if len(fitting) > 1:
            with pytest.raises(AmbiguousCallError):
                self._submit(output, judge, tool=name, **ids)
            return multiple()
        attempt = self._submit(output, judge, tool=name, **ids)
        tool = self.tools.get(name)
        call = Expected(self.counts, name, session, tool_call_id, tool.max_attempts if tool else 3)
        call = self.expected.setdefault(attempt.call.pk, fitting[0] if fitting else call)
        assert not fitting or call is fitting[0], "another call was continued"
        self.rows.setdefault(attempt.call.pk, attempt.call)
        self._expect_attempt(call, output, name, judge, tool_call_id)
        return attempt.call.pk

    @rule(
        key=calls,
        name=st.sampled_from(TOOLS),
        # Half of them make the call Blocked.
        outputs=st.just(["empty"] * 3) | st.lists(st.sampled_from(["wrong", *OUTPUTS]), min_size=1, max_size=3),
        judge=st.sampled_from(WAYS),
        heeds=st.booleans(),
    )
    def go_on(self, key: int, name: str, outputs: list[str], judge: str, heeds: bool = False) -> None:
        """Submit further outputs to a call, of another tool while it has none that is known; the first heeds a hint."""
        if heeds and key in self.expected:
            outputs = [*self.expected[key].heeding(), *outputs]
        for output in outputs:
            call = self.expected.get(key)
            named = name if call and call.schema is None else self.rows[key].tool_name if not call else call.name
            sent = {"call": self.rows[key], "tool": named, "tool_call_id": f"c{next(self.numbers)}"}
            if call is None or call.has_ended:
                with pytest.raises(CallNotFoundError if call is None else CallEndedError):
                    self._submit(output, judge, session_id=None, **sent)
                return
            self._submit(output, judge, session_id=call.session, **sent)
            self._expect_attempt(call, output, named, judge, sent["tool_call_id"])

    def _submit(self, output: str, judge: str, **sent: Any) -> Attempt:
        settings.RETRYCONTRACT = self.ways[judge]
        if output in UNASKED:
            sent |= {"api_error": "HTTP 429", "gives_up": output == "given up"}
        elif output == "rejected by its agent":
            sent["callback_error"] = "the quota is used up"
        sent |= {"output": OUTPUTS[output], "key": RequestKey.of(f"key {next(self.numbers)}", "body")}
        attempt = submit(self.agent, at=self.now, **sent)
        self.requests.append((attempt, None if attempt.is_waiting else attempt.call.state, self.now, sent))
        return attempt

    def _expect_attempt(self, call: Expected, output: str, name: str, judge: str, tool_call_id: str) -> None:
        call.tool_call_id = tool_call_id
        call.take(output, name, self.tools.get(name), self.now, waits=judge == "worker")

    @precondition(lambda self: self.requests)
    @rule(which=st.integers(0, 30), is_same=st.booleans())
    def repeat(self, which: int, is_same: bool) -> None:
        """Send a request again under its key, or another one."""
        attempt, state, _, sent = self.requests[which % len(self.requests)]
        if is_same:
            again = submit(self.agent, at=self.now, **sent)
            assert again.pk == attempt.pk, "a repeated request made another attempt"
            assert state in (None, again.call.state), "a repeated request was answered otherwise"
        else:
            other = RequestKey(sent["key"].key_hash, RequestKey.of("", "another body").request_hash)
            with pytest.raises(IdempotencyConflictError):
                submit(self.agent, at=self.now, **sent | {"key": other})

    @rule(key=calls, chance=st.integers(0, 3))
    def cancel(self, key: int, chance: int) -> None:
        if (call := self.expected.get(key)) is not None and chance == 3:
            assert cancel_call(self._read(key), now=self.now) is not call.has_ended
            if not call.has_ended:
                call.end("cancelled", self.now)

    @rule(key=calls, takes_over=st.booleans())
    def hear(self, key: int, takes_over: bool) -> None:
        """Hand the newest answer to the agent, which may say that it has taken it over."""
        given = Guidance.objects.select_related("base", "call__agent").filter(call=key).order_by("-pk").first()
        if given is not None:
            self.expected[key].hear(self.now)
        if given is not None and takes_over:
            assert acknowledge_guidance(given, now=self.now) is (given.pk not in self.taken_over)
            self.taken_over.add(given.pk)
        elif given is not None:
            mark_delivered(given, now=self.now)

    # Its workers

    @precondition(lambda self: any(call.waiting for call in self.expected.values()))
    @rule()
    def work(self) -> None:
        judge_all(now=self.now)
        for call in self.expected.values():
            call.work(self.now)
        self._release_versions()

    @precondition(lambda self: any(call.waiting for call in self.expected.values()))
    @rule(which=st.integers(0, 5), times=st.integers(1, 4), together=st.booleans())
    def stall(self, which: int, times: int, together: bool) -> None:
        """Let workers take an attempt one after the other, and each say nothing until its lease runs out."""
        waiting = [(key, call) for key, call in sorted(self.expected.items()) if call.waiting]
        key, call = waiting[which % len(waiting)]
        one = call.waiting[0]
        row = Attempt.objects.get(call=key, number=one.number)
        for _ in range(times):
            lease = {"token": f"worker {next(self.numbers)}", "now": self.now, "until": self.now + LEASE}
            is_first = not one.token
            leased = (Attempt.lease([row.pk], most=8, **lease) if together else [Attempt.claim(row.pk, **lease)])[:1]
            got = leased[0] if leased else None
            assert (got is not None) is (is_first if together else one.is_free(self.now)), "two workers have it"
            if got is not None:
                one.token, one.until = lease["token"], lease["until"]
                one.deliveries += not together
                self.stalled.append((got, lease["token"]))
            self.now += LEASE

    @precondition(lambda self: self.stalled)
    @rule(which=st.integers(0, 5))
    def come_back(self, which: int) -> None:
        """Let a worker that was taken for dead go on where it was."""
        attempt, token = self.stalled.pop(which % len(self.stalled))
        call = self.expected.get(attempt.call_id)
        is_its_own = call is not None and bool(call.waiting) and call.waiting[0].token == token
        assert judge_leased(attempt, token, self.now, clock=lambda: self.now) is is_its_own, "a lost lease was used"
        if call is not None and is_its_own:
            one = call.waiting.pop(0)
            one.deliveries = attempt.deliveries
            call.judge(one, self.now)
        self._release_versions()

    def _release_versions(self) -> None:
        """Judge here what would be judged by a child process from now on, which takes a second."""
        for version in ToolVersion.objects.filter(quarantined_at__isnull=False):
            release_version(version, now=self.now, actor="admin", door="admin")

    # People

    @rule(
        key=calls, decision=st.sampled_from(Decision), grant=st.integers(0, 5), who=st.integers(0, 1),
        is_held=st.booleans(), fits=st.booleans(), is_open=st.booleans(),
    )  # fmt: skip
    def answer(
        self, key: int, decision: Decision, grant: int, who: int, is_held: bool, fits: bool, is_open: bool
    ) -> None:
        """Answer a call, or the first one that waits for it."""
        waiting = [key for key, call in sorted(self.expected.items()) if call.may_be_answered]
        key = waiting[0] if is_open and waiting else key
        call = self.expected.get(key)
        if call is None or not call.rounds:
            return
        escalation = Escalation.objects.filter(call=key).latest("round")
        is_correction = decision is Decision.CORRECTED
        said: dict[str, Any] = {"now": self.now, "text": "Use eu-west-1.", "grant": grant}
        said |= {"arguments": RIGHT if fits or call.schema is None else {}} if is_correction else {}
        give = send_answer if is_held else give_guidance
        is_unfit = is_correction and said["arguments"] != RIGHT
        if is_unfit or (decision is Decision.ACCEPT and not call.parsed[max(call.parsed)]):
            with pytest.raises(RefusedAnswerError):
                give(escalation, self.operators[who], decision, **said)
        elif not call.may_be_answered:
            with pytest.raises(AlreadyAnsweredError):
                give(escalation, self.operators[who], decision, **said)
        else:
            given = give(escalation, self.operators[who], decision, **said)
            if isinstance(given, HeldAnswer):
                call.held = Held(given.batch, who, str(decision), grant, self.now + HOLD)
            else:
                call.answer(str(decision), grant, self.now)

    @rule(key=calls, who=st.integers(0, 1))
    def take_back(self, key: int, who: int) -> None:
        call = self.expected.get(key)
        if call is not None and call.held is not None:
            is_theirs = call.held.who == who
            assert len(take_back(call.held.batch, self.operators[who])) == is_theirs
            call.held = None if is_theirs else call.held

    @rule(key=calls, who=st.integers(0, 1), what=st.sampled_from(["claim", "next", "release", "snooze", "wake"]))
    def look_after(self, key: int, who: int, what: str) -> None:
        """Take a call on or put it off, or undo that."""
        call, operator = self.expected.get(key), self.operators[who]
        if what == "next":
            found = desk.claim_next(operator, now=self.now)
            first = next(iter(self._queue()), None)
            assert (found and found.pk) == first, "not the longest waiting call was taken on"
            if first is not None:
                self.expected[first].claim = who, self.now + CLAIM
            return
        if call is None:
            return
        claimed = call.claim is not None and call.claim[1] > self.now
        is_theirs = claimed and call.claim is not None and call.claim[0] == who
        if what == "release":
            assert desk.release_claim(self._read(key), operator, now=self.now) is is_theirs
            call.claim = None if is_theirs else call.claim
        elif what == "wake":
            assert desk.wake_call(self._read(key), operator, now=self.now) is (call.snoozed > self.now)
            call.snoozed = NOON
        else:
            act = desk.claim_call if what == "claim" else desk.snooze_call
            until = {} if what == "claim" else {"until": self.now + HOUR}
            if call.state != "blocked" or (claimed and not is_theirs):
                with pytest.raises(desk.NotBlockedError if call.state != "blocked" else desk.ClaimedError):
                    act(self._read(key), operator, now=self.now, **until)
                return
            act(self._read(key), operator, now=self.now, **until)
            if what == "claim":
                call.claim = who, self.now + CLAIM
            else:
                call.claim, call.snoozed = None, self.now + HOUR

    # The sweep

    @rule(step=st.sampled_from(SWEEP))
    def sweep(self, step: Callable[..., Any]) -> None:
        done = step(now=self.now)
        if step is send_held:
            due = [call for call in self._all() if call.held and call.held.due <= self.now and not call.has_missed]
            for call in due:
                assert call.held is not None
                call.answer(call.held.decision, call.held.grant, self.now)
            assert done == len(due)
        elif step is expire_overdue:
            overdue = [call for call in self._all() if call.is_overdue(self.now)]
            for call in overdue:
                call.expire(self.now)
            assert done == len(overdue)
        elif step is forget_requests:
            self.requests = [each for each in self.requests if each[2] >= self.now - DAY]
        elif step is forget_calls:
            old = {k for k, call in self.expected.items() if call.has_ended and call.updated_at < self.now - KEPT}
            self.expected = {key: call for key, call in self.expected.items() if key not in old}
            self.ends = {key: state for key, state in self.ends.items() if key not in old}
            self.requests = [each for each in self.requests if each[0].call_id not in old]
            self.stalled = [each for each in self.stalled if each[0].call_id not in old]
            self.written = {at: row for at, row in self.written.items() if row[0] not in old}
            assert done == len(old)

    @rule(makes_anew=st.booleans())
    def recount(self, makes_anew: bool) -> None:
        """Count history anew, which must change nothing."""
        since = recount.first_whole_hour() or LONG_AGO
        if makes_anew:
            recount.rebuild_rollups(since=since, now=self.now, actor="admin", door="command")
        kept, told = (
            Counter({each: n for each, n in tally.items() if each.hour >= since})
            for tally in (Rollup.objects.all().tally(), recount.recount(since=since))
        )
        assert kept == told, "what was counted is not what history says"

    @invariant()
    def holds(self) -> None:
        self.tally["steps"] += 1
        rules.compare_attempts(self.expected)
        self.written, self.ends = rules.grown(self.written), rules.kept_ends(self.ends)
        rules.replay_trails(self.expected)
        rules.compare_calls(self.expected)
        assert list(free_calls(self.now).values_list("pk", flat=True)) == self._queue(), "another queue"
        assert rules.counted() == +self.counts, "the counters say something else"

    def _all(self) -> list[Expected]:
        return [call for _, call in sorted(self.expected.items())]

    def _queue(self) -> list[int]:
        free = [(call.blocked_at, key) for key, call in self.expected.items() if call.is_free(self.now)]
        return [key for _, key in sorted(free)]

    def _read(self, key: int) -> Call:
        return Call.objects.select_related("agent", "tool", "version").get(pk=key)

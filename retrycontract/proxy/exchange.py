"""Bring the answer to one request into its contract: judge it, and ask the upstream again with the feedback."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from retrycontract.client import CorrectionError, Guidance
from retrycontract.contract.checks.failure import blocks
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.judging import ModelOutput, Verdict, as_text
from retrycontract.judging.asking import NoVerdictError, guidance_on
from retrycontract.loops.failures import failure_of
from retrycontract.proxy.contracts import RequestContract
from retrycontract.proxy.conversation import Conversation, ConversationTurn, context_of, is_before_people, is_repeated
from retrycontract.proxy.dialects import read_calls
from retrycontract.proxy.upstream import RefusedByUpstreamError, UpstreamError
from retrycontract.proxy.wire import Body, CallReply, FinalAnswer, ModelAnswer, Terms, Wire, WrittenCall, new_id, summed

MAX_ANSWERS: Final = 20  # of one request: a budget has ten, and a person may grant more
LONGEST_DELAY: Final = 30.0  # seconds; an upstream that asks for more is not waited for: the client gets its answer
ANY_TOOL: Final = "tool_choice"  # what a call of one of several tools is called while there is none
SAME_AGAIN: Final = (
    "You have made this call with the same arguments again and again, and its result will be the same. It was not "
    "executed this time. Do something else, or say what keeps you from it."
)
KEPT: Final = (
    "This call is valid. It is kept, and executed together with the others as soon as those are valid, too. "
    "Do not send it again."
)
IN_TEXT: Final = "You wrote this call into your text. Call the tool as the API has it."
NOT_EXECUTED: Final = "Nothing of it was executed."

logger = logging.getLogger("retrycontract.proxy")

Ask = Callable[[Body], Awaitable[ModelAnswer]]


@dataclass(slots=True)
class DueCall:
    """Hold one thing that an answer owes, through all its attempts."""

    call: WrittenCall
    verdict: Verdict | None = None
    call_id: str | None = None  # that an earlier request of the conversation has begun
    words: str = ""  # a person's, for the model
    is_over: bool = False  # a person said no
    is_accepted: bool = False  # a person let it pass as it is
    is_repeated: bool = False  # valid, and told that it was made before
    tries: int = 0  # of this exchange, whoever judged them

    @property
    def is_wrong(self) -> bool:
        """Tell whether the model has to write it again, or to read that it must not."""
        return self.is_over or self.is_repeated or (self.verdict is not None and self.verdict.status is Status.RETRY)

    @property
    def is_blocked(self) -> bool:
        """Tell whether a person's turn has come."""
        return self.verdict is not None and self.verdict.status in (Status.BLOCKED, Status.UNAVAILABLE)

    @property
    def is_before_people(self) -> bool:
        return self.verdict is not None and is_before_people(self.verdict)

    @property
    def reply(self) -> CallReply:
        """Give what the model reads as the result of this call."""
        feedback = SAME_AGAIN if self.is_repeated else self.verdict.feedback if self.verdict else ""
        told = self.words if self.is_over else "\n\n".join(part for part in (feedback, self.words) if part)
        return CallReply(self.call, told) if told else CallReply(self.call, KEPT, is_error=False)


@dataclass(slots=True)
class ExchangeReport:
    """Say what became of an answer.

    `outcome` is none, valid, accepted, observed, rescued, repaired, blocked, unchecked or unavailable.
    `asked` counts how often the upstream was asked, `codes` are those of all mistakes, `call_ids` those of Blocked
    calls, `dialect` is that in which calls stood in the text, and `repeated` names tools that were called the same.
    """

    model: str
    outcome: str = "none"
    asked: int = 1
    codes: list[str] = field(default_factory=list)
    call_ids: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    dialect: str = ""
    repeated: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settled:
    """Hold how an exchange ended; without `final` the upstream's own answer is the client's."""

    newest: ModelAnswer
    final: FinalAnswer | None = None


class Exchange:
    """Carry one request to its final answer; `ask` puts a further request to the upstream.

    `conversation` knows the calls that earlier requests have left open. A person is waited for at most `wait` seconds,
    within `waiting`, which keeps the client's patience. With `tells_repeats` the model hears of `repeats` equal calls.
    """

    def __init__(
        self,
        wire: Wire,
        terms: Terms,
        request: Body,
        contract: RequestContract,
        ask: Ask,
        *,
        conversation: Conversation,
        prompt: str,
        delay: float,
        wait: float,
        waiting: Callable[[], AbstractAsyncContextManager[Any]],
        repeats: int,
        tells_repeats: bool,
    ) -> None:
        self._wire, self._terms, self._request, self._contract, self._ask = wire, terms, request, contract, ask
        self._turn, self._prompt, self._delay = ConversationTurn(conversation), prompt, delay
        self._wait, self._waiting, self._repeats, self._tells_repeats = wait, waiting, repeats, tells_repeats
        # One turn for all: what continues a call says so by its id.
        self._details = {"session_id": conversation.session, "turn": 0, "context": context_of(wire.history(request))}
        self._answers: list[ModelAnswer] = []
        self._words: str | None = None  # of the newest answer, where calls stood between them
        self._due: list[DueCall] = []
        self.report = ExchangeReport(terms.model, warnings=[f"{name}: {why}" for name, why in contract.faults.items()])

    async def settle(self, answer: ModelAnswer) -> Settled:
        """Judge an answer, and ask for others until it is right or Blocked; raises what the upstream fails by."""
        with self._turn:
            return await self._settled(answer)

    async def _settled(self, answer: ModelAnswer) -> Settled:
        self._answers = [answer]
        each = (answer, *answer.choices)
        self._due = due = [self._begun(call) for choice in each for call in self._owed(choice)]
        try:
            await self._judge(due, answer)
            await self._refuse_unmendable(answer)
            history = self._wire.history(self._request)
            for one in self._due if self._repeats else ():
                is_right = one.verdict is not None and one.verdict.is_valid and bool(one.call.id)
                if is_right and is_repeated(history, one.call.name, one.call.arguments, self._repeats):
                    self.report.repeated.append(one.call.name)
                    # By setting the model is told, once in a request.
                    tells = self._tells_repeats and self._contract.enforces
                    one.is_repeated = tells and not self._answers[-1].unmendable
            is_helped = True
            while is_helped:
                while any(call.is_wrong for call in self._due) and len(self._answers) < MAX_ANSWERS:
                    await self._take_over(await self._ask_again())
                is_helped = len(self._answers) < MAX_ANSWERS and await self._is_helped()
        except NoVerdictError as error:
            logger.warning("An answer could not be checked to its end: %s", error)
            if not (self._due and self._contract.enforces):
                self.report.outcome = "unchecked"
                return Settled(answer)
            if not all(one.verdict for one in self._due):
                raise UpstreamError(f"A call could not be checked, so it is not passed on: {error}") from error
        # Where the attempts or MAX_ANSWERS are used up, too: what is wrong then never reaches the client as a call.
        return self._end()

    async def _refuse_unmendable(self, answer: ModelAnswer) -> None:
        """Raise UpstreamError for a wrong answer in whose place no other one can be asked for."""
        wrong = [one for one in self._due if one.is_wrong or one.is_blocked]
        if not (answer.unmendable and wrong):
            return
        for verdict in [one.verdict for one in wrong if one.verdict and one.is_wrong]:
            await self._contract.cancel(verdict.call_id)
        raise UpstreamError(f"{' '.join(map(self._farewell, wrong))} It cannot be mended, as {answer.unmendable}")

    def _owed(self, answer: ModelAnswer) -> list[WrittenCall]:
        """List what of an answer is judged; what is missing from it as well."""
        contract, named, unjudged = self._contract, self._terms.must_call, self._terms.unjudged
        if answer.is_final:
            return []
        if answer.calls and self._terms.tools:
            is_other = {call.name: named and call.name not in {*named, *unjudged} for call in answer.calls}
            return [replace(call, absent=_not_asked_for(named)) if is_other[call.name] else call
                    for call in answer.calls]  # fmt: skip
        if self._terms.rescues:
            schemas = {tool.name: tool.schema for tool in self._terms.tools}
            if (reading := read_calls(answer.text, schemas)) is not None:
                self.report.dialect, self._words = reading.dialect, reading.before
                return [WrittenCall(new_id(), name, json.dumps(made)) for name, made in reading.calls]
        if named and not answer.calls:
            missing = WrittenCall("", named[0] if len(named) == 1 else ANY_TOOL, None, absent=_not_asked_for(named))
            return [missing] if any(map(contract.checks, named)) else []
        if contract.output and not answer.calls and contract.checks(contract.output):
            return [WrittenCall("", contract.output, answer.text)]
        return []

    def _begun(self, call: WrittenCall) -> DueCall:
        return DueCall(call, call_id=self._turn.continued_by(call.name))

    async def _judge(self, due: Iterable[DueCall], answer: ModelAnswer) -> None:
        account = {
            "model": self._terms.model, "prompt": self._prompt or None, "said": answer.text or None,
            "tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "seconds": answer.seconds,
        }  # fmt: skip
        for one in due:
            if one.call.name in self._terms.unjudged or not self._contract.checks(one.call.name):
                continue
            if self._turn.lets_pass(one.call.name, one.call.arguments):
                one.is_accepted = True
                continue
            await self._verdict_on(one, self._output(one, account, answer.finish_reason))
            account |= {"tokens_in": None, "tokens_out": None, "seconds": None}  # of parallel calls the first has them

    def _output(self, one: DueCall, account: Mapping[str, Any], finish_reason: str | None) -> ModelOutput:
        call = one.call
        # A call without arguments may come as an empty text, which is no JSON.
        is_text, call_id = not call.id and call.absent is None, one.verdict.call_id if one.verdict else one.call_id
        arguments = call.arguments if is_text or not isinstance(call.arguments, str) else call.arguments.strip() or "{}"
        return ModelOutput(
            call.name, arguments if isinstance(call.arguments, str) else as_text(arguments),
            kind=Kind.EXTRACTION if is_text else Kind.TOOL_CALL,
            call_id=call_id, finish_reason=finish_reason, failure=call.absent, generation=account,
        )  # fmt: skip

    async def _verdict_on(self, one: DueCall, output: ModelOutput) -> None:
        one.tries += 1
        judging = self._contract.judge(output, self._details)
        one.verdict = verdict = await self._turn.judged(judging, one.call.name)
        mistakes = [error for error in verdict.errors if blocks(error)]
        self.report.codes += [error.error_code.value for error in mistakes]
        if verdict.is_valid and mistakes and self.report.outcome != "blocked":
            self.report.outcome = "observed"

    async def _ask_again(self) -> ModelAnswer:
        """Let the model read what is wrong; an upstream that fails costs one of its tries, as it does in a loop."""
        newest = self._answers[-1]
        # By the entries themselves, as a server may give its calls no ids.
        told = {id(one.call.source): one.reply for one in self._due if one.call.source is not None}
        replies = [told.get(id(call.source)) or CallReply(call, KEPT, is_error=False) for call in newest.calls]
        # What has no call in the newest answer is said in words: a missing call, an output, a call of an answer before.
        newly = {id(call.source) for call in newest.calls}
        others = [one for one in self._due if one.is_wrong and (not one.call.id or id(one.call.source) not in newly)]
        is_text = self._words is not None
        told_in_words = (replace(one.reply, call=replace(one.call, id="")) for one in others)
        replies += [replace(one, text=f"{IN_TEXT}\n\n{one.text}") if is_text else one for one in told_in_words]
        self._request = self._wire.continued(self._request, newest, replies)
        while True:
            self.report.asked += 1
            try:
                return await self._ask(self._request)
            except (RefusedByUpstreamError, UpstreamError) as error:
                failure = failure_of(error)
                if failure is None or not await self._may_wait(failure.reason, failure.retry_after, failure.is_final):
                    raise
                await asyncio.sleep(max(self._delay, failure.retry_after))

    async def _may_wait(self, reason: str, seconds: float, is_final: bool) -> bool:
        gives_up = is_final or seconds > LONGEST_DELAY
        wrong = [one for one in self._due if one.is_wrong and not (one.is_over or one.is_repeated)]
        for one in wrong:
            output = replace(self._output(one, {}, None), value=None, api_error=reason, gives_up=gives_up, failure=None)
            unasked = await self._contract.judge(output, self._details)
            one.tries += 1
            # A judge that takes over meanwhile knows nothing of the call, and counts it from one again each time.
            assert one.verdict is not None
            gives_up = gives_up or unasked.status is not Status.RETRY or one.tries >= one.verdict.max_attempts
        return not gives_up and bool(wrong)

    async def _take_over(self, answer: ModelAnswer) -> None:
        """Give each new call to the one that it mends: of the same tool first; what nobody waits for is a new one."""
        self._answers.append(answer)
        self._words = None
        waiting = [one for one in self._due if one.is_wrong and not one.is_over]
        kept = [one for one in self._due if not one.is_wrong]
        mended: dict[int, DueCall] = {}
        added: list[DueCall] = []
        for call in self._owed(answer):
            if any(call.name == one.call.name and call.arguments == one.call.arguments for one in kept if call.id):
                continue  # it was told to leave that one alone
            heir = next((one for one in waiting if one.call.name == call.name), waiting[0] if waiting else None)
            if heir is None:
                added.append(self._begun(call))
                continue
            waiting.remove(heir)
            # A call keeps its tool; what was no call, or of no tool, becomes whatever comes instead.
            same = heir.call.name == call.name or not self._contract.knows(heir.call.name)
            # With the verdict goes the call_id, and so the count; that of a repeated call, which was valid, has ended.
            goes_on = same and not heir.is_repeated
            if self._wire.begins_with_thoughts and not call.thoughts:
                call = replace(call, thoughts=heir.call.thoughts)
            mended[id(heir)] = DueCall(call, heir.verdict, tries=heir.tries) if goes_on else DueCall(call)
        await self._judge([*mended.values(), *added], answer)
        for one in waiting:  # the model has thought better of it
            if one.verdict is not None and not one.is_repeated:
                await self._contract.cancel(one.verdict.call_id)
        places = [mended.get(id(one), one) for one in self._due if not one.is_wrong or id(one) in mended]
        self._due = [*places, *added]
        await self._refuse_unmendable(replace(answer, unmendable="" if answer.choices else answer.unmendable))

    async def _is_helped(self) -> bool:
        """Wait for the people who were asked; tells whether one of them has moved a call on."""
        service, blocked = self._contract.service, [one for one in self._due if one.is_before_people]
        if service is None or self._wait <= 0 or not blocked:
            return False
        moved, until = False, asyncio.get_running_loop().time() + self._wait
        async with self._waiting():
            for one in blocked:
                assert one.verdict is not None
                left = max(until - asyncio.get_running_loop().time(), 0)
                guidance = await guidance_on(service, one.verdict.call_id, wait=left)
                if guidance is not None and guidance.decision is not None:
                    await self._follow(one, guidance)
                    moved = True
        return moved

    async def _follow(self, one: DueCall, guidance: Guidance) -> None:
        """Do what a person decided: what was corrected is judged like any attempt, and no model is asked for it."""
        assert one.verdict is not None
        assert guidance.decision is not None
        decision = guidance.decision
        one.words = guidance.text
        if decision.status is Status.BLOCKED:
            one.is_over = True
        elif not (decision.entry.takes_arguments or decision.entry.keeps_output):
            one.verdict = one.verdict.reopened(guidance.max_attempts)
        else:
            try:
                arguments = guidance.arguments
            except CorrectionError:  # it rests on what another process has sent: the model reads the words
                one.verdict = one.verdict.reopened(guidance.max_attempts)
                return
            if decision.entry.keeps_output:
                one.verdict, one.is_accepted = one.verdict.accepted(arguments), True
                return
            one.call = replace(one.call, arguments=arguments, source=None)
            await self._verdict_on(one, self._output(one, {}, None))

    def _end(self) -> Settled:
        newest = self._answers[-1]
        blocked = [one for one in self._due if one.is_blocked or one.is_wrong]
        # A model without a parser for its thoughts says them before its output or in its call, and a template leaves
        # its marks: what was judged without them arrives as JSON alone, for the agent reads nothing else.
        for one in self._due:
            written = one.call.arguments if isinstance(one.call.arguments, str) else ""
            if written.strip() and one.verdict and one.verdict.is_valid and parse_json(written)[1] is not None:
                if self._contract.enforces:
                    one.call = replace(one.call, arguments=json.dumps(one.verdict.value, ensure_ascii=False))
                    newest = replace(newest, is_rewritten=True)
                else:
                    self.report.outcome = "observed"
        is_rewritten = newest.is_rewritten and self._contract.enforces and not newest.choices
        is_accepted = any(one.is_accepted for one in self._due)
        is_changed = len(self._answers) > 1 or self._words is not None or any(one.words for one in self._due)
        if not (blocked or is_changed or is_rewritten):
            if self.report.outcome == "none" and self._due:
                is_judged = any(one.verdict for one in self._due)
                self.report.outcome = "accepted" if is_accepted else "valid" if is_judged else "unchecked"
            return Settled(newest)
        # What a person accepted was not made right, however many answers it took until they were asked.
        changed = "accepted" if is_accepted else "repaired" if len(self._answers) > 1 else "rescued"
        self.report.outcome = "blocked" if blocked else changed
        for one in blocked:
            if one.verdict is not None and one.is_before_people and self._contract.service is not None:
                self.report.call_ids.append(one.verdict.call_id)
                self._turn.conversation.wait_for(one.verdict.call_id, one.call.name)
        right = [one.call for one in self._due if one not in blocked]
        calls = tuple(call for call in right if call.id)
        text = "\n\n".join(map(self._farewell, blocked)) or next(
            (str(call.arguments) for call in right if not call.id),
            newest.text if self._words is None else self._words,
        )
        usage = summed([answer.body.get("usage") for answer in self._answers])
        return Settled(newest, FinalAnswer(newest, calls, text, usage, explains=bool(blocked)).with_own_ids())

    def _farewell(self, one: DueCall) -> str:
        """Say to whoever reads the conversation why it ends here; a person's words are for the model alone."""
        assert one.verdict is not None
        what = "The answer" if not one.call.id and one.call.absent is None else f"The call of tool '{one.call.name}'"
        found = (f"{error.error_code.value} at {error.field_path or '(root)'}" for error in one.verdict.errors)
        said = f"{what} was wrong {one.verdict.attempt} times ({', '.join(dict.fromkeys(found))}). {NOT_EXECUTED}"
        if self._contract.service is None or not one.is_before_people:
            return said
        asked = f"{said} A person has been asked (call {one.verdict.call_id})"
        return f"{asked}: send the conversation again for the answer."


def _not_asked_for(named: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{name}'" for name in named[:5]) + (" …" if len(named) > 5 else "")
    return f"a call of {'one of ' if len(named) > 1 else ''}{listed} is demanded here"

"""The audit trail is complete: whatever changes something says who did what, when and through which door."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyotp
import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

import retrycontract.usecases
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Call,
    Channel,
    Door,
    Event,
    Guidance,
    OutboxMessage,
    SavedReply,
    StandingHint,
    Tool,
)
from retrycontract.usecases.answers.deliver_answer import acknowledge_guidance, mark_delivered
from retrycontract.usecases.answers.reuse_answers import delete_reply, save_reply, set_hint_from, switch_off_hint
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.claim_call import claim_call, release_claim, snooze_call, wake_call
from retrycontract.usecases.calls.sweep import expire_overdue, forget_calls, tidy_queue
from retrycontract.usecases.counts.recount import rebuild_rollups
from retrycontract.usecases.notify.drain_outbox import drain_endpoints, drain_outbox, send_again
from retrycontract.usecases.notify.tend_endpoint import add_endpoint, change_endpoint, rotate_secret
from retrycontract.usecases.people.admit import (
    Role,
    admit_agent,
    admit_by_provider,
    admit_operator,
    change_operator,
    end_sessions,
    issue_key,
    rename_agent,
    revoke_key,
    withdraw_role,
)
from retrycontract.usecases.people.log_in import (
    LoginTry,
    begin_factor,
    begin_login,
    confirm_factor,
    finish_login,
    free_operator,
    note_failure,
    take_factor_away,
)
from retrycontract.usecases.reseal import know_keys, note_keys, reseal_all
from retrycontract.usecases.tools.register_tool import change_tool, release_version
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.serving.receivers import receiving
from tests.usecases.conftest import NOON, configure, judge_all

pytestmark = pytest.mark.django_db
BY: dict[str, Any] = {"now": NOON, "actor": "ada", "door": Door.ADMIN}
MIA = LoginTry("mia", "192.0.2.1")
Change = Callable[[Settings], object]
Told = tuple[str, str, str]


def agent() -> Agent:
    return make_agent(now=NOON)


def key() -> ApiKey:
    return ApiKey.create_for(agent(), NOON)[0]


def tool() -> Tool:
    return make_tool(agent())


def call() -> Call:
    return make_blocked(agent(), at=NOON)


def guidance() -> Guidance:
    return answer(call(), make_user(), at=NOON)


def come_by_provider(settings: Settings) -> None:
    configure(settings, oidc_issuer="https://id.example", oidc_roles=["*=viewer"])
    claims = {"sub": "u-1", "preferred_username": "noor"}
    admit_by_provider(claims, settings.RETRYCONTRACT, now=NOON, door=Door.DASHBOARD)


def queued(settings: Settings, output: Any = RIGHT, **changes: Any) -> None:
    tool()
    configure(settings, judge="worker", **changes)
    submit(agent(), output, at=NOON)


def crash(settings: Settings) -> None:
    queued(settings, max_deliveries=0)
    judge_all(now=NOON)


def lose_the_key(settings: Settings) -> None:
    queued(settings)
    configure(settings, encryption_keys=["0" * 43 + "="])
    judge_all(now=NOON)


def work(settings: Settings) -> None:
    queued(settings)
    judge_all(now=NOON)


def message(**fields: Any) -> OutboxMessage:
    return OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t", created_at=NOON, **fields)


def release(_: Settings) -> None:
    version = tool().versions.get()
    version.quarantine(NOON)
    release_version(version, **BY)


def fail_often(_: Settings) -> None:
    make_user()
    for _number in range(5):
        begin_login(MIA, now=NOON)
        note_failure(MIA, now=NOON, door=Door.DASHBOARD)


def free(settings: Settings) -> None:
    fail_often(settings)
    free_operator(User.objects.get(), **BY)


def endpoint(settings: Settings, address: str = "https://hooks.example/x") -> Any:
    configure(settings, allow_private_webhooks=True, webhook_timeout_seconds=5.0)
    return add_endpoint(address, list(WebhookEvent), **BY)[0]


def move_endpoint(settings: Settings) -> None:
    wanted = {"address": "https://other.example", "events": ["call.blocked"], "is_active": True}
    change_endpoint(endpoint(settings), wanted, **BY)


def give_up_an_endpoint(settings: Settings) -> None:
    with receiving() as receiver:
        receiver.status = 410
        endpoint(settings, receiver.url)
        call()
        drain_endpoints(now=NOON, clock=lambda: NOON, chance=lambda: 0.0)


def give_up_people(settings: Settings) -> None:
    configure(settings, notify_webhook_url="http://127.0.0.1:9/", allow_private_webhooks=True)
    call()
    for moment in (NOON, NOON + timedelta(days=8)):
        drain_outbox(now=moment, clock=lambda moment=moment: moment, chance=lambda: 0.0)  # type: ignore[misc]  # bound


def rename_operator(_: Settings) -> None:
    mia = make_user()
    mia.email = "mia@example.com"
    change_operator(mia, ["email"], Role.ADMIN, **BY)


def release_a_claim(_: Settings) -> None:
    blocked, mia = call(), make_user()
    claim_call(blocked, mia, now=NOON)
    release_claim(blocked, mia, now=NOON)


def snoozed() -> Call:
    blocked = call()
    snooze_call(blocked, make_user(), until=NOON + timedelta(hours=1), now=NOON)
    return blocked


def reply() -> SavedReply:
    return save_reply(make_user(), "Region", "Use eu-west-1.", now=NOON)


def hint() -> StandingHint:
    return set_hint_from(guidance(), User.objects.get(), now=NOON)


def confirmed_factor() -> User:
    mia = make_user()
    secret = begin_factor(mia, now=NOON).secret
    assert confirm_factor(mia, pyotp.TOTP(secret).at(NOON), now=NOON)
    return mia


def forget(_: Settings) -> None:
    cancel_call(call(), now=NOON)
    forget_calls(now=NOON + timedelta(days=91))


# Each function that opens a transaction, with a way to have it change something and what it must write down.
TABLE: list[tuple[str, Change, Told]] = [
    ("admit.admit_agent", lambda _: admit_agent("new", **BY), ("agent.admitted", "ada", "admin")),
    ("admit.rename_agent", lambda _: rename_agent(agent(), "new", **BY), ("agent.renamed", "ada", "admin")),
    ("admit.issue_key", lambda _: issue_key(agent(), **BY), ("key.issued", "ada", "admin")),
    ("admit.revoke_key", lambda _: revoke_key(key(), **BY), ("key.revoked", "ada", "admin")),
    ("admit.admit_operator", lambda _: admit_operator(User(username="new"), Role.VIEWER, **BY),
     ("operator.admitted", "ada", "admin")),
    ("admit._admitted", come_by_provider, ("operator.admitted", "provider", "dashboard")),
    ("admit._admitted", come_by_provider, ("operator.identity_linked", "noor", "dashboard")),
    ("admit._admitted", come_by_provider, ("operator.logged_in", "noor", "dashboard")),
    ("admit.change_operator", rename_operator, ("operator.changed", "ada", "admin")),
    ("admit.change_operator", rename_operator, ("operator.role_given", "ada", "admin")),
    ("admit.withdraw_role", lambda _: withdraw_role(make_user(), **BY), ("operator.role_taken", "ada", "admin")),
    ("admit.withdraw_role", lambda _: withdraw_role(make_user(), **BY), ("operator.logged_out", "ada", "admin")),
    ("cancel_call._cancel", lambda _: cancel_call(call(), now=NOON), ("call.cancelled", "deployer", "api")),
    ("claim_call.claim_call", lambda _: claim_call(call(), make_user(), now=NOON),
     ("call.claimed", "mia", "dashboard")),
    ("claim_call._end", release_a_claim, ("call.released", "mia", "dashboard")),
    ("register_tool.change_tool", lambda _: change_tool(tool(), {"hold": True}, **BY),
     ("tool.changed", "ada", "admin")),
    ("register_tool.release_version", release, ("version.released", "ada", "admin")),
    ("drain_outbox.drain_endpoints", give_up_an_endpoint, ("endpoint.gone", "sweep", "worker")),
    ("drain_outbox.drain_endpoints", give_up_an_endpoint, ("notification.given_up", "sweep", "worker")),
    ("drain_outbox._failed_on_channel", give_up_people, ("notification.given_up", "sweep", "worker")),
    ("admit.end_sessions", lambda _: end_sessions(make_user(), **BY), ("operator.logged_out", "ada", "admin")),
    ("sweep._forget_batch", forget, ("history.forgotten", "sweep", "worker")),
    ("give_guidance._give", lambda _: guidance(), ("guidance.given", "mia", "dashboard")),
    ("deliver_answer.mark_delivered", lambda _: mark_delivered(guidance(), now=NOON),
     ("guidance.delivered", "deployer", "api")),
    ("deliver_answer.acknowledge_guidance", lambda _: acknowledge_guidance(guidance(), now=NOON),
     ("guidance.acknowledged", "deployer", "api")),
    ("judge_attempt._finish", work, ("attempt.judged", "deployer", "worker")),
    ("judge_attempt._give_up", crash, ("attempt.dead", "deployer", "worker")),
    ("judge_attempt._give_up", crash, ("version.quarantined", "worker", "worker")),
    ("judge_attempt._send_again", lose_the_key, ("attempt.discarded", "deployer", "worker")),
    ("log_in.note_failure", fail_often, ("operator.locked_out", "login", "dashboard")),
    ("log_in.finish_login", lambda _: finish_login(MIA, make_user(), now=NOON, door=Door.DASHBOARD),
     ("operator.logged_in", "mia", "dashboard")),
    ("log_in.free_operator", free, ("operator.freed", "ada", "admin")),
    ("recount.rebuild_rollups", lambda _: rebuild_rollups(since=NOON, **BY), ("metrics.rebuilt", "ada", "admin")),
    ("register_tool._store", lambda _: tool(), ("tool.registered", "deployer", "api")),
    ("reseal.reseal_all", lambda _: reseal_all(**BY), ("keys.resealed", "ada", "admin")),
    ("reseal.know_keys", lambda _: know_keys(**BY), ("keys.noted", "ada", "admin")),
    ("reseal.note_keys", lambda _: note_keys("keys.made", known=2, **BY), ("keys.made", "ada", "admin")),
    ("reuse_answers.save_reply", lambda _: reply(), ("reply.added", "mia", "dashboard")),
    ("reuse_answers.delete_reply", lambda _: delete_reply(reply(), User.objects.get(), now=NOON),
     ("reply.deleted", "mia", "dashboard")),
    ("reuse_answers.set_hint", lambda _: hint(), ("hint.set", "mia", "dashboard")),
    ("reuse_answers.switch_off_hint", lambda _: switch_off_hint(hint(), User.objects.get(), now=NOON),
     ("hint.switched_off", "mia", "dashboard")),
    ("claim_call.snooze_call", lambda _: snoozed(), ("call.snoozed", "mia", "dashboard")),
    ("claim_call._end", lambda _: wake_call(snoozed(), User.objects.get(), now=NOON),
     ("call.woken", "mia", "dashboard")),
    ("sweep._clear", lambda _: (snoozed(), tidy_queue(now=NOON + timedelta(days=1))),
     ("call.woken", "sweep", "worker")),
    ("log_in.confirm_factor", lambda _: confirmed_factor(), ("operator.second_factor_on", "mia", "dashboard")),
    ("log_in.take_factor_away", lambda _: take_factor_away(confirmed_factor(), **BY),
     ("operator.second_factor_off", "ada", "admin")),
    ("drain_outbox.send_again", lambda _: send_again(message(delivered_at=NOON), **BY),
     ("message.sent_again", "ada", "admin")),
    ("submit_attempt._record", lambda _: submit(agent(), WRONG, at=NOON), ("attempt.judged", "deployer", "api")),
    ("submit_attempt._record", lambda _: call(), ("escalation.opened", "deployer", "api")),
    ("submit_attempt._record", lambda _: submit(agent(), RIGHT, call=call(), at=NOON),
     ("escalation.resolved", "deployer", "api")),
    ("submit_attempt._record_unasked",
     lambda _: (tool(), submit(agent(), None, api_error="overloaded", at=NOON)),
     ("attempt.unasked", "deployer", "api")),
    ("submit_attempt._queue", queued, ("attempt.queued", "deployer", "api")),
    ("sweep._is_expired", lambda _: (call(), expire_overdue(now=NOON + timedelta(days=8))),
     ("call.expired", "sweep", "worker")),
    ("tend_endpoint.add_endpoint", endpoint, ("endpoint.added", "ada", "admin")),
    ("tend_endpoint.change_endpoint", move_endpoint, ("endpoint.changed", "ada", "admin")),
    ("tend_endpoint.rotate_secret", lambda settings: rotate_secret(endpoint(settings), **BY),
     ("endpoint.secret_rotated", "ada", "admin")),
]  # fmt: skip
# What changes nothing that anybody would ask about.
QUIET = {
    "claim_call.renew_claim": "the same claim goes on",
    "admit.keep_preferences": "how an operator likes to see the desk",
    "log_in.begin_factor": "a secret that is asked for only once it is confirmed, which is told",
    "log_in.check_factor": "a code that was used; the login is told",
    "sweep.forget_answers": "counts of what worked, no history",
    "drain_outbox._begin": "a lease; each try has a row of its own",
    "drain_outbox._drain": "a lease, and the message keeps when it was delivered",
    "log_in.begin_login": "counts, and those that count no more; what follows from the count is told",
    "log_in.note_success": "failures that count no more; what the password was typed for is told",
    "recount.fold_rollups": "the same counts in fewer rows",
    "recount.sum_up_counts": "the same counts, summed up",
    "repeat_request._begin": "that an answer was begun, until it is there",
    "repeat_request.answer_in_steps": "what an answer was, for a day",
    "repeat_request.answer_once": "what an answer was, for a day",
    "repeat_request._forget_batch": "the same, after a day",
    "register_tool.import_tools": "registrations, each of which is told",
    "send_answer.send_answer": "an answer that is held for some seconds; that it was given is told",
    "send_answer.take_back": "the same answer, which nobody received",
    "probes._write": "the row of a probe",
    "sweep.index_calls": "where the words of calls are kept, to be searched",
    "sweep._index_batch": "the words of what is stored",
}


@pytest.mark.parametrize(("writer", "change", "told"), TABLE, ids=[f"{row[0]}: {row[2][0]}" for row in TABLE])
def test_what_changes_something_says_who_when_and_through_which_door(
    settings: Settings, writer: str, change: Change, told: Told
) -> None:
    change(settings)
    name, actor, door = told
    event = Event.objects.filter(name=name).latest("pk")
    assert (event.actor, event.door) == (actor, door), writer
    assert event.call_id or event.data, "it does not say what"


def test_every_use_case_that_writes_is_told_here() -> None:
    folder = Path(next(iter(retrycontract.usecases.__path__)))
    found = {writer for path in folder.rglob("*.py") for writer in writers(path.stem, path.read_text(encoding="utf-8"))}
    assert {writer for writer, _, _ in TABLE} | set(QUIET) == found


def test_a_use_case_that_nobody_told_of_would_be_found() -> None:
    source = "def quiet():\n    pass\n\ndef secretly():\n    with write_transaction():\n        pass\n"
    assert list(writers("change", source)) == ["change.secretly"]


def writers(module: str, source: str) -> Iterator[str]:
    """Name the functions of a module that open a transaction."""
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef) and "write_transaction()" in ast.unparse(function):
            yield f"{module}.{function.name}"

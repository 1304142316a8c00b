"""A process that dies directly before or after a commit, a ring or a verdict loses and doubles nothing.

The points are found while stories are told undisturbed. Then the service dies at one after the other, what was not
answered is repeated, and each story must leave the history of the first of its kind. `make chaos` has all points.
"""

from __future__ import annotations

import re
import time
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from retrycontract.contract.webhooks import WebhookEvent
from tests.services.storm import OUTPUTS, ask_sqlite
from tests.services.test_storm import SHARE
from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.receivers import Receiver, receiving
from tests.serving.scaled import ScaledService
from tests.serving.servers import PostgreSQL, Redis
from tests.serving.service import AgentClient, Answer, Service
from tests.serving.threads import eventually

pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(7_200)]

HANG = 300.0  # seconds; a hang guard

# Runs `manage.py`, the web process or Celery, and kills the process at the point that the file `armed` names.
CRASHING = r"""
import os, runpy, signal, sys
from datetime import timedelta
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
import django
django.setup()
from celery import Celery
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from kombu.message import Message
from redis.client import Pipeline, Redis
from retrycontract.usecases.calls import sweep
from retrycontract.usecases.notify import drain_outbox
PROGRAM, FOLDER, ROOT = sys.argv[1], Path(os.environ["CRASH_FOLDER"]), Path.cwd()
ROLES = {"manage": "service", "retrycontract": "web", "celery": "worker"}
OURS, SHARED = ("retrycontract", "dashboard", "worker"), {"store", "preconditions.py"}
if PROGRAM == "celery":
    os.setsid()  # what its pool is told from it by, and ends with it by
drain_outbox.LEASE = timedelta(seconds=2)  # a minute, by which a dead sender would keep the next points waiting
def use_case():
    # Who commits, and for whom; what all of them go through says nothing.
    frame, names = sys._getframe(2), {}
    while frame and len(names) < 2:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and path.parts[len(ROOT.parts)] in OURS and not SHARED & set(path.parts):
            line = "" if names else f":{frame.f_lineno}"
            names.setdefault(path, f"{path.parent.name}/{path.stem}.{frame.f_code.co_name}{line}")
        frame = frame.f_back
    return " for ".join(names.values())
def reach(at):
    role = "pool" if PROGRAM == "celery" and os.getpgrp() != os.getpid() else ROLES[PROGRAM]
    with (FOLDER / "reached").open("a") as reached:
        reached.write(f"{role}: {at}\n")
    try:
        if (FOLDER / "armed").read_text() == f"{role}: {at}":
            (FOLDER / "armed").rename(FOLDER / "died")  # of several threads one can
            os.killpg(0, signal.SIGKILL) if role == "worker" else os.kill(os.getpid(), signal.SIGKILL)
    except FileNotFoundError:
        pass
def watch(owner, name, what, is_meant=lambda *_: True, by=""):
    original = getattr(owner, name)
    def watched(*arguments, **named):
        if not is_meant(*arguments) or not (at := by or use_case()):
            return original(*arguments, **named)
        reach(f"{at} before {what}")
        result = original(*arguments, **named)
        reach(f"{at} after {what}")
        return result
    setattr(owner, name, watched)
def is_transaction(cursor, sql, *_):
    return not cursor.db.in_atomic_block and sql.lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE")
watch(BaseDatabaseWrapper, "_commit", "commit")
watch(CursorWrapper, "execute", "statement", is_transaction)
for owner, name in ((Redis, "publish"), (Pipeline, "execute"), (Celery, "send_task")):
    watch(owner, name, "publishing")
for name in ("judge_or_leave", "_judge_together"):
    watch(sweep, name, "work")
watch(Message, "ack", "acknowledgement", by="celery")
sys.argv = sys.argv[1:]
runpy.run_module(PROGRAM, run_name="__main__", alter_sys=True)
"""
ENVIRONMENT = {
    "RETRYCONTRACT_SWEEP_SECONDS": "0.2", "RETRYCONTRACT_LEASE_SECONDS": "4", "RETRYCONTRACT_CLAIM_MINUTES": "0.01",
    "RETRYCONTRACT_ANSWER_HOLD_SECONDS": "1", "RETRYCONTRACT_NOTIFY_PAUSE_SECONDS": "0",
    "RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS": "1", "RETRYCONTRACT_DOOR_MAX_BYTES": "1000",
    "RETRYCONTRACT_WORK_SECONDS_PER_MINUTE": "0", "RETRYCONTRACT_MAX_DELIVERIES": "1000",  # no output is to blame
}  # fmt: skip


@dataclass
class CrashingService(Service):
    """One process that can be told at which point it dies."""

    def _manage(self, command: str) -> list[str]:
        return forked("-c", CRASHING, "manage", command) if command == "up" else super()._manage(command)

    def restart(self, role: str) -> None:
        """Start again what has died."""
        assert self.process, role
        self.process.wait(HANG)
        self.start()

    def ask(self, question: str) -> Any:
        """Ask the database for rows."""
        if url := self.environment.get("RETRYCONTRACT_DATABASE_URL"):
            with psycopg.connect(url) as connection:
                return connection.execute(question.encode()).fetchall()
        return ask_sqlite(self.data_dir, question, whole=True)


@dataclass
class CrashingScaledService(CrashingService, ScaledService):
    """A web process and a worker that can be told so, too."""

    webs: int = 1

    def _start(self, *command: str) -> Any:
        return super()._start(*forked("-c", CRASHING, *command[command.index("-m") + 1 :]))

    def restart(self, role: str) -> None:
        if role != "pool":  # of which Celery itself starts another process
            processes = self.web_processes if role == "web" else self.worker_processes
            processes[0].wait(HANG)
            (self.restart_web if role == "web" else self.restart_worker)(0)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "pad": {"type": "string"}}, "required": ["n"]}
WRONG, _, RIGHT = OUTPUTS
# The kinds of stories, each with the state that it ends in: of an agent alone, and with an operator.
ALONE = {"mended": "valid", "dear": "valid", "cancelled": "cancelled", "expired": "expired"}
WITH_OPERATOR = {"claimed": "valid", "answered": "valid", "taken_back": "valid"}


@dataclass
class Stories:
    """One story of each kind, told by an agent and an operator who repeat what was not answered."""

    service: CrashingService
    agent: AgentClient
    has_keys: bool = True
    patience: float = HANG
    desk: Future[Desk] | None = None

    def mended(self, name: str) -> str:
        return [self.attempt(name, turn, output) for turn, output in enumerate(OUTPUTS)][-1]

    def dear(self, name: str) -> str:
        """Fail to ask the model, then be right with what is judged in a child process."""
        self.attempt(name, 0, None, api_error="the model's server was too busy")
        return self.attempt(name, 1, RIGHT | {"pad": "x" * 4_000})

    def cancelled(self, name: str) -> str:
        call_id = self.blocked(name)
        self.send("POST", f"/calls/{call_id}/cancel", {}, key=f"{name}-cancel")
        return call_id

    def expired(self, name: str) -> str:
        return str(self.waited(self.blocked(name, expires_after="1s"))["call_id"])

    def claimed(self, name: str) -> str:
        """Be taken on by an operator who does nothing, then be right."""
        call_id = self.blocked(name)
        of_call = f"JOIN retrycontract_call c ON c.id = call_id WHERE public_id = '{call_id}'"
        events = f"SELECT name FROM retrycontract_event {of_call}"
        claim, form = f"/calls/{call_id}/claim/", {"action": "claim"}
        # Who sees no page until the claim has run out would else make another one.
        self.operate(lambda desk: "" if ("call.claimed",) in self.service.ask(events) else desk.post(claim, form))
        eventually(lambda: ("claim.expired",) in self.service.ask(events), within=HANG)
        return self.attempt(name, 1, RIGHT, call_id=call_id)

    def answered(self, name: str, undo: str = "") -> str:
        call_id = self.blocked(name)
        page = self.operate(lambda desk: desk.answer(call_id, text="Give nothing.")) if undo else ""
        if undo and (found := re.search(undo, page)):
            page = self.operate(lambda desk: desk.post(found[1], {}))
        self.operate(lambda desk: desk.answer(call_id, text="Give a number."))
        told = self.waited(call_id)["guidance"]["operator_text"]
        assert told == "Give a number." or "Give nothing.</textarea>" not in page, "given, and shown as taken back"
        self.send("POST", f"/calls/{call_id}/guidance/ack", {}, key=f"{name}-ack")
        return self.attempt(name, 1, RIGHT, call_id=call_id)

    def taken_back(self, name: str) -> str:
        """Be answered by an operator who takes it back and answers otherwise."""
        return self.answered(name, undo=r'action="(/undo/[^"]+)"')

    def blocked(self, name: str, **settings: Any) -> str:
        return self.attempt(name, 0, WRONG, settings={"max_attempts": 1, **settings})

    def waited(self, call_id: str) -> Any:
        return self.send("GET", f"/calls/{call_id}/wait?for=guidance").body

    def attempt(self, name: str, turn: int, arguments: Any, settings: Any = None, **fields: Any) -> str:
        if turn == 0:
            self.send("PUT", f"/tools/{name}", {"input_schema": SCHEMA, **(settings or {})})
        body = {"tool": name, "tool_call_id": name, "session_id": name, "arguments": arguments, **fields}
        return str(self.send("POST", "/calls", body, key=f"{name}-{turn}").body["call_id"])

    def send(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        """Send a request until it is answered; when patience is over, an answer that it is waited for will do."""
        headers = {"Prefer": "wait=2"} | ({"Idempotency-Key": key} if key and self.has_keys else {})
        end = time.monotonic() + self.patience

        def sent() -> Answer | None:
            answer = self.agent.send(method, path, body, headers=headers, timeout=20)
            assert answer.status in (200, 201, 202, 429, 503), answer.text
            return answer if answer.status < 202 or (answer.status == 202 and time.monotonic() > end) else None

        return self.insist(sent)

    def log_in(self) -> Desk | None:
        desk = Desk(self.service)
        with suppress(AssertionError):  # after many log-ins that were cut off nobody is let in for a moment
            desk.log_in()
            return desk
        return None

    def operate(self, act: Callable[[Desk], str]) -> Any:
        """Do something at the desk until a page comes; where its form is gone, it was done."""
        assert self.desk
        desk = self.desk.result()
        try:
            return self.insist(lambda: act(desk))
        except StopIteration:
            return ""

    def insist(self, act: Callable[[], Any]) -> Any:
        """Do something until it is answered, however often the service dies meanwhile."""
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            with suppress(OSError, HTTPException):
                if (given := act()) is not None:
                    return given
            time.sleep(0.05)
        raise AssertionError("this was never answered")


# What is known of each call: events, attempts, escalations, answers, and the state.
HISTORIES = """
WITH known(call_id, what) AS (
  SELECT call_id, name FROM retrycontract_event UNION ALL SELECT id, 'call ' || state FROM retrycontract_call
  UNION ALL SELECT call_id, 'attempt ' || state FROM retrycontract_attempt
  UNION ALL SELECT call_id, 'escalation ' || state FROM retrycontract_escalation
  UNION ALL SELECT call_id, 'guidance ' || decision FROM retrycontract_guidance
) SELECT public_id, what, count(*) FROM known JOIN retrycontract_call c ON c.id = call_id GROUP BY 1, 2
"""


@dataclass
class Crashes:
    """A service that dies at points while stories are told, and what became of each."""

    service: CrashingService
    receiver: Receiver
    folder: Path
    pool: ThreadPoolExecutor
    groups: tuple[dict[str, str], ...]
    stories: Callable[[], Stories]
    rounds: list[dict[str, Future[str]]] = field(default_factory=list)  # the call of each story by its kind
    died: dict[int, str] = field(default_factory=dict)  # in which round at which point

    def begin(self, kinds: dict[str, str]) -> None:
        """Begin a story of each of these kinds, each at a desk of its own: its pages tell what was sent from it."""
        name, stories = f"-{len(self.rounds)}", {kind: self.stories() for kind in kinds}
        for each in (stories[kind] for kind in kinds.keys() & WITH_OPERATOR):
            each.desk = self.pool.submit(each.insist, each.log_in)
        self.rounds.append({kind: self.pool.submit(getattr(stories[kind], kind), kind + name) for kind in kinds})

    def find_points(self) -> dict[str, dict[str, str]]:
        """Find the points that stories reach, and their kinds; the first round reaches some that come only once."""
        points = dict[str, dict[str, str]]()
        for group in (dict(ChainMap(*self.groups)), *self.groups):
            (self.folder / "reached").write_text("")
            self.begin(group)
            eventually(self.is_over, within=HANG)
            if group in self.groups:
                points = dict.fromkeys((self.folder / "reached").read_text().splitlines(), group) | points
        return dict(sorted(points.items()))

    def is_over(self) -> bool:
        """Tell whether the stories of a round have ended, and people and systems were told of all."""
        untold = "SELECT id FROM retrycontract_outboxmessage WHERE delivered_at IS NULL"
        return all(story.done() for story in self.rounds[-1].values()) and not self.service.ask(untold)

    def die_at(self, point: str, kinds: dict[str, str]) -> bool:
        """Tell stories, end the service at a point and start it again; False where no story came there."""
        armed, died = self.folder / "armed", self.folder / "died"
        armed.write_text(point)
        self.begin(kinds)
        while armed.exists() and not self.is_over():
            time.sleep(0.02)
        armed.unlink(missing_ok=True)
        if died.exists():
            died.unlink()
            self.died[len(self.rounds) - 1] = point
            self.service.restart(point.partition(":")[0])
        return len(self.rounds) - 1 in self.died

    def check(self) -> tuple[int, int]:
        """Count the stories that lack something of the first of their kind, and those that have more than it."""
        calls = {call.result(): (kind, n) for n, told in enumerate(self.rounds) for kind, call in told.items()}
        eventually(self.is_over, within=HANG)
        histories = defaultdict[str, Counter[str]](Counter)
        for call_id, what, times in self.service.ask(HISTORIES):
            histories[call_id][what] = times
        for post in self.receiver.taken:
            if "type" in post.body:  # the others are for people
                histories[post.body["data"]["call_id"]][f"told {post.body['type']}"] += 1
        first = {kind: histories[story.result()] for kind, story in self.rounds[0].items()}
        assert all(first[kind][f"call {state}"] for group in self.groups for kind, state in group.items()), first
        lost = doubled = 0
        for call_id, history in histories.items():
            kind, number = calls.get(call_id, ("unknown", 0))
            missing, extra = first.get(kind, Counter()) - history, history - first.get(kind, Counter())
            lost, doubled = lost + bool(missing), doubled + bool(extra and not missing)
            if missing or extra:
                print(f"{kind}-{number}, {self.died.get(number)}: {missing=} {extra=}")
        return lost, doubled


@contextmanager
def crashing(service: CrashingService, folder: Path, *groups: dict[str, str], **options: Any) -> Iterator[Crashes]:
    """Start a service that can be told where to die, and that tells people and an endpoint of everything."""
    folder.mkdir()
    with receiving() as receiver:
        told = {"RETRYCONTRACT_NOTIFY_WEBHOOK_URL": receiver.url, "CRASH_FOLDER": str(folder)}
        service.environment = ENVIRONMENT | told | service.environment
        with running(service), ThreadPoolExecutor(24) as pool:
            desk, events = Desk(service), [event.value for event in WebhookEvent]
            desk.log_in("ada", service.new_operator("ada", "admin"))
            form: dict[str, str | list[str]] = {"agent": "", "address": receiver.url, "events": events}
            desk.submit("/settings/webhooks/new/", "address", form)
            stories = partial(Stories, service, AgentClient(service, service.new_key("crashing")), **options)
            yield Crashes(service, receiver, folder, pool, groups, stories)


def die_at_a_share(service: CrashingService, folder: Path) -> None:
    """Have a service die at as many of its points as the run is to have, the same each time."""
    with crashing(service, folder, ALONE, WITH_OPERATOR) as crashes:
        points = crashes.find_points()
        chosen = Random(7).sample([*points.items()], max(8, round(len(points) * SHARE)))
        missed = [point for point, kinds in chosen if not any(crashes.die_at(point, kinds) for _ in range(2))]
        (lost, doubled), stories, died = crashes.check(), sum(map(len, crashes.rounds)), len(crashes.died)
        print(f"\npoints={len(points)} chosen={len(chosen)} {died=} {missed=} {stories=} {lost=} {doubled=}")
        assert (lost, doubled) == (0, 0)
        assert len(points) >= 25
        assert len(missed) <= len(chosen) // 8, "some are a matter of time, and only some"


def die_after(commit: str, service: CrashingService, folder: Path, kind: str, **options: Any) -> tuple[int, int]:
    """Have a service die directly after a commit, in a story of one kind."""
    with crashing(service, folder, {kind: "valid"}, **options) as crashes:
        found = crashes.find_points().items()
        ((point, kinds),) = (each for each in found if commit in each[0] and each[0].endswith("after commit"))
        assert crashes.die_at(point, kinds)
        return crashes.check()


def test_one_process_that_dies_at_any_point_loses_and_doubles_nothing(tmp_path: Path) -> None:
    die_at_a_share(CrashingService(tmp_path / "data"), tmp_path / "crashes")


def test_a_web_process_or_a_worker_that_dies_at_any_point_loses_and_doubles_nothing(
    tmp_path: Path, postgresql: PostgreSQL, redis: Redis
) -> None:
    environment = {"RETRYCONTRACT_DATABASE_URL": postgresql.new_database(), "RETRYCONTRACT_JUDGE": "worker",
                   "RETRYCONTRACT_REDIS_URL": redis.new_database()}  # fmt: skip
    die_at_a_share(CrashingScaledService(tmp_path / "data", environment), tmp_path / "crashes")


def test_without_the_sweep_a_process_that_dies_loses_work(tmp_path: Path) -> None:
    asleep = CrashingService(tmp_path / "data", {"RETRYCONTRACT_SWEEP_SECONDS": "0"})
    assert die_after("submit_attempt._queue", asleep, tmp_path / "crashes", "dear", patience=10.0) == (1, 0)


def test_without_keys_what_is_repeated_after_a_death_is_doubled(tmp_path: Path) -> None:
    service = CrashingService(tmp_path / "data")
    assert die_after("submit_attempt._record", service, tmp_path / "crashes", "mended", has_keys=False) == (0, 1)

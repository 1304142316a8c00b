"""Functions that a client guards: what is wrong is answered, what is right is run, once, with the function's types."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
import threading
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from examples import guarded_tools
from retrycontract.client import (
    AsyncClient,
    Client,
    NoConversationError,
    Settlement,
    ToolDeclarationError,
    VerdictPendingError,
)
from retrycontract.contract.errors import WrongInputError
from tests.client.flavours import FLAVOURS
from tests.client.scripted import KEY, PENDING, URL, VALID, answer
from tests.serving.desk import Desk
from tests.serving.service import ROOT, AgentClient, Service
from tests.serving.threads import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Scripted


def awake(day: date) -> date:
    if day.year < 2020:
        raise ValueError("that day is gone")
    return day


class Guest(BaseModel):
    name: str
    age: int = 30


Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # by place, by name


class Agent:
    """One guarded function behind both clients; `ran` holds what it was run with."""

    def __init__(self, flavour: str, service: Service, key: str) -> None:
        self.flavour, self.agent = flavour, AgentClient(service, key)
        self.ran: list[tuple[str, date, Guest]] = []
        self.url, self.key = service.url, key

    def book(self, *conversations: list[Given], timeout: float = 0) -> list[list[Any]]:
        """Make the calls of conversations, step by step, and give what came back in each."""

        def book(origin: Airport, day: Annotated[date, AfterValidator(awake)], guest: Guest) -> str:
            """Book a flight."""
            self.ran.append((origin, day, guest))
            return f"booked {origin}"

        async def book_soon(origin: Airport, day: Annotated[date, AfterValidator(awake)], guest: Guest) -> str:
            """Book a flight."""
            return book(origin, day, guest)

        told: list[list[Any]] = [[] for _ in conversations]
        steps = [(at, *step) for turn in zip(*conversations, strict=True) for at, step in enumerate(turn)]
        if self.flavour == "sync":
            with Client(self.url, self.key) as client:
                call, sessions = client.guard(timeout=timeout)(book), [client.session() for _ in conversations]
                for at, positional, named in steps:
                    with sessions[at]:
                        told[at].append(call(*positional, **named))
                return told

        async def soon() -> None:
            async with AsyncClient(self.url, self.key) as client:
                call, sessions = client.guard(timeout=timeout)(book_soon), [client.session() for _ in conversations]
                assert inspect.iscoroutinefunction(call)
                for at, positional, named in steps:
                    with sessions[at]:
                        told[at].append(await asyncio.create_task(call(*positional, **named)))  # type: ignore[arg-type]

        asyncio.run(soon())
        return told

    @property
    def calls(self) -> list[Any]:
        """List the calls, the newest first, with their histories."""
        listed = self.agent.send("GET", "/calls").body["calls"]
        return [self.agent.send("GET", f"/calls/{call['call_id']}").body for call in listed]


@pytest.fixture
def agent(service: Service, flavour: str, request: pytest.FixtureRequest) -> Agent:
    return Agent(flavour, service, service.new_key(re.sub(r"\W", "-", request.node.name)))


NAMED: dict[str, Any] = {"origin": "ZRH", "day": "2027-03-14", "guest": {"name": "Ann"}}
RIGHT: Given = ((), NAMED)
WRONG: Given = ((), NAMED | {"origin": "Zurich"})
BOOKED = ("ZRH", date(2027, 3, 14), Guest(name="Ann"))


def test_a_wrong_call_is_answered_and_the_next_one_is_run_with_the_functions_own_types(agent: Agent) -> None:
    [[told, done]] = agent.book([WRONG, RIGHT])
    assert told.startswith("Validation failed for tool 'book")
    assert "/origin (VAL-007)" in told
    assert (done, agent.ran) == ("booked ZRH", [BOOKED])
    [call] = agent.calls
    assert (call["state"], len(call["attempts"])) == ("valid", 2)


@pytest.mark.parametrize("is_in_turns", [True, False])
def test_parallel_calls_that_were_wrong_are_gone_on_with_in_their_order(agent: Agent, is_in_turns: bool) -> None:
    steps = [[{"seats": "many"}, {"seats": "few"}], [{"seats": "more"}, {"seats": 2}], [{"seats": 1}]]
    told: list[Any] = []

    def book(seats: int) -> str:
        return f"booked {seats}"

    async def book_soon(seats: int) -> str:
        return book(seats)

    async def soon() -> None:
        async with AsyncClient(agent.url, agent.key) as client:
            call = client.guard(book_soon)
            with client.session() as session:
                for number, step in enumerate(steps):
                    with session.turn() if is_in_turns or not number else session:
                        told.extend([await call(**given) for given in step])

    if agent.flavour == "sync":
        with Client(agent.url, agent.key) as client, client.session() as session:
            call = client.guard(book)
            for number, step in enumerate(steps):
                with session.turn() if is_in_turns or not number else session:
                    told.extend(call(**given) for given in step)
    else:
        asyncio.run(soon())
    assert ["1/3" in told[0], "1/3" in told[1], "2/3" in told[2]] == [True] * 3
    assert told[3:] == ["booked 2", "booked 1"]
    assert sorted(len(call["attempts"]) for call in agent.calls) == [2, 3]


def test_what_is_given_by_place_and_by_wrong_names_is_checked_like_anything_else(agent: Agent) -> None:
    [[told, done]] = agent.book([((), NAMED | {"seat": "1a"}), (BOOKED, {})])
    assert "/seat (VAL-005)" in told
    assert (done, agent.ran) == ("booked ZRH", [BOOKED])


def test_the_words_of_a_functions_own_validator_reach_the_model(agent: Agent) -> None:
    [[told]] = agent.book([((), NAMED | {"day": "1999-01-01"})])
    assert "/day (VAL-015): that day is gone" in told
    assert agent.ran == []


def test_conversations_that_take_turns_are_counted_apart(agent: Agent) -> None:
    first, second = agent.book([WRONG, RIGHT], [WRONG, WRONG])
    assert [text.startswith("booked") for text in (*first, *second)] == [False, True, False, False]
    assert "(attempt 2/3)" in second[1]
    assert sorted((call["state"], len(call["attempts"])) for call in agent.calls) == [("retrying", 2), ("valid", 2)]


def test_what_a_person_corrects_is_run(agent: Agent, service: Service) -> None:
    def correct() -> None:
        eventually(lambda: any(call["state"] == "blocked" for call in agent.calls), within=60)
        desk = Desk(service)
        desk.log_in()
        right = '{"origin": "ZRH", "day": "2027-03-14", "guest": {"name": "Ann"}}'
        desk.answer(agent.calls[0]["call_id"], decision="corrected", arguments=right)

    person = threading.Thread(target=correct)
    person.start()
    [told] = agent.book([WRONG] * 3, timeout=60)
    person.join(60)
    assert told[2] == "booked ZRH"
    assert agent.ran == [BOOKED]


def test_the_example_gets_stuck_is_helped_and_finishes(service: Service) -> None:
    key = service.new_key("guarded-example")
    agent = AgentClient(service, key)

    def help_it() -> None:
        eventually(lambda: bool(agent.send("GET", "/calls?state=blocked").body["calls"]), within=60)
        desk = Desk(service)
        desk.log_in()
        desk.answer(agent.send("GET", "/calls?state=blocked").body["calls"][0]["call_id"], text="Write ZRH.")

    person = threading.Thread(target=help_it)
    person.start()
    with Client(service.url, key) as client:
        assert guarded_tools.run(client) == "The flight from ZRH to LHR is booked in business."
    person.join(60)


def test_whoever_is_not_answered_in_time_lets_the_model_read_so(agent: Agent) -> None:
    [told] = agent.book([WRONG] * 3)
    assert "This call is now Blocked" in told[2]
    assert agent.ran == []


def test_outside_of_a_conversation_nothing_is_submitted(flavour: str) -> None:
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError(amount)

    guarded: Any = FLAVOURS[flavour](URL, KEY).guard(pay)  # nobody listens there
    assert (guarded.__name__, guarded.__doc__, inspect.signature(guarded)) == ("pay", "Pay.", inspect.signature(pay))
    with pytest.raises(NoConversationError, match=r"with client\.session\(\)"):
        asyncio.run(guarded(amount=1))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_a_model_could_not_call_is_refused_before_anything_is_registered(flavour: str) -> None:
    client = FLAVOURS[flavour](URL, KEY)  # nobody listens there

    def same(a: int) -> int:
        return a

    class Desk:
        def same(self, a: int) -> int:
            return a

    async def made() -> None:
        found: Any = client.guard_tools([same, Desk().same])
        assert inspect.isawaitable(found)
        await found

    with pytest.raises(WrongInputError, match="'same' is the name of 2 functions"):
        asyncio.run(made())
    with pytest.raises(WrongInputError, match=r"guard that of an object, as in guard\(thing\.same\)"):
        client.guard(Desk.same)


def test_two_functions_of_one_name_are_told_apart_or_refused(service: Service) -> None:
    def of(kind: type) -> Any:
        def pay(amount: Any) -> str:
            return f"paid {amount!r}"

        pay.__annotations__["amount"] = kind
        return pay

    with Client(service.url, service.new_key("guarding-names")) as client, client.session():
        whole, again, words = client.guard(of(int)), client.guard(of(int)), client.guard(of(str))
        assert (whole(1), again(2)) == ("paid 1", "paid 2")
        with pytest.raises(ToolDeclarationError, match="another function of this name with other parameters"):
            words("one")
        with pytest.raises(ToolDeclarationError, match="pay"):
            client.guard_tools([of(str)])
        assert whole(3) == "paid 3", "it is still judged by its own schema"
        del whole, again  # as when a notebook's cell defines the function anew
        assert words("one") == "paid 'one'"


def test_a_value_that_no_model_could_write_is_named_with_its_place(service: Service) -> None:
    def look(path, depth=1):  # type: ignore[no-untyped-def]
        return f"looked at {path}"

    endless: list[Any] = []
    endless.append(endless)
    with Client(service.url, service.new_key("guarding-values")) as client, client.session():
        guarded = client.guard(look)
        for value, kind in ((object(), "object"), (b"\xff", "bytes"), (endless, "list"), ({1: object()}, "dict")):
            with pytest.raises(WrongInputError, match=rf"'look' was given as 'depth' a value .* \({kind}\): .* wrote"):
                guarded("a", depth=value)
        assert guarded("a", 2) == "looked at a"


def test_a_list_is_registered_at_once_and_what_is_refused_is_named(service: Service) -> None:
    def pay(amount: int) -> int:
        return amount

    def wait(days: int) -> int:
        return days

    def look(path: Annotated[str, Field(json_schema_extra={"pattern": "(a"})]) -> str:
        return path

    with Client(service.url, service.new_key("guarding-a-list")) as client:
        pay_it, wait_it = client.guard_tools([pay, wait], timeout=0)
        assert {tool.name for tool in client.tools()} == {"pay", "wait"}
        with client.session():
            assert (pay_it(amount=3), wait_it(days=2)) == (3, 2)
            assert "VAL-002" in pay_it(amount="three")
        with pytest.raises(TypeError, match="let an AsyncClient guard it"):
            client.guard(asyncio.sleep)
        for silent in (int, max):
            with pytest.raises(ToolDeclarationError, match="it does not tell its arguments"):
                client.guard(silent)
        with pytest.raises(ToolDeclarationError, match="look"):
            client.guard_tools([look])


def test_what_settle_gives_lacks_nothing(scripted: Scripted) -> None:
    service = scripted(answer(202, PENDING), answer(200, VALID))
    with service.client() as client:
        settled = client.settle("open", "t1", {"mode": "read"})
    assert isinstance(settled, Settlement)
    told = settled.tool_result
    assert (settled.status, told.content, told.is_error) == ("valid", "The call is valid.", False)
    service = scripted(answer(202, PENDING))
    advice = r"call-1 has no verdict yet: run nothing\. client\.wait_for_verdict\('call-1'\) asks on"
    with service.client() as client, pytest.raises(VerdictPendingError, match=advice):
        client.settle("open", "t1", {}, wait=1, timeout=1)


LOOP = """
from retrycontract.client import Client, Settlement


def run(client: Client, messages: list[dict[str, str]], model: str) -> str:
    session = client.session()
    while True:
        outcome: Settlement[dict[str, str]] = session.settle("book_flight", f"c{len(messages)}", model)
        if outcome.status == "valid":
            return outcome.arguments["origin"].upper()
        messages.append(outcome.tool_result.render("openai"))
        if outcome.status == "blocked":
            return outcome.tool_result.content


def model(messages: list[dict[str, str]]) -> dict[str, str]:
    return messages[-1]


def book_flight(origin: str) -> str:
    return origin


client = Client()


@client.guard
def book(origin: str) -> int:
    return len(origin)


reveal_type(book)


def read_me(client: Client, messages: list[dict[str, str]]) -> str:
"""


@pytest.mark.soak
def test_the_loop_passes_strict_types(tmp_path: Path) -> None:
    path, readme = tmp_path / "loop.py", (ROOT / "README.md").read_text(encoding="utf-8")
    path.write_text(
        LOOP + next(block for block in readme.split("```python\n") if "session.settle(" in block).partition("```")[0]
    )
    # Silent about the package itself, which is no installed one here.
    options = ("--strict", "--follow-imports=silent", "--config-file", "")
    command = [sys.executable, "-m", "mypy", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "def (origin: str) -> int | str" in done.stdout

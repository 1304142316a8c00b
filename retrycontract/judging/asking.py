"""Ask a judge in an event loop: for a verdict, and for a person without letting the client lose patience."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio

from retrycontract.client import (
    ClientError,
    Guidance,
    NotAuthenticatedError,
    RefusedError,
    UnavailableError,
    UnreachableError,
)
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.tracker import UnknownCallError
from retrycontract.judging import Judge, ModelOutput, NotJudgedError, Verdict
from retrycontract.judging.judge import Steps, drive_async

if TYPE_CHECKING:  # it loads what only who asks a service needs
    from retrycontract.client import AsyncClient

TICK = 5.0  # seconds between signs of life; clients give up after 30 to 60 without one
PAUSE = 1.0  # second between two questions that a service cannot answer at the moment
PATIENCE = 5.0  # seconds; a restart of the service takes a few, and clients give up after 30 to 60
ENDED = frozenset({"call-ended", "call-not-found"})

Tick = Callable[[], Awaitable[None]]
T = TypeVar("T")

logger = logging.getLogger("retrycontract.judging")


class CallNotOpenError(LookupError):
    """Raised for a `call_id` that takes no more attempts; without it a new call begins."""


class NoVerdictError(Exception):
    """Raised when the judge could not be asked; says why, in words that may reach the model.

    `may_pass` tells that the service may answer in a moment.
    """

    def __init__(self, reason: str, *, may_pass: bool = False) -> None:
        self.may_pass = may_pass
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class ClientPatience:
    """Say how long a client waits, until when on the event loop's clock, and what tells it that we are still there."""

    seconds: float
    until: float
    tick: Tick

    @classmethod
    def of(cls, seconds: float, tick: Tick) -> ClientPatience:
        """Begin to wait now."""
        return cls(seconds, anyio.current_time() + seconds, tick)

    @property
    def left(self) -> float:
        return max(self.until - anyio.current_time(), 0)


async def settled(steps: Steps[T]) -> T:
    """Take a judge's steps; raises CallNotOpenError and NoVerdictError, whose causes are for the log only."""
    try:
        return await drive_async(steps)
    except UnknownCallError as error:
        raise CallNotOpenError(error.call_id) from error
    except RefusedError as error:
        if error.code in ENDED:
            raise CallNotOpenError(error.detail) from error
        may_pass = isinstance(error, UnavailableError)
        raise NoVerdictError(
            f"the service says {error.code or error.status}: {error.told}", may_pass=may_pass
        ) from error
    except ClientError as error:
        logger.warning("Cannot ask the service: %s", error)
        if isinstance(error, UnreachableError):
            raise NoVerdictError("the service cannot be reached.", may_pass=True) from error
        raise NoVerdictError("the service answers not as retrycontract does.") from error
    except NotJudgedError as error:
        raise NoVerdictError(f"{error}.") from error
    except ValueError as error:
        if "integer string conversion" in str(error):  # Python writes no such number
            raise NoVerdictError("it holds a number that is too long to be sent.") from error
        logger.warning("Cannot ask for a verdict: %s", error)
        raise NoVerdictError("the check itself has failed; the log says why.") from error


def service_at(url: str | None, key_in: str) -> AsyncClient | None:
    """Make the client of the service that `--url` names, if any; raises WrongInputError where `key_in` holds no key."""
    if not url:
        return None
    from retrycontract.client import AsyncClient, MissingKeyError

    try:
        return AsyncClient(url, patience=PATIENCE)
    except MissingKeyError as error:
        raise WrongInputError(f"--url needs the agent's key in {key_in}: {error}") from None


async def tell_of_refused_key(service: AsyncClient | None, where: str) -> None:
    """Say at once what else the first call would find out; a service that is away may come back."""
    if service is None:
        return
    try:
        async for _ in service.tools():
            break
    except NotAuthenticatedError as error:
        if error.code != "missing-scope":  # it is known, and may do without reading
            logger.warning("The service refuses the key in %s: %s", where, error.detail)
    except ClientError:
        logger.debug("The service cannot be asked about the key", exc_info=True)


async def verdict_on(judge: Judge, output: ModelOutput) -> Verdict:
    """Have an attempt judged; an escalation that no service keeps is written to the log, the only desk there is."""
    verdict = await settled(judge.judge(output))
    if verdict.escalation is not None:
        logger.warning("Nobody is at a desk to read this:\n%s", verdict.escalation)
    return verdict


async def guidance_on(judge: Judge, call_id: str, *, wait: float) -> Guidance | None:
    """Wait at most so many seconds for the answer to a Blocked call; raises NoVerdictError.

    A service that is away for the moment is asked again until the time is over, since a person takes minutes.
    """
    deadline = anyio.current_time() + wait
    while True:
        try:
            return await settled(judge.guidance(call_id, max(deadline - anyio.current_time(), 0)))
        except NoVerdictError as error:
            if not error.may_pass:
                raise
            logger.warning("Cannot ask for guidance at the moment: %s", error)
        if anyio.current_time() >= deadline:
            return None
        await anyio.sleep(PAUSE)


async def ask(judge: Judge, call_id: str, patience: ClientPatience) -> Guidance | None:
    """Wait for the answer to a Blocked call, with a sign of life every few seconds; raises NoVerdictError."""
    answer, failure = None, None

    async def keep_ticking() -> None:
        while True:
            await patience.tick()
            await anyio.sleep(TICK)

    async with anyio.create_task_group() as signs:
        signs.start_soon(keep_ticking)
        try:
            answer = await guidance_on(judge, call_id, wait=patience.left)
        except NoVerdictError as error:  # it would leave the group as one of several
            failure = error
        # The signs of life never end by themselves, and the group waits for all of its tasks.
        signs.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return answer

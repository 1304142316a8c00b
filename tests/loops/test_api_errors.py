"""What a provider's failure is, by its shape, and what becomes of a loop that meets one."""

from __future__ import annotations

import http
import subprocess
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import RetryConfiguration, RetryContract
from retrycontract.loops import (
    ApiPatience,
    FormattingCorrectionExhaustedError,
    ImplementationError,
    MaxRetriesExceeded,
    ModelApiError,
    ModelUnusableError,
    generate_file_with_retry,
)
from retrycontract.loops.failures import failure_of
from tests.loops.scripted import Script, submitting

if TYPE_CHECKING:
    from collections.abc import Callable

Scripted = Callable[..., Script] if TYPE_CHECKING else Any
SCHEMA = {"type": "object", "title": "invoice", "properties": {"total": {"type": "number"}}, "required": ["total"]}
RIGHT, WRONG = submitting({"total": 5}), submitting({"total": "five"})


def raised(name: str, *bases: type[Exception], **fields: Any) -> Exception:
    """Make an error of a package that is not installed here."""
    error: Exception = type(name, bases or (Exception,), {})("said")
    for field, value in fields.items():
        setattr(error, field, value)
    return error


class Response:
    def __init__(self, status: int, **headers: str) -> None:
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def throttled(code: str, status: int) -> dict[str, Any]:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "7"}}
    return {"Error": {"Code": code, "Message": "said"}, "ResponseMetadata": metadata}


class GrpcCode:
    name = "UNAVAILABLE"
    value = (14, "unavailable")


PASSING = {
    "google.api_core": raised("ResourceExhausted", code=http.HTTPStatus.TOO_MANY_REQUESTS),
    "grpc": raised("RpcError", code=lambda: GrpcCode),
    "botocore": raised("ClientError", response=throttled("TooManyRequestsException", 429)),
    "botocore with another status": raised("ClientError", response=throttled("ThrottlingException", 400)),
    "botocore without an answer": raised("ReadTimeoutError", type("HTTPClientError", (Exception,), {})),
    "aiohttp": raised("ClientResponseError", status=503),
    "aiohttp without an answer": raised("ClientPayloadError"),
    "httpx": raised("HTTPStatusError", response=Response(502)),
    "httpx without an answer": raised("ReadTimeout", type("TransportError", (Exception,), {})),
    "requests": raised("HTTPError", OSError, response=Response(429)),
    "openai": raised("RateLimitError", status_code=429, response=Response(429)),
    "HTTPStatus": raised("AnyError", status_code=http.HTTPStatus.SERVICE_UNAVAILABLE),
    "TimeoutError": TimeoutError(),
    "a command": subprocess.TimeoutExpired("llm", 5),
    "a broken pipe": BrokenPipeError(),
    "urllib3": raised("MaxRetryError", type("PoolError", (Exception,), {})),
    "a status as text": raised("AnyError", status="503"),
}
FINAL = {
    "google.api_core": raised("Unauthenticated", code=http.HTTPStatus.UNAUTHORIZED),
    "botocore": raised("ClientError", response=throttled("AccessDeniedException", 403)),
    "aiohttp": raised("ClientResponseError", status=404),
}
OURS = {
    "a file that is missing": FileNotFoundError("prompt.txt"),
    "a mistake in the code": KeyError("x"),
    "a value": ValueError("x"),
    "a flag that is no status": raised("AnyError", status=True, code=1),
}


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
def test_what_passes_is_known_by_its_shape(error: Exception) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert not failure.is_final
    assert "said" not in failure.reason


@pytest.mark.parametrize("error", FINAL.values(), ids=FINAL)
def test_what_never_succeeds_is_known_too(error: Exception) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert failure.is_final


@pytest.mark.parametrize("error", OURS.values(), ids=OURS)
def test_mistakes_of_the_caller_are_none_of_the_providers(error: Exception) -> None:
    assert failure_of(error) is None


NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (raised("E", status_code=429, response=Response(429, retry_after="12")), 12.0),
        (raised("E", status_code=429, response=Response(429, retry_after_ms="1500")), 1.5),
        (raised("E", status_code=429, response=Response(429, retry_after="Sun, 22 Nov 2026 12:00:30 GMT")), 30.0),
        (
            raised(
                "E", status_code=429,
                response=Response(
                    429, retry_after="Sun, 22 Nov 2026 10:00:30 GMT", date="Sun, 22 Nov 2026 10:00:20 GMT"
                ),
            ),
            10.0,
        ),
        (raised("E", status_code=429, response=Response(429, retry_after="Sun, 22 Nov 2026 11:00:00 GMT")), 0.0),
        (raised("E", status_code=429, response=Response(429, retry_after="Sun Nov 22 12:00:30 2026")), 30.0),
        (raised("E", status_code=429, response=Response(429, retry_after="soon")), 0.0),
        (raised("E", status_code=429, headers={"Retry-After": "3"}), 3.0),
        (raised("E", response=throttled("SlowDown", 503)), 7.0),
        (raised("E", status_code=429, headers=[(b"Retry-After", b"3")]), 3.0),
        (raised("E", status_code=429, retry_after=timedelta(seconds=9)), 9.0),
        (raised("E", status_code=429, retry_after=10**400), 1e9),
        (ModelApiError("busy", retry_after=4), 4.0),
        (TimeoutError(), 0.0),
    ],
)  # fmt: skip
def test_how_long_a_provider_asks_to_wait_is_read_in_every_form(error: Exception, seconds: float) -> None:
    failure = failure_of(error, now=NOW)
    assert failure is not None
    assert failure.retry_after == seconds


class Raising:
    """What some packages have where nothing was set: reading it raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


STRANGE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(100, 599), st.floats(), st.text(max_size=20),
    st.binary(max_size=9), st.timedeltas(), st.builds(Raising), st.just(lambda: 1 / 0),
    st.sampled_from(http.HTTPStatus), st.sampled_from(["429", "insufficient_quota", "RESOURCE_EXHAUSTED", 10**400]),
    st.datetimes(timezones=st.just(UTC)).map(lambda at: at.strftime("%a, %d %b %Y %H:%M:%S GMT")),
)  # fmt: skip
NAMES = st.sampled_from(["Retry-After", "retry-after", "retry-after-ms", "Date", "x"])
HEADERS = st.one_of(st.dictionaries(NAMES, STRANGE), st.lists(st.tuples(NAMES, STRANGE)), STRANGE)
RESPONSES = st.one_of(
    STRANGE,
    st.builds(SimpleNamespace, status_code=STRANGE, status=STRANGE, code=STRANGE, headers=HEADERS),
    st.fixed_dictionaries(
        {"Error": st.one_of(STRANGE, st.fixed_dictionaries({"Code": STRANGE})),
         "ResponseMetadata": st.fixed_dictionaries({"HTTPStatusCode": STRANGE, "HTTPHeaders": HEADERS})}
    ),
)  # fmt: skip
FIELDS = st.fixed_dictionaries(
    {}, optional={"status_code": STRANGE, "status": STRANGE, "code": STRANGE, "retry_after": STRANGE,
                  "headers": HEADERS, "response": RESPONSES},
)  # fmt: skip


@given(fields=FIELDS, base=st.sampled_from([Exception, OSError, ValueError]))
def test_no_shape_of_an_error_stops_the_loop_that_judges_it(fields: dict[str, Any], base: type[Exception]) -> None:
    failure = failure_of(raised("AnyError", base, **fields), now=NOW)
    if failure is not None:
        assert failure.retry_after >= 0
        assert len(failure.reason) < 200
        assert failure.status is None or 100 <= failure.status < 600


def test_the_longer_of_delay_and_retry_after_is_waited_for(scripted: Scripted) -> None:
    script = scripted(ModelApiError("busy", retry_after=9), ModelApiError("busy"), RIGHT)
    script.run("extract", SCHEMA, "Read.")
    assert script.slept == [9.0, 1.0]
    endless = scripted(ModelApiError("busy", retry_after=86_400), RIGHT)
    endless.run("extract", SCHEMA, "Read.")
    assert endless.slept == [300.0]


def test_patience_costs_no_attempt_of_the_models(scripted: Scripted) -> None:
    script = scripted(*[ModelApiError("busy")] * 5, WRONG, ModelApiError("busy"), WRONG, RIGHT)
    patience = ApiPatience(errors=6, delay=2, factor=3, longest=20, jitter=0.5)
    value, metrics = script.run("extract", SCHEMA, "Read.", api_patience=patience, chance=lambda: 1.0)
    assert value == {"total": 5}
    assert (metrics.attempts, metrics.api_errors, metrics.turns) == (3, 6, 9)
    assert script.slept == [1.0, 3.0, 9.0, 10.0, 10.0, 1.0]


@pytest.mark.parametrize(
    ("patience", "pauses"),
    [
        (ApiPatience(factor=1e6, jitter=0), [1.0, 30.0, 30.0]),
        (ApiPatience(factor=10**400, jitter=0), [1.0, 30.0, 30.0]),
        (ApiPatience(factor=1e6, delay=0, jitter=0), [0.0, 0.0, 0.0]),
        (ApiPatience(factor=2, delay=1e-9, longest=60, jitter=0), [1e-9, 2e-9, 60.0]),
    ],
)
def test_a_pause_never_exceeds_the_longest_however_steep_its_growth(patience: ApiPatience, pauses: list[float]) -> None:
    assert [patience.pause(number, 1.0) for number in (1, 2, 1000)] == pauses


@pytest.mark.parametrize(
    ("patience", "slept"),
    [(ApiPatience(errors=2, jitter=0), [1.0, 2.0]), (ApiPatience(seconds=6, jitter=0, factor=2), [1.0, 2.0])],
    ids=["errors", "seconds"],
)
def test_patience_ends_and_the_loop_with_it(scripted: Scripted, patience: ApiPatience, slept: list[float]) -> None:
    script = scripted(ModelApiError("busy"))
    with pytest.raises(MaxRetriesExceeded) as caught:
        script.run("extract", SCHEMA, "Read.", api_patience=patience)
    assert script.slept == slept
    assert [trial.status for trial in caught.value.history] == ["unavailable"]


@pytest.mark.parametrize("wrong", [{"errors": 0}, {"seconds": 0}, {"factor": 0.5}, {"jitter": 2}, {"delay": -1}])
def test_patience_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="api_patience needs"):
        ApiPatience(**wrong)


JOBS: dict[str, tuple[tuple[Any, ...], Any, type[Exception]]] = {
    "extract": ((SCHEMA, "Read."), WRONG, MaxRetriesExceeded),
    "respond_with_correction": (([{"role": "user", "content": "What?"}],), "{}", FormattingCorrectionExhaustedError),
}


@pytest.mark.parametrize("loop", JOBS)
def test_api_errors_are_no_mistakes_of_the_model(scripted: Scripted, loop: str) -> None:
    arguments, wrong, error = JOBS[loop]
    script = scripted(wrong, ModelApiError("busy"), wrong)
    with pytest.raises(error) as caught:
        script.run(loop, *arguments)
    first, second, third = caught.value.history  # type: ignore[attr-defined]
    assert (second.errors, second.feedback, second.api_error) == ((), "", "busy")
    assert (first.status, second.status, third.status) == ("retry", "retry", "blocked")
    assert "Attempt 3 of 3" in third.feedback or "(attempt 3/3)" in third.feedback


@pytest.mark.parametrize("loop", JOBS)
def test_every_end_carries_history_and_metrics(scripted: Scripted, loop: str) -> None:
    arguments, wrong, error = JOBS[loop]
    with pytest.raises(ModelUnusableError) as caught:
        scripted(wrong, raised("AuthenticationError", status_code=401)).run(loop, *arguments)
    assert [trial.number for trial in caught.value.history] == [1, 2]
    assert caught.value.metrics is not None
    assert (caught.value.metrics.turns, caught.value.metrics.api_errors) == (2, 1)
    with pytest.raises(error) as exhausted:
        scripted(wrong).run(loop, *arguments)
    assert (len(exhausted.value.history), exhausted.value.metrics.attempts) == (3, 3)  # type: ignore[attr-defined]
    with pytest.raises(KeyError) as foreign:
        scripted(wrong, KeyError("x")).run(loop, *arguments)
    assert "after 1 attempts and 2 turns" in foreign.value.__notes__[0]


def test_the_budget_means_the_same_everywhere_and_follows_the_configuration(scripted: Scripted) -> None:
    contract = RetryContract(configuration=RetryConfiguration(max_attempts=5))
    for loop, (arguments, wrong, error) in JOBS.items():
        for options, answers in (({"contract": contract}, 5), ({"max_attempts": 2}, 2), ({}, 3)):
            script = scripted(wrong)
            with pytest.raises(error):
                script.run(loop, *arguments, **options)
            assert script.calls == answers, (loop, options)
        with pytest.raises(ValueError, match="1 to 10"):
            scripted(wrong).run(loop, *arguments, max_attempts=0)


def test_a_file_that_fails_says_what_it_cost() -> None:
    with pytest.raises(ImplementationError) as caught:
        generate_file_with_retry("a.py", "Write.", model=lambda _: "x = (", contract=RetryContract())
    assert caught.value.metrics is not None
    assert (caught.value.metrics.attempts, caught.value.metrics.turns) == (3, 3)

"""A file is asked for until it compiles, and written only then."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryContract, Tool, ValidationError, parse_feedback
from retrycontract.contract.outputs.source_code import UnknownLanguageError
from retrycontract.loops import correct_with_retry, extract, respond_with_correction
from retrycontract.loops.failures import ModelApiError, ModelUnusableError
from retrycontract.loops.models import Completion, Message
from retrycontract.loops.source_files import (
    MAX_FILE_RETRIES,
    ImplementationError,
    RetryContext,
    build_retry_prompt,
    generate_file_with_retry,
    generate_file_with_retry_async,
)

GOOD = "def f():\n    return 1\n"
BAD = "def f(:\n    return 1\n"
CUT = "def f():\n    return (1,\n"
PROMPT = "Write f."


class Scripted:
    """A model that gives these answers one after another, and keeps what it was asked."""

    def __init__(self, *answers: str | Completion | Exception) -> None:
        self._answers = iter(answers)
        self.prompts: list[str] = []

    def complete(self, messages: Sequence[Message]) -> Completion:
        self.prompts.append(messages[-1]["content"])
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer) if isinstance(answer, str) else answer


class ScriptedAsync(Scripted):
    async def complete(self, messages: Sequence[Message]) -> Completion:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().complete(messages)


def in_thread(*answers: Any, filepath: str = "src/app.py", **options: Any) -> tuple[Scripted, tuple[str, bool]]:
    model = Scripted(*answers)
    return model, generate_file_with_retry(filepath, PROMPT, model=model, delay=0.0, **options)


def in_loop(*answers: Any, filepath: str = "src/app.py", **options: Any) -> tuple[Scripted, tuple[str, bool]]:
    model = ScriptedAsync(*answers)
    made = generate_file_with_retry_async(filepath, PROMPT, model=model, delay=0.0, **options)
    return model, asyncio.run(made)


@pytest.fixture(params=[in_thread, in_loop], ids=["sync", "async"])
def generate(request: pytest.FixtureRequest) -> Any:
    return request.param


def fenced(source: str) -> str:
    return f"Here you are:\n\n```python\n{source}```\n"


def test_a_file_that_passes_takes_one_call(generate: Any) -> None:
    model, made = generate(fenced(GOOD))
    assert made == (GOOD, True)
    assert model.prompts == [PROMPT]


def test_the_next_prompt_tells_what_was_wrong(generate: Any) -> None:
    model, made = generate(fenced(BAD), fenced(GOOD))
    assert made == (GOOD, True)
    before, _, feedback = model.prompts[1].partition("did not pass:\n\n")
    assert before.startswith(PROMPT)
    parsed = parse_feedback(feedback)
    assert (parsed.subject, parsed.name, parsed.attempt, parsed.max_attempts) == ("file", "src/app.py", 1, 3)
    assert "    1 | def f(‸:\n    2 |     return 1\n" in feedback


def test_a_file_that_never_passes_is_never_written(generate: Any, tmp_path: Path) -> None:
    target = tmp_path / "app.py"
    target.write_text("old = 1\n")
    with pytest.raises(ImplementationError, match=r"src/app\.py does not pass after 3 attempts") as raised:
        generate(BAD, BAD, BAD, write_to=target)
    error = raised.value
    assert (error.file, error.attempts, MAX_FILE_RETRIES) == ("src/app.py", 3, 3)
    assert "invalid syntax at line 1" in error.last_error
    assert [trial.errors[0].error_code for trial in error.history] == [ErrorCode.INVALID_JSON_SYNTAX] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]
    assert target.read_text() == "old = 1\n"


def test_an_event_loop_writes_nothing_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (writers.append(threading.get_ident()), sync(handle)))
    in_loop(fenced(GOOD), write_to=tmp_path / "app.py")
    in_thread(fenced(GOOD), write_to=tmp_path / "app.py")
    assert [writer == threading.get_ident() for writer in writers] == [False, True]


def test_a_file_that_passes_replaces_the_old_one_and_keeps_its_permissions(generate: Any, tmp_path: Path) -> None:
    target = tmp_path / "app.py"
    target.write_text("old = 1\n")
    target.chmod(0o750)
    source = "x = 'é'\r\ny = 1\n"
    generate(BAD, fenced(source), write_to=target)
    assert target.read_bytes() == source.encode()
    assert target.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text("old = 1\n")
    link.symlink_to(real)
    in_thread(GOOD, write_to=str(link))
    assert link.is_symlink()
    assert real.read_text() == GOOD


def test_a_mistake_that_only_moved_is_the_same_and_another_one_is_not() -> None:
    model, _ = in_thread(BAD, "# f\n" + BAD, "x = 'a\n\n", GOOD, max_retries=4)
    assert "Progress: none, the mistake is the same as in attempt 1; take a different approach." in model.prompts[2]
    assert "Progress: still wrong (root) (another mistake)." in model.prompts[3]


def test_a_missing_folder_is_told_before_the_model_is_asked(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="make it first"):
        in_thread(write_to=tmp_path / "none" / "app.py")


def test_api_errors_and_faults_share_the_budget(generate: Any) -> None:
    model, made = generate(ModelApiError("busy"), BAD, GOOD)
    assert made == (GOOD, True)
    assert model.prompts[1] == PROMPT
    with pytest.raises(ImplementationError) as raised:
        generate(BAD, ModelApiError("busy"), ModelApiError("busy"), GOOD)
    assert [trial.api_error is None for trial in raised.value.history] == [True, False, False]
    assert "busy" in raised.value.last_error


def test_a_fault_is_still_told_after_an_api_error() -> None:
    model, _ = in_thread(BAD, ModelApiError("busy"), GOOD)
    assert model.prompts[2] == model.prompts[1]


def test_a_model_that_cannot_be_asked_ends_it_at_once() -> None:
    class UnauthorizedError(Exception):
        status_code = 401

    with pytest.raises(ModelUnusableError, match="API key"):
        in_thread(UnauthorizedError())


def test_every_retry_is_logged_with_its_number(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="retrycontract")
    in_thread(BAD, ModelApiError("busy"), GOOD)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in lines if line.startswith("[")] == [
        "[RETRY 1] Validation", "[RETRY 2] API error",
    ]  # fmt: skip
    (done,) = [record for record in caplog.records if record.getMessage() == "Source file generated"]
    assert (done.__dict__["file"], done.__dict__["attempt"], done.__dict__["passed"]) == ("src/app.py", 3, True)
    assert not any("return" in line for line in lines)


def test_a_file_that_was_cut_off_is_told_so(generate: Any) -> None:
    model, _ = generate(CUT, Completion(GOOD, finish_reason="length"), GOOD)
    assert "the file was cut off: '(' was never closed at line 2" in model.prompts[1]
    assert "cut off by the length limit" in model.prompts[2]


def test_checks_of_the_developer_run_on_what_compiles() -> None:
    def has_docstring(source: str) -> Iterator[ValidationError]:
        if '"""' not in source:
            yield ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "", "Value violates constraint: no docstring")

    documented = '"""Give one."""\n' + GOOD
    model, made = in_thread(BAD, GOOD, documented, checks=[has_docstring])
    assert made == (documented, True)
    assert "no docstring" in model.prompts[2]


def test_the_caller_is_told_where_a_file_stands() -> None:
    seen: list[RetryContext] = []
    model, _ = in_thread(BAD, GOOD, on_attempt=seen.append)
    first, second = seen
    assert first == RetryContext(0, 3)
    assert (second.attempt, second.max_attempts, second.prompt_history) == (1, 3, (PROMPT,))
    assert second.previous_error is not None
    assert second.previous_error in model.prompts[1]


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_budget_counts_attempts_in_all(attempts: int) -> None:
    with pytest.raises(ImplementationError) as raised:
        in_thread(*[BAD] * 9, max_retries=attempts)
    assert raised.value.attempts == attempts


def test_what_the_developer_got_wrong_is_told_before_the_model_is_asked() -> None:
    with pytest.raises(ValueError, match="1 to 10"):
        in_thread(max_retries=0)
    with pytest.raises(ValueError, match="1 to 10"):
        in_thread(max_attempts=11)
    with pytest.raises(UnknownLanguageError):
        in_thread(filepath="Makefile", language="make")
    assert in_thread("a: 1\n", filepath="Makefile", language="yaml")[1] == ("a: 1\n", True)


def test_a_contract_of_the_callers_own_counts_and_keeps_its_tools() -> None:
    contract = RetryContract([Tool(name="read", input_schema=True)])
    assert in_thread(BAD, GOOD, contract=contract)[1] == (GOOD, True)
    assert contract.check("read", "c1", "{}").status == "valid"


@pytest.mark.parametrize(
    ("error", "attempt", "prompt"),
    [
        (None, 0, PROMPT),
        ("wrong", 0, PROMPT),
        (None, 2, PROMPT),
        ("wrong", 1, f"{PROMPT}\n\nThe file that you sent before did not pass:\n\nwrong"),
    ],
)
def test_a_prompt_is_the_base_prompt_and_the_last_error(error: str | None, attempt: int, prompt: str) -> None:
    assert build_retry_prompt(PROMPT, error, attempt) == prompt


@pytest.mark.parametrize(
    "check", [lambda _: 1 / 0, lambda _: None, lambda _: ["no error"]], ids=["raises", "none", "texts"]
)
def test_a_check_that_cannot_run_lets_no_file_through(tmp_path: Path, check: Any) -> None:
    target = tmp_path / "a.py"
    with pytest.raises(ImplementationError, match="does not pass"):
        in_thread("x = 1\n", "x = 1\n", "x = 1\n", checks=[check], write_to=target)
    assert not target.exists()


@pytest.mark.parametrize(
    ("loop", "args", "wrong", "said"),
    [
        ("file", ("a.py", "w"), {"writeto": "a.py"}, "no option 'writeto', did you mean 'write_to'?"),
        ("extract", ({"type": "object"}, "q"), {"max_attempt": 1}, "did you mean 'max_attempts'?"),
        ("respond", ([],), {"schem": {}}, "did you mean 'schema'?"),
        ("correct", ("{}",), {"zzz": 1}, "there is no option 'zzz'"),
        ("file", ("a.py", "w"), {"delay": -1}, "delay is -1: give seconds"),
        ("file", ("a.py", "w"), {"delay": "1"}, "delay is '1'"),
        ("extract", ({"type": "object"}, "q"), {"api_patience": 5}, "give an ApiPatience"),
        ("file", ("a.py", "w"), {"checks": [5]}, "give a list of functions"),
        ("extract", ({"type": "object"}, "q"), {"wait_for_guidance": "x"}, "wait_for_guidance is 'x'"),
    ],
)
def test_an_option_that_is_misspelt_or_nonsense_is_refused_before_the_model_is_asked(
    loop: str, args: tuple[Any, ...], wrong: dict[str, Any], said: str
) -> None:
    asked: list[Any] = []
    model = lambda *seen, **_: asked.append(seen) or "{}"  # noqa: E731
    run: dict[str, Any] = {
        "file": lambda: generate_file_with_retry(*args, model=model, **wrong),
        "extract": lambda: extract(model, *args, **wrong),
        "respond": lambda: respond_with_correction(model, *args, **wrong),
        "correct": lambda: correct_with_retry(model, *args, **wrong),
    }
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        run[loop]()
    assert not asked


def test_what_is_no_model_is_told_so() -> None:
    with pytest.raises(TypeError, match="model is None: give a function"):
        generate_file_with_retry("a.py", "w", model=None)  # type: ignore[arg-type]

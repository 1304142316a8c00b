"""Source files: ask for a file until it compiles, and write it only then, whole or not at all."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from retrycontract.contract.feedback.feedback_text import once_answered
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.code_blocks import find_code
from retrycontract.contract.outputs.source_code import ALLOW_EMPTY, LANGUAGE, Language, language_of, may_be_empty
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.contract.tool import PluginCheck, Tool
from retrycontract.judging import Contract, Judge, judge_for
from retrycontract.judging.judge import Runner, Steps, drive, drive_async
from retrycontract.loops.asking import Asker, AskingOptions, ExtractionMetrics, known_options
from retrycontract.loops.engine import Exhausted, Run, Trial, budget, pursue
from retrycontract.loops.models import Message, Model, as_model

MAX_FILE_RETRIES = 3  # attempts in all
GENERATED = "Source file generated"

logger = logging.getLogger("retrycontract.loops")


@dataclass(frozen=True, slots=True)
class RetryContext:
    """Say where a file stands before the model is asked: `attempt` counts from 0, `prompt_history` from the first."""

    attempt: int
    max_attempts: int
    previous_error: str | None = None
    prompt_history: tuple[str, ...] = field(default=(), repr=False)


class ImplementationError(Exception):
    """Raised when no attempt passed: nothing was written.

    `history` are the trials with their errors, `last_error` is the newest as the model read it, `answer` what a person
    said, `metrics` what it cost, and `call_id` goes on with the call where the contract is a service.
    """

    call_id: str | None = None

    def __init__(
        self, file: str, history: Sequence[Trial], answer: str = "", metrics: ExtractionMetrics | None = None
    ) -> None:
        self.file, self.history, self.answer, self.metrics = file, tuple(history), answer, metrics
        self.attempts = metrics.attempts if metrics else len(self.history)
        self.last_error = _error_of(self.history[-1]) if self.history else ""
        super().__init__(f"{file} does not pass after {self.attempts} attempts; nothing was written")


class FileOptions(AskingOptions, total=False):
    """How a file is generated; all of it is optional.

    `max_attempts` counts the answers in all, as `max_retries` does, its older name here. `language` where the file's
    name doesn't tell; `allow_empty` where a file may be without content, as `__init__.py` may; `checks` run on the
    source once it compiles (a linter, a test); `write_to` is the path that the file is written to when it has passed;
    `on_attempt` is told before the model is asked.
    """

    max_retries: int
    language: Language | str | None
    allow_empty: bool
    checks: Sequence[PluginCheck]
    write_to: str | os.PathLike[str] | None
    contract: Contract | None
    on_attempt: Callable[[RetryContext], None]


def generate_file_with_retry(
    filepath: str | os.PathLike[str],
    base_prompt: str,
    *,
    model: Model | Callable[..., Any],
    **options: Unpack[FileOptions],
) -> tuple[str, bool]:
    """Ask for a file until it passes: its source, and True.

    False comes with what a person accepted as it is; that is not written. Raises ImplementationError when all
    attempts failed, ModelUnusableError where the model can never be asked, and UnknownLanguageError.
    """
    job = _Generation(os.fspath(filepath), base_prompt, {"sleep": time.sleep, **options})
    return drive(job.steps(as_model(model), job.judge()))


async def generate_file_with_retry_async(
    filepath: str | os.PathLike[str],
    base_prompt: str,
    *,
    model: Model | Callable[..., Any],
    **options: Unpack[FileOptions],
) -> tuple[str, bool]:
    """Do what `generate_file_with_retry` does in an event loop; files are compiled beside it."""
    job = _Generation(os.fspath(filepath), base_prompt, {"sleep": asyncio.sleep, **options})
    # In another thread: neither a compiler nor a slow disk must hold up the event loop.
    return await drive_async(job.steps(as_model(model), job.judge(asyncio.to_thread), asyncio.to_thread))


def build_retry_prompt(base_prompt: str, validation_error: str | None, attempt: int) -> str:
    """Write the prompt of an attempt, counted from 0: from the second on it says what was wrong with the last."""
    if attempt == 0 or not validation_error:
        return base_prompt
    return f"{base_prompt}\n\nThe file that you sent before did not pass:\n\n{validation_error}"


class _Generation:
    """Hold one file on its way."""

    def __init__(self, filepath: str, base_prompt: str, options: FileOptions) -> None:
        self._file, self._base_prompt = filepath, base_prompt
        self._options = known_options(options, FileOptions)
        given = options.get("max_attempts", options.get("max_retries"))
        self._max_attempts = budget(given)
        target = options.get("write_to")
        # Looked at before the model is asked: a folder that is missing should cost no tokens.
        self._target: Path | None = None if target is None else writable(target)
        self._language = language_of(filepath, options.get("language"))
        self._prompts: list[str] = []
        self._tool = Tool(
            kind=Kind.SOURCE_FILE,
            name=filepath,
            input_schema={
                "type": "string",
                LANGUAGE: self._language.value,
                ALLOW_EMPTY: options.get("allow_empty", may_be_empty(filepath, True)),
            },
            checks=tuple(options.get("checks", ())),
            mode="enforce",  # a loop cannot go on with what is only observed
        )

    def judge(self, run: Runner | None = None) -> Judge:
        options = self._options
        return judge_for(
            options.get("contract"), origin="loop", max_attempts=self._max_attempts,
            details=options.get("details", {}), run=run,
        )  # fmt: skip

    def steps(self, model: Model, judge: Judge, run_apart: Runner | None = None) -> Steps[tuple[str, bool]]:
        """Generate the file, and write it when it has passed."""
        options = self._options
        run = Run(self._tool, Asker.of(model, options), judge, call_id=options.get("call_id"))
        with run.ending():
            try:
                verdict = (yield from run.begin()) or (yield from pursue(run, self._compose, lambda said: said.text))
            except Exhausted as end:
                raise ImplementationError(self._file, end.history, end.answer, run.metrics) from None
        # By identity: a person's acceptance makes a verdict of its own beside the one that the judge gave.
        passed = verdict is run.verdict  # and else a person took it as it is
        source = str(verdict.value)
        if not passed:  # the file is taken out of what was accepted, as well as that goes
            answer = without_thoughts(source, has_tags=self._language.has_tags)
            told = find_code(answer, self._language, self._file).told
            source = told.text if told else answer
        if passed and self._target is not None:
            # A step, as is everything that touches the outside: an error of the disk is raised in the loop.
            writing = partial(write_whole, self._target, source)
            yield partial(run_apart, writing) if run_apart else writing
        assert run.verdict is not None, "whatever passed was judged"
        most = run.verdict.max_attempts
        fields = {"file": self._file, "attempt": run.attempts, "max_attempts": most, "passed": passed}
        logger.info(GENERATED, extra=fields)
        return source, passed

    def _compose(self, run: Run) -> Sequence[Message]:
        context = RetryContext(
            run.attempts,
            run.verdict.max_attempts if run.verdict else run.answers,
            _error_of(run.history[-1]) if run.history else run.earlier.feedback if run.earlier else None,
            tuple(self._prompts),
        )
        if on_attempt := self._options.get("on_attempt"):
            on_attempt(context)
        mistake = run.last_mistake
        prompt = build_retry_prompt(self._base_prompt, mistake.feedback if mistake else None, context.attempt)
        prompt = f"{once_answered(prompt)}\n\n{run.guidance}" if run.guidance else prompt
        self._prompts.append(prompt)
        return ({"role": "user", "content": prompt},)


def _error_of(trial: Trial) -> str:
    return trial.api_error or trial.feedback


NEW_FILE = 0o666  # less what the process's umask takes away


def writable(target: str | os.PathLike[str]) -> Path:
    """Give the path to write to, of a link what it points to; raises OSError before any work is spent in vain."""
    try:
        path = Path(target).resolve()
    except RuntimeError:  # what older Pythons raise for links that lead in a circle
        path = Path(target)
    if not path.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to; make it first")
    # Replacing it would take away a folder's place, or a device from the whole machine.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        kind = IsADirectoryError if path.is_dir() else FileExistsError
        raise kind(f"{str(path)!r} is there and is no file; name the file to write")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {str(path.parent)!r} takes no {path.name!r}; change its permissions")
    return path


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, its permissions kept; raises OSError and leaves the old file as it was."""
    try:
        mode = path.stat().st_mode & 0o7777
    except OSError:
        # The mask can only be read by setting it.
        mask = os.umask(0)
        os.umask(mask)
        mode = NEW_FILE & ~mask
    # In the same folder, since only there one step replaces; its name is short, however long the file's own is.
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            # Before it is renamed: else a crash of the machine can leave the new name with nothing in it.
            os.fsync(file.fileno())
        # `mkstemp` makes files that only their owner reads.
        Path(name).chmod(mode)
        Path(name).replace(path)
    # Ctrl-C as well must leave no half of a file beside the old one.
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise

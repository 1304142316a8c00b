"""One child process that compiles, kept for the next file as long as it is well."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault
from retrycontract.languages.limits import Limits

STARTUP_SECONDS = 30.0  # a machine under load needs long to start a process
PACKAGES = ("retrycontract", "yaml", "tree_sitter")  # whose folders the child may import from
START = "import sys; sys.path += sys.argv.pop().split('\\n'); from retrycontract.languages.child import main; main()"


class CompilerUnavailableError(RuntimeError):
    """Raised when no child process can be started: nothing is known of the file then."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"source files cannot be checked here: {reason}")


class DiedError(Exception):
    """Raised when the child ended in the middle of its work; `timed_out` when it was stopped for taking too long."""

    def __init__(self, *, timed_out: bool) -> None:
        self.timed_out = timed_out
        super().__init__()


class CompilingProcess:
    """Start a child that imports nothing of its surroundings, and ask it file by file; for one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked = 0
        self._memory = 0
        arguments = [str(limits.memory), str(limits.cpu_seconds), "\n".join(_folders())]
        try:
            # Isolated: neither variables of the environment nor the working directory say what is imported.
            self._child = subprocess.Popen(  # noqa: S603 - our own interpreter, and nothing that anybody sends
                [sys.executable, "-I", "-S", "-c", START, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
            )
        except OSError as error:
            raise CompilerUnavailableError(f"no process can be started ({type(error).__name__})") from error
        with suppress(DiedError):
            if self._exchange(b"", STARTUP_SECONDS):
                return
        self.stop()
        raise CompilerUnavailableError("the process that compiles ends at once")

    @property
    def is_worn(self) -> bool:
        """Tell whether the next file should find a new process."""
        return self._asked >= self._limits.files or self._memory > self._limits.tidy

    def compile(self, language: Language, source: str) -> tuple[SourceFault, ...]:
        """Compile a file; raises DiedError."""
        text = source.encode()
        header = json.dumps({"language": language.value, "length": len(text)}).encode()
        self._asked += 1
        answer = json.loads(self._exchange(header + b"\n" + text, self._limits.seconds))
        self._memory = answer["memory"]
        return tuple(SourceFault(FaultKind(kind), *rest) for kind, *rest in answer["faults"])

    def stop(self) -> None:
        """End the child and wait for its end."""
        self._child.kill()
        self._child.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close this process's ends of the pipes; a child that nobody asks ends by itself."""
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _exchange(self, request: bytes, seconds: float) -> bytes:
        """Send a request and wait for its line of answer; the child is killed when its time is up."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        late = threading.Event()
        watchdog = threading.Timer(seconds, self._stop_late, (late,))
        watchdog.daemon = True
        watchdog.start()
        try:
            self._child.stdin.write(request)
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except OSError:
            answer = b""
        finally:
            watchdog.cancel()
        if not answer.endswith(b"\n"):
            raise DiedError(timed_out=late.is_set())
        return answer

    def _stop_late(self, late: threading.Event) -> None:
        late.set()
        self._child.kill()


def _folders() -> list[str]:
    """List the folders that hold what the child imports."""
    found = (find_spec(package) for package in PACKAGES)
    folders = (Path(spec.origin).parent.parent for spec in found if spec is not None and spec.origin)
    return list(dict.fromkeys(str(folder.resolve()) for folder in folders))

"""A server that is started as a process of its own. Imports next to nothing: it starts before the rest is loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType

LEAVE_SECONDS = 2.0  # to end by itself when its input closes, and again at SIGTERM


class UpstreamProcess:
    """Run a server whose stdin and stdout are the protocol; its stderr is ours. Starts at once."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: str | None = None) -> None:
        self._command, self._environment, self._folder = command, environment, folder
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self._process = subprocess.Popen(  # noqa: S603 - what the user has asked for
            # Unbuffered, as both pipes are used by their descriptors.
            self._command, env=dict(self._environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            cwd=self._folder,
            start_new_session=True,  # so that its children, as npx has them, end with it
        )  # fmt: skip

    def __enter__(self) -> UpstreamProcess:
        """See to it that it ends, also when nothing else comes of it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def descriptors(self) -> tuple[int, int]:
        """Give what it says, to be read, and what it hears, to be written."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno(), self._process.stdin.fileno()

    def wait(self) -> int:
        """Wait for its end and give its exit status as a shell would."""
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def stop(self) -> None:
        """Let it end by itself, else end it with all that it has started."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if number is not None:
                with suppress(ProcessLookupError, PermissionError):
                    if sys.platform == "win32":
                        self._process.terminate()
                    else:
                        os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVE_SECONDS)
                return

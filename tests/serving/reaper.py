"""No process outlives a run of the tests, however the run ends.

The run marks its environment, and all that it starts inherits the mark: services, servers, browsers, other workers of
pytest. A small process of its own waits for the end of a pipe that only the run holds open; killed or not, the run
lets go of it when it ends. What still carries the mark then is ended. Needs /proc; elsewhere nothing is reaped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

MARK = "TESTS_OF_RUN"  # begins with nothing that a service's environment is cleared of
# A word at SIGTERM, so that PostgreSQL gives back its shared memory; then the end.
REAPER = """
import os, signal, sys, time
mark = sys.argv[1].encode()

def marked():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:
                if int(name) != os.getpid() and mark in environ.read().split(b"\\0"):
                    yield int(name)
        except OSError:
            pass  # ended, or somebody else's

def end(how):
    for pid in marked():
        try:
            os.kill(pid, how)
        except OSError:
            pass

sys.stdin.read()
end(signal.SIGTERM)
for _ in range(30):
    if not any(marked()):
        break
    time.sleep(0.1)
end(signal.SIGKILL)
"""


def watch_over_this_run() -> None:
    """Start the process that ends what this run leaves behind; a worker of a run has one already."""
    if MARK in os.environ or not Path("/proc/self/environ").exists():
        return
    mark = os.environ[MARK] = f"{os.getpid()}-{os.urandom(8).hex()}"
    # The end that is written to stays open, and is inherited by nobody, as long as this process lives.
    end_of_run, _ = os.pipe()
    command = [sys.executable, "-S", "-E", "-c", REAPER, f"{MARK}={mark}"]
    stdin = [(os.POSIX_SPAWN_DUP2, end_of_run, 0)]
    # A session of its own, so that Ctrl-C leaves it to its work.
    os.posix_spawn(sys.executable, command, os.environ, file_actions=stdin, setsid=True)
    os.close(end_of_run)

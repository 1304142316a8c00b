"""Programs of ours that are forked from a process with their packages loaded, instead of started anew.

To load them takes a second of processor time for each process, more than most stories do. `forked("-m", "module", …)`
gives a command: a small process that hands its arguments, environment, folder and open files to the one that is ready,
passes signals on, and ends as the program does. What a program does when nothing is loaded yet is for tests that start
it themselves, as `tests/cli/test_terminal.py` and `tests/gateway/test_process.py` do.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
READY: Final = Path(__file__).with_name("ready.py")
# Without `site`, for it stands between the program and who started it, and has nothing to do but that; nor does it load
# what is not built in, which takes as long again.
HAND_OVER: Final = r"""
import _signal as signal, _socket as socket, marshal, os, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
told = marshal.dumps([sys.argv[2:], dict(os.environ), os.getcwd(), os.umask(0)])
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
line.sendmsg([len(told).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
line.sendall(told)
nothing = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nothing, number)
for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(which, lambda number, _: line.send(bytes([number])))
status = int.from_bytes(line.recv(4) or b"\xff\xff\xff\xf7", "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@cache
def _address() -> str:
    """Start the process that is ready; it ends with this one, and where this one is killed, with its pipe."""
    folder = Path(tempfile.mkdtemp(prefix="retrycontract-ready-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    process = subprocess.Popen(
        [sys.executable, READY, folder / "line"], cwd=ROOT, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    atexit.register(process.wait)
    atexit.register(process.kill)  # which comes before the wait
    assert process.stdout.readline() == b"ready\n", "the packages of the programs could not be loaded"
    return str(folder / "line")


def forked(*arguments: str) -> list[str]:
    """Give the command that runs Python with these arguments: `-m module …`, `-c words …` or a script and its own."""
    return [sys.executable, "-I", "-S", "-c", HAND_OVER, _address(), *arguments]

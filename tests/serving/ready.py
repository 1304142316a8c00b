"""A process that has loaded packages and forks for each program that is asked for (`tests/serving/forked.py`)."""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import runpy
import select
import signal
import socket
import sys
import time
from pathlib import Path

# No settings are read by loading these: a program reads its own.
PACKAGES = (
    "cryptography.fernet", "django.contrib.auth.hashers", "django.core.management", "django.db",
    "django.template", "jsonschema_rs", "httptools", "jinja2", "mcp.client.stdio", "mcp.client.streamable_http",
    "mcp.server.streamable_http_manager", "psycopg", "pydantic", "retrycontract.config.service_settings",
    "retrycontract.in_process", "retrycontract.mcp.commands", "structlog", "uvicorn", "whitenoise.storage",
)  # fmt: skip


def main() -> None:
    """Fork for each connection until standard input ends."""
    sys.path[0] = str(Path.cwd())
    for package in PACKAGES:
        importlib.import_module(package)
    gc.freeze()
    door = socket.socket(socket.AF_UNIX)
    door.bind(sys.argv[1])
    door.listen(64)
    print("ready", flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    while True:
        heard, _, _ = select.select([door, sys.stdin], [], [])
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # watchers that have ended: their processor time is this process's from then on
        if sys.stdin in heard:
            os._exit(0)
        line, _ = door.accept()
        if not os.fork():
            door.close()
            watch(line)
            return
        line.close()


def watch(line: socket.socket) -> None:
    """Fork the program, pass signals on to it, and tell how it ended; who hangs up ends it."""
    size, files, _, _ = socket.recv_fds(line, 8, 3)
    told = b""
    while len(told) < int.from_bytes(size, "big"):
        part = line.recv(1 << 20)
        if not part:  # it has gone before it said all
            os._exit(1)
        told += part
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    program = os.fork()
    if not program:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
        for opened in (*files, woken, wake):
            os.close(opened)
        line.close()
        become(*marshal.loads(told))
        return
    for number in (0, 1, 2):
        os.close(number)
    for file in files:
        os.close(file)
    while True:
        heard, _, _ = select.select([line, woken], [], [])
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            with contextlib.suppress(OSError):
                line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
            os._exit(0)
        if line in heard:
            signals = line.recv(16) or bytes([signal.SIGKILL])
            for number in signals:
                os.kill(program, number)
        if woken in heard:
            os.read(woken, 64)


def become(arguments: list[str], environment: dict[str, str], folder: str, umask: int) -> None:
    """Run what was asked for as Python itself would."""
    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.path[0] = folder if arguments[0] in ("-m", "-c") else str(Path(arguments[0]).parent)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()

"""The steps of the Dockerfile, taken without an engine: a root of its own that is read-only, and a user without powers.

What pip and apt would install is this environment's; everything else is done as the file says it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import pytest
from cryptography.fernet import Fernet

from tests.serving.servers import PostgreSQL, Redis, free_port
from tests.test_deployment import DOCKERFILE

ROOT: Final = Path(__file__).resolve().parent.parent
LONG: Final = 180  # seconds, a hang guard
STEPS: Final = DOCKERFILE.replace("\\\n", " ")
INSTALLS: Final = ("groupadd", "apt-get", "pip install")
# $1 the image's root, $2 whether the data folder can be written, then the command.
ENTER: Final = """
set -e
umask 022
mount --make-rprivate /
image=$1; writable=$2; environment=$3; base=$4; readable=$5; shift 5
closed_above() { local at=$1; while [ "$at" != / ]; do at=$(dirname "$at");
    [[ $(stat -c %A "$at") == *[xt] ]] || echo "$at"; done | tail -1; }
# Python may live where its owner alone may look: show it and its environment, and nothing else of those folders.
closed=$({ closed_above "$base"; closed_above "$environment"; } | sort -u)
mkdir -p "$image/shown/base" "$image/shown/environment"
mount --bind "$base" "$image/shown/base"
mount --bind "$readable" "$image/shown/environment"
mount --bind "$image/srv" /srv
mount -o remount,bind,ro /srv
[ "$writable" = no ] || mount --bind "$image/srv/data" /srv/data
mount --bind "$image/usr/local/bin" /usr/local/bin
mount -o remount,bind,ro /usr/local/bin
cd "$image/shown"
for folder in /tmp $closed; do mkdir -p "$folder"; mount -t tmpfs -o mode=755 tmpfs "$folder"; done
chmod 1777 /tmp
mkdir -p "$base" "$environment"
mount --bind base "$base"
mount --bind environment "$environment"
cd /srv/retrycontract
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
"""


def can_enter() -> bool:
    if os.getuid() or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        return False
    return not subprocess.run(
        ["unshare", "-m", "mount", "--make-rprivate", "/"], capture_output=True, check=False
    ).returncode


pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not can_enter(), reason="needs root, and leave to make mounts of its own"),
]


@dataclass(frozen=True)
class Image:
    root: Path
    readable: Path  # the environment, or a copy that others may read

    @property
    def environment(self) -> dict[str, str]:
        """What ENV says, with this environment's Python first."""
        said = dict(
            pair.split("=", 1) for line in re.findall(r"^ENV (.+)", STEPS, re.MULTILINE) for pair in line.split()
        )
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        return said | {"PATH": path, "PYTHON": sys.executable}

    def start(
        self, *words: str, is_writable: bool = True, out: IO[bytes] | int = subprocess.PIPE,
        given: IO[bytes] | int = subprocess.DEVNULL, **more: str,
    ) -> subprocess.Popen[bytes]:  # fmt: skip
        base = Path(sys.executable).resolve().parent.parent
        enter = ["unshare", "-m", "bash", "-c", ENTER, "enter", self.root, "yes" if is_writable else "no"]
        enter += [sys.prefix, base, self.readable]
        settings = {f"RETRYCONTRACT_{name}": value for name, value in more.items()}
        return subprocess.Popen(
            [*enter, *words], env=self.environment | settings, stdin=given, stdout=out, stderr=subprocess.PIPE
        )

    def run(self, *words: str, given: bytes | None = None, **more: str) -> bytes:
        started = self.start(*words, given=subprocess.PIPE, **more)
        out, err = started.communicate(given, LONG)
        assert started.returncode == 0, f"{words}\n{out.decode()}\n{err.decode()}"
        return out


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Take the steps, but for the installs."""
    made = Image(tmp_path_factory.mktemp("image"), readable_environment(tmp_path_factory))
    made.root.chmod(0o755)
    for folder in ("srv/retrycontract", "srv/data", "usr/local/bin"):
        (made.root / folder).mkdir(parents=True)
    for folder in made.root.rglob("*"):
        folder.chmod(0o755)  # an engine makes them so, whatever the umask here
    build_environment = made.environment | {
        "PYTHONPATH": str(made.root / "srv/retrycontract"), "RETRYCONTRACT_DATA_DIR": str(made.root / "srv/data"),
    }  # fmt: skip
    for step, words in re.findall(r"^(COPY|RUN) (.+)", STEPS, re.MULTILINE):
        if step == "RUN" and any(name in words for name in INSTALLS):
            continue
        if step == "RUN":
            inside = words.replace("/srv/", f"{made.root}/srv/").replace(
                "retrycontract collect", f"{sys.executable} -m retrycontract collect"
            )
            subprocess.run(
                ["bash", "-ec", inside], cwd=made.root / "srv/retrycontract", env=build_environment, check=True,
                umask=0o022,
            )  # fmt: skip
            continue
        *sources, target = [word for word in shlex.split(words) if not word.startswith("--")]
        where = made.root / target.lstrip("/") if target.startswith("/") else made.root / "srv/retrycontract" / target
        for source in sources:
            into = where / Path(source).name if target.endswith("/") else where
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, into)
            for path in (into, *into.rglob("*")):  # the checkout of somebody with umask 077
                path.chmod(0o755 if "--chmod=755" in words else path.stat().st_mode & 0o700)
    return made


def readable_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = Path(sys.prefix)
    if environment.stat().st_mode & Path(pytest.__file__).stat().st_mode & 0o004:
        return environment
    copy = tmp_path_factory.mktemp("environment")
    kept = [environment / name for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
    subprocess.run(["cp", "--archive", "--reflink=auto", *kept, copy], check=True)
    subprocess.run(["chmod", "--recursive", "go+rX", copy], check=True)
    return copy


@contextmanager
def running(image: Image, *words: str, port: int = 0, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    log = image.root / f"{words[1]}.log"
    with log.open("wb") as out:
        process = image.start(*words, out=out, **more)
    try:
        deadline = time.monotonic() + LONG
        while port and not answers(port):
            assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield process
        assert process.poll() is None, "it still runs"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONG)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def agents(image: Image, **more: str) -> set[str]:
    return {row["agent"] for row in json.loads(image.run("retrycontract", "agent", "list", "--json", **more))}


def fails(image: Image, **more: str) -> list[str]:
    findings = json.loads(image.run("retrycontract", "doctor", "--json", **more))
    assert {"database", "migrations", "static files"} <= {finding["name"] for finding in findings}
    return [finding["text"] for finding in findings if finding["level"] == "FAIL"]


@pytest.mark.soak
def test_alone_it_serves_with_a_volume_and_can_be_copied_and_put_back(image: Image) -> None:
    port = free_port()
    command = [*re.findall(r'"([^"]+)"', re.findall(r"^CMD (.+)", STEPS, re.MULTILINE)[0]), "--port", str(port)]
    with running(image, *command, port=port):
        assert image.run("retrycontract", "agent", "create", "planner").startswith(b"rc_")
        assert fails(image) == []
        copy = image.run("retrycontract", "backup", "-")
        image.run("retrycontract", "agent", "create", "later")
        login = urllib.request.urlopen(f"http://127.0.0.1:{port}/login/").read().decode()
        sheet = re.search(r'href="(/static/[^"]+\.css)"', login)
        assert sheet is not None
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}{sheet[1]}").status == 200
    image.run("retrycontract", "restore", "-", "--yes", given=copy)
    assert agents(image) >= {"planner"}
    assert "later" not in agents(image)


@pytest.mark.soak
def test_scaled_out_it_needs_nothing_that_can_be_written(image: Image, postgresql: PostgreSQL, redis: Redis) -> None:
    given = {
        "DATABASE_URL": postgresql.new_database(), "REDIS_URL": redis.new_database(), "SECRET_KEY": "s" * 50,
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(), "JUDGE": "worker",
    }  # fmt: skip
    closed = {"is_writable": False, **given}
    image.run("retrycontract", "migrate", **closed)  # type: ignore[arg-type]
    port = free_port()
    web = ["retrycontract", "web", "--workers", "2", "--port", str(port)]
    with running(image, *web, port=port, **closed), running(image, "retrycontract", "worker", **closed):  # type: ignore[arg-type]
        key = image.run("retrycontract", "agent", "create", "planner", **closed).decode().strip()  # type: ignore[arg-type]
        body = json.dumps({"kind": "tool_call", "tool": "none", "tool_call_id": "c1", "arguments": {}}).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Prefer": "wait=60"}
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/calls", body, headers)
        assert json.load(urllib.request.urlopen(asked, timeout=90))["status"] == "retry", "a worker judged it"
        assert fails(image, **closed) == []  # type: ignore[arg-type]
        copy = image.run("retrycontract", "backup", "-", **closed)  # type: ignore[arg-type]
        image.run("retrycontract", "agent", "create", "later", **closed)  # type: ignore[arg-type]
    image.run("retrycontract", "restore", "-", "--yes", given=copy, **given)
    assert agents(image, **given) == {"planner"}

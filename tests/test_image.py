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
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

import psycopg
import pytest
from cryptography.fernet import Fernet

from tests.delivery.test_webhook import certificate, serve_once
from tests.serving.servers import PostgreSQL, Redis, free_port, is_alive
from tests.serving.threads import eventually
from tests.test_deployment import DOCKERFILE

ROOT: Final = Path(__file__).resolve().parent.parent
LONG: Final = 180  # seconds, a hang guard
STEPS: Final = DOCKERFILE.replace("\\\n", " ")
INSTALLS: Final = ("groupadd", "apt-get", "pip install")
# $1 the image's root, $2 whether the data folder can be written (yes, no,
# small: on a disk that is full soon), then the command.
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
if [ "$writable" = small ]; then
    mkdir -p "$image/small"
    mount -t tmpfs -o size=64m tmpfs "$image/small"
    cp --archive "$image/srv/data/." "$image/small"
    mount --bind "$image/small" /srv/data
fi
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


def said_in_image() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in re.findall(r"^ENV (.+)", STEPS, re.MULTILINE) for pair in line.split())


@dataclass(frozen=True)
class Image:
    root: Path
    readable: Path  # the environment, or a copy that others may read

    @property
    def environment(self) -> dict[str, str]:
        """What ENV says, with this environment's Python first."""
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        return said_in_image() | {"PATH": path, "PYTHON": sys.executable}

    def start(
        self, *words: str, writable: str = "yes", out: IO[bytes] | int = subprocess.PIPE,
        given: IO[bytes] | int = subprocess.DEVNULL, **more: str,
    ) -> subprocess.Popen[bytes]:  # fmt: skip
        base = Path(sys.executable).resolve().parent.parent
        enter = ["unshare", "-m", "bash", "-c", ENTER, "enter", self.root, writable]
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
    build_environment = {
        name: value.replace("/srv/", f"{made.root}/srv/") if name in said_in_image() else value
        for name, value in made.environment.items()
    }
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
        while port and not is_alive(port):
            assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield process
        assert process.poll() is None, "it still runs"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONG)


def agents(image: Image, **more: str) -> set[str]:
    return {row["agent"] for row in json.loads(image.run("retrycontract", "agent", "list", "--json", **more))}


def looked(image: Image, *variables: str, **more: str) -> tuple[int, dict[str, str]]:
    """Give the doctor's exit status, and what it does not find in order, by name."""
    process = image.start("env", *variables, "retrycontract", "doctor", "--json", **more)  # type: ignore[arg-type]
    out, err = process.communicate(timeout=LONG)
    assert process.returncode in (0, 1), err.decode()
    findings = json.loads(out)
    assert {"database", "static files"} <= {finding["name"] for finding in findings}
    told = {each["name"]: f"{each['level']}: {each['text']}" for each in findings if each["level"] != "ok"}
    # Those of this machine's programs, which are not the image's: their age, and a Redis that keeps no log.
    foreign = {"versions", "broker"} if told.get("broker", "warn").startswith("warn") else {"versions"}
    return process.returncode, {name: text for name, text in told.items() if name not in foreign}


def inside(image: Image, code: str, **more: str) -> None:
    """Do something to the database that no command does."""
    imports = "from datetime import timedelta\nfrom django.utils.timezone import now\n"
    models = "from retrycontract.store.models import *\n"
    image.run(
        "python",
        "-c",
        f"from retrycontract.cli.program import start_django; start_django()\n{imports}{models}{code}",
        **more,
    )


@contextmanager
def expired_hook(image: Image) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve a webhook whose certificate is over; give the variable that trusts it, and the settings that lead there."""
    folder = image.root / "srv/retrycontract"
    context = certificate(folder, "127.0.0.1", days=0)
    (folder / "cert.pem").chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve_once, args=(server, context, []), daemon=True).start()
        hook = f"https://127.0.0.1:{server.getsockname()[1]}/x"
        yield (
            "SSL_CERT_FILE=/srv/retrycontract/cert.pem",
            {"NOTIFY_WEBHOOK_URL": hook, "ALLOW_PRIVATE_WEBHOOKS": "true"},
        )


def held_to_the_settings(image: Image, **more: str) -> None:
    """Look at what is wrong with variables, and with the certificate of a webhook, in whichever way it runs."""
    status, told = looked(image, "RETRYCONTRCT_HTTPS=true", **more)
    assert (status, told) == (
        0, {"variables": "warn: Nothing reads RETRYCONTRCT_HTTPS: did you mean RETRYCONTRACT_HTTPS?"}
    )  # fmt: skip
    process = image.start("retrycontract", "doctor", **more | {"HTPS": "true"})  # type: ignore[arg-type]
    words = process.communicate(timeout=LONG)[1].decode()
    assert (process.returncode, len(words.splitlines())) == (2, 1), words
    assert "did you mean RETRYCONTRACT_HTTPS" in words
    with expired_hook(image) as (trust, settings):
        status, told = looked(image, trust, **more | settings)
    assert (status, list(told)) == (0, ["certificates"])
    assert "certificate has expired" in told["certificates"]


def held_to_the_copies(image: Image, **more: str) -> None:
    image.run("retrycontract", "seed", "--calls", "20", "--waiting", "0", "--beside-real-calls", **more)
    status, told = looked(image, **more)
    assert (status, list(told)) == (0, ["backups"])
    assert "There is no copy, and calls since" in told["backups"]
    image.run("retrycontract", "backup", "-", **more)
    assert looked(image, **more) == (0, {})


def test_a_volume_that_outlives_the_image_holds_none_of_its_files() -> None:
    volume = Path(re.findall(r"^VOLUME (.+)", STEPS, re.MULTILINE)[0])
    assert not Path(said_in_image()["RETRYCONTRACT_STATIC_DIR"]).is_relative_to(volume)


@pytest.mark.soak
def test_alone_it_serves_with_a_volume_and_can_be_copied_and_put_back(image: Image) -> None:
    port = free_port()
    command = [*re.findall(r'"([^"]+)"', re.findall(r"^CMD (.+)", STEPS, re.MULTILINE)[0]), "--port", str(port)]
    with running(image, *command, port=port):
        assert image.run("retrycontract", "agent", "create", "planner").startswith(b"rc_")
        assert looked(image) == (0, {})
        copy = image.run("retrycontract", "backup", "-")
        image.run("retrycontract", "agent", "create", "later")
        login = urllib.request.urlopen(f"http://127.0.0.1:{port}/login/").read().decode()
        sheet = re.search(r'href="(/static/[^"]+\.css)"', login)
        assert sheet is not None
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}{sheet[1]}").status == 200
    image.run("retrycontract", "restore", "-", "--yes", given=copy)
    assert agents(image) >= {"planner"}
    assert "later" not in agents(image)


def submit(address: str, key: str, call: str, *, wait: int) -> dict[str, Any]:
    body = json.dumps({"kind": "tool_call", "tool": "none", "tool_call_id": call, "arguments": {}}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Prefer": f"wait={wait}"}
    asked = urllib.request.Request(address, body, headers)
    told: dict[str, Any] = json.load(urllib.request.urlopen(asked, timeout=90))
    return told


def shadow_the_clock(database: str, seconds: int = 60) -> None:
    """Let a database give a time that is not ours."""
    with psycopg.connect(database, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(f'ALTER DATABASE "{name}" SET search_path = public, pg_catalog')
        owner.execute(
            "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
            f"$$ SELECT pg_catalog.clock_timestamp() + interval '{seconds} s' $$"
        )


@pytest.mark.soak
def test_scaled_out_it_needs_nothing_that_can_be_written(image: Image, postgresql: PostgreSQL, redis: Redis) -> None:
    given = {
        "DATABASE_URL": postgresql.new_database(), "REDIS_URL": redis.new_database(),
        "SECRET_KEY": "0123456789abcdef" * 4,
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(), "JUDGE": "worker",
    }  # fmt: skip
    closed = {"writable": "no", **given}
    image.run("retrycontract", "migrate", **closed)  # type: ignore[arg-type]
    port = free_port()
    web = ["retrycontract", "web", "--workers", "2", "--port", str(port)]
    with running(image, *web, port=port, **closed):
        key = image.run("retrycontract", "agent", "create", "planner", **closed).decode().strip()
        asked = partial(submit, f"http://127.0.0.1:{port}/api/v1/calls", key)
        with running(image, "retrycontract", "worker", **closed):
            eventually(lambda: set(looked(image, **closed)[1]) == {"operators"}, within=LONG)  # nobody can log in yet
            image.run("retrycontract", "operator", "create", "mia", **closed)
            held_to_the_copies(image, **closed)
            assert asked("c1", wait=60)["status"] == "retry", "a worker judged it"
            copy = image.run("retrycontract", "backup", "-", **closed)
            image.run("retrycontract", "agent", "create", "later", **closed)
            held_to_the_settings(image, **closed)
            shadow_the_clock(given["DATABASE_URL"])
            eventually(lambda: list(looked(image, **closed)[1]) == ["clock"], within=LONG)  # a worker lives by it
            status, told = looked(image, **closed)
            assert (status, list(told)) == (1, ["clock"])
            assert "60 s away from ours" in told["clock"]
            shadow_the_clock(given["DATABASE_URL"], seconds=0)
        assert asked("c2", wait=0)["status"] is None
        inside(
            image,
            "WorkerBeat.objects.all().delete()\n"
            "Attempt.objects.waiting().update(submitted_at=now() - timedelta(hours=3))",
            **closed,
        )
        status, told = looked(image, **closed)
        assert (status, set(told)) == (1, {"workers", "queue"})
    image.run("retrycontract", "restore", "-", "--yes", given=copy, **given)
    assert "planner" in agents(image, **given)
    assert "later" not in agents(image, **given)


@pytest.mark.soak
def test_the_doctor_of_a_container_alone_tells_what_is_wrong_and_nothing_else(image: Image) -> None:
    for path in (image.root / "srv/data").iterdir():
        if path.is_file():  # of another test's service
            path.unlink()
    image.run("retrycontract", "migrate")
    image.run("retrycontract", "operator", "create", "mia")
    assert looked(image) == (0, {})
    held_to_the_settings(image)
    held_to_the_copies(image)
    status, told = looked(image, writable="small")
    assert (status, list(told)) == (1, ["disk"])
    assert "nothing can be stored soon" in told["disk"]
    status, told = looked(image, writable="no")
    assert (status, told["data folder"].partition(":")[0]) == (1, "FAIL")
    inside(image, "Event.record('agent.admitted', actor='x', door=Door.COMMAND, at=now() + timedelta(days=1))")
    status, told = looked(image)
    assert (status, list(told)) == (0, ["clock"])

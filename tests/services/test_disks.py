"""Disks that are full, that lose power, and that are put back: nothing that was answered is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.services.faults import KILLED_WITHIN
from tests.services.storm import SCHEMA, Storm, ask_sqlite
from tests.services.test_storm import CALLS, HANG, ROUNDS
from tests.serving.service import AgentClient, Service, first_data
from tests.serving.threads import eventually

pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(7_200)]

ATTEMPTS_BY_SESSION = """SELECT session_id, count(*) FROM retrycontract_call c
    JOIN retrycontract_attempt a ON a.call_id = c.id WHERE a.state = 'judged' GROUP BY session_id"""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a file system of 48 MB; skips the test where nobody may."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"nothing may be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_refuses_for_the_moment_and_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        service = Service(disk / "data", anew=True)
        service.start()
        storm = Storm(service, threads=3)

        def readiness() -> tuple[int, str]:
            answer = service.send("GET", "/readyz")
            return answer.status, answer.body["status"]

        try:
            with storm.load(CALLS):
                for _ in range(ROUNDS):
                    time.sleep(2)
                    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                        while True:
                            filler.write(bytes(65_536))
                    eventually(lambda: readiness() == (503, "not-ready"), within=HANG)
                    time.sleep(2)  # what still fits into the log's own file is taken, and counted at the end
                    assert service.send("GET", "/livez").status == 200
                    (disk / "filler").unlink()
                    eventually(lambda: readiness()[0] == 200, within=HANG)
        finally:
            service.stop()
        assert ask_sqlite(disk / "data", "PRAGMA integrity_check") == "ok"
        lost, doubled = storm.check(lambda question: ask_sqlite(disk / "data", question))
        print(f"\nfilled={ROUNDS} {storm.figures()} lost={lost} doubled={doubled}")
        assert (lost, doubled) == (0, 0)


@pytest.mark.parametrize("left", [0, 16_384, 65_536, 131_072, 1_048_576])
def test_a_service_that_says_it_is_ready_takes_submits(tmp_path: Path, left: int) -> None:
    with small_disk(tmp_path / "disk") as disk:
        service = Service(disk / "data", anew=True)
        service.start()
        try:
            agent = AgentClient(service, service.new_key("little-room"))
            agent.register("count", SCHEMA)
            with (disk / "filler").open("wb") as filler:
                filler.write(bytes(max(shutil.disk_usage(disk).free - left, 0)))
            seen = set()
            for number in range(30):
                body = {"tool": "count", "tool_call_id": f"c{number}", "arguments": {"n": "x" * 20_000}}
                seen.add((service.send("GET", "/readyz").status, agent.send("POST", "/calls", body).status))
            assert {ready for ready, _ in seen} == {503}, seen
            (disk / "filler").unlink()
            eventually(lambda: service.send("GET", "/readyz").status == 200, within=2)
            assert agent.submit("count", "again", {"n": 1})["status"] == "valid"
        finally:
            service.stop()


def test_a_restore_under_load_has_all_that_was_answered_before_the_backup(tmp_path: Path) -> None:
    service = Service(tmp_path / "data", anew=True)
    service.start()
    storm = Storm(service, threads=3)
    try:
        with storm.load(CALLS):
            eventually(lambda: len(storm.verdicts) >= 60, within=HANG)
            before = Counter(key.partition("-")[0] for key in list(storm.verdicts))
            service.manage("backup", str(tmp_path / "copy"))
            eventually(lambda: len(storm.verdicts) >= before.total() + 30, within=HANG)
            service.stop()
            service.manage("restore", str(tmp_path / "copy"), "--yes")
            stored = dict(ask_sqlite(tmp_path / "data", ATTEMPTS_BY_SESSION, whole=True))
            service.start()
    finally:
        service.stop()
    missing = {call: made for call, made in before.items() if stored.get(call, 0) < made}
    print(f"\nanswered_before={before.total()} missing={len(missing)} {storm.figures()}")
    assert missing == {}
    assert ask_sqlite(tmp_path / "data", "PRAGMA integrity_check") == "ok"


# Keeps beside each file of a folder what of it was synced; with `DISK_LIES` only what was synced first.
SYNCED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void keep(int fd) {
  char link[64], path[4096], kept[4200], part[4300], buffer[65536];
  const char *folder = getenv("DISK"), *shadow = getenv("DISK_SYNCED");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (!folder || !shadow || size < 0) return;
  path[size] = 0;
  size_t before = strlen(folder);
  if (strncmp(path, folder, before) || path[before] != '/' || strchr(path + before + 1, '/')) return;
  snprintf(kept, sizeof kept, "%s%s", shadow, path + before);
  if (getenv("DISK_LIES") && !access(kept, F_OK)) return;
  snprintf(part, sizeof part, "%s.%ld", kept, syscall(SYS_gettid));
  /* Through its own descriptor: closing another one of a database would drop all locks that its process holds. */
  int is_readable = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;
  int from = is_readable ? fd : open(path, O_RDONLY), to = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (off_t at = 0; from >= 0 && to >= 0 && (size = pread(from, buffer, sizeof buffer, at)) > 0; at += size)
    if (write(to, buffer, size) != size) abort();
  if (!is_readable) close(from);
  close(to); rename(part, kept);
}
int fsync(int fd) { keep(fd); return 0; }
int fdatasync(int fd) { keep(fd); return 0; }
"""


@pytest.mark.parametrize("lies", [False, True], ids=["a disk", "a disk that lies"])
def test_a_power_loss_that_drops_what_was_not_synced_loses_nothing_that_was_answered(
    tmp_path: Path, lies: bool
) -> None:
    """The control is a disk that says it has synced and has not: what it loses, this test would see."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    library, data, shadow = tmp_path / "synced.so", tmp_path / "data", tmp_path / "synced"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=SYNCED.encode(), check=True)
    shadow.mkdir()
    watched = {"LD_PRELOAD": str(library), "DISK": str(data), "DISK_SYNCED": str(shadow)}
    service = Service(data, watched | ({"DISK_LIES": "yes"} if lies else {}), anew=True)
    shutil.copytree(first_data(), data, ignore=shutil.ignore_patterns("config.yml"))
    missing = answered = 0
    for loss in range(1 if lies else ROUNDS):
        for file in shadow.glob("retrycontract.sqlite3*"):
            file.unlink()
        for file in data.glob("retrycontract.sqlite3*"):  # what no process of the service's has written is on the disk
            shutil.copy(file, shadow)
        service.start()
        agent = AgentClient(service, service.new_key(f"loss {loss}"))
        service.close_console()
        agent.register("count", SCHEMA)
        kept = dict[str, str]()
        with ThreadPoolExecutor(3) as pool:

            def send(number: int, agent: AgentClient = agent, kept: dict[str, str] = kept) -> None:
                with suppress(OSError, HTTPException):
                    answer = agent.send("POST", "/calls", {"tool": "count", "tool_call_id": f"{number}",
                                                           "arguments": {"n": number}})  # fmt: skip
                    if answer.status == 200:
                        kept[answer.body["call_id"]] = answer.body["status"]

            sending = [pool.submit(send, number) for number in range(600)]
            eventually(lambda kept=kept: len(kept) >= 60, within=HANG)
            service.process.kill()  # type: ignore[union-attr]
            service.process.wait(KILLED_WITHIN)  # type: ignore[union-attr]
            for each in sending:
                each.cancel()
        for file in data.glob("retrycontract.sqlite3*"):
            file.unlink()
        for file in shadow.glob("retrycontract.sqlite3*"):
            if file.name.endswith(("sqlite3", "-wal")):
                shutil.copy(file, data)
        assert lies or ask_sqlite(data, "PRAGMA integrity_check") == "ok"
        stored = set[str]()
        with closing(sqlite3.connect(data / "retrycontract.sqlite3")) as database, suppress(sqlite3.DatabaseError):
            found = database.execute("SELECT public_id FROM retrycontract_call WHERE state = 'valid'")
            stored = {row[0] for row in found}
        missing += len(kept.keys() - stored)
        answered += len(kept)
    print(f"\npower_losses={loss + 1} answered={answered} missing={missing} lies={lies}")
    assert (missing > 0) is lies

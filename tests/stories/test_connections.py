"""Connections that say nothing, too slowly or too often are ended, and `up` says in a sentence why it cannot start."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.serving import running
from tests.serving.forked import forked
from tests.serving.service import ROOT, Service

LIMITS = {
    "RETRYCONTRACT_HEADER_SECONDS": "1", "RETRYCONTRACT_BODY_SECONDS": "1",
    "RETRYCONTRACT_CONNECTIONS_PER_ADDRESS": "12",
}  # fmt: skip
HANG_GUARD = 60.0  # seconds; the limits are one


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(Service(tmp_path_factory.mktemp("limited") / "data", LIMITS)) as service:
        yield service


def opened(service: Service, words: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", service.port), timeout=HANG_GUARD)
    line.sendall(words)
    return line


HEAD = b"POST /api/v1/calls HTTP/1.1\r\nHost: localhost\r\n"
UNFINISHED = {
    "nothing at all": b"",
    "half a line": b"POST /api",
    "headers without an end": HEAD,
    "half a body": HEAD + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n10\r\n{",
}


def test_requests_that_never_end_are_ended(limited: Service) -> None:
    with ExitStack() as stack:
        lines = {name: stack.enter_context(closing(opened(limited, words))) for name, words in UNFINISHED.items()}
        assert {name: line.recv(1) for name, line in lines.items()} == dict.fromkeys(UNFINISHED, b"")


def test_a_second_request_that_never_ends_is_ended_too(limited: Service) -> None:
    with closing(opened(limited, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")) as line:
        answer = b""
        while b"alive" not in answer:  # head and body may come one after the other
            answer += (came := line.recv(4096))
            assert came, answer
        line.sendall(b"GET /li")
        assert line.recv(4096) == b""


GET = b"GET /login/ HTTP/1.1\r\nHost: localhost\r\n"
TOO_MUCH = {
    "many headers": GET + b"X: a\r\n" * 201 + b"\r\n",
    "many headers of many names": GET + b"".join(b"X%d: a\r\n" % number for number in range(300)) + b"\r\n",
    "a long header": GET + b"X: " + b"a" * 70_000 + b"\r\n\r\n",
    "a header without an end": GET + b"X: " + b"a" * 3_000_000,
    "a long address": b"GET /?" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a cookie of escapes": GET + b'Cookie: sessionid="' + b'\\"' * 20_000 + b'"\r\n\r\n',
    "a cookie of a few": GET + b'Cookie: sessionid="' + b"\\101" * 60 + b'"\r\n\r\n',
    "trailers": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n" + b"X: a\r\n" * 300 + b"\r\n",
    "what follows another": GET + b"\r\n" + GET + b"X: a\r\n" * 300 + b"\r\n",
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_head_that_is_too_large_is_refused(judged_service: Service, name: str) -> None:
    judged_service.send("GET", "/livez")  # where it is scaled out, this names the next process
    with closing(opened(judged_service)) as line:
        answer = b""
        with suppress(ConnectionError):  # it is closed while we still send
            line.sendall(TOO_MUCH[name])
            while came := line.recv(65_536):
                answer += came
    assert not answer or b"431 Request Header Fields Too Large" in answer
    assert answer or name == "a header without an end"


def test_a_body_in_crumbs_is_refused_and_one_in_small_pieces_taken(judged_service: Service) -> None:
    """Of a body of 200 kB that came a byte at a time, 50 at once kept everybody else waiting for over a second."""
    head = HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = {"crumbs": b"1\r\n[\r\n" * 200_000, "bytes": b"1\r\n[\r\n" * 4_000 + b"0\r\n\r\n",
            "lines": (b"80\r\n" + b" " * 128 + b"\r\n") * 15_000 + b"0\r\n\r\n"}  # fmt: skip
    answers = {}
    for name, body in sent.items():
        judged_service.send("GET", "/livez")  # where it is scaled out, this names the next process
        with closing(opened(judged_service, head + body)) as line:
            answers[name] = line.recv(65_536)
    assert b" 400 " in answers["crumbs"]
    assert b"larger ones" in answers["crumbs"]
    assert [b" 401 " in answers[name] for name in ("bytes", "lines")] == [True, True]


def test_requests_that_wait_for_no_answer_are_answered_up_to_a_number(judged_service: Service) -> None:
    """6,000 in one packet of each of 50 connections kept everybody else waiting for 1.7 s."""
    judged_service.send("GET", "/livez")  # where it is scaled out, this names the next process
    one = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers = {}
    for number in (80, 6_000):
        with closing(opened(judged_service, one * number)) as line:
            line.settimeout(3)
            answer = b""
            with suppress(OSError):
                while came := line.recv(65_536):
                    answer += came
            answers[number] = answer.count(b"HTTP/1.1 200 ")
    assert answers[80] == 80
    assert 80 < answers[6_000] < 1_000


def test_many_headers_and_a_long_one_are_taken(limited: Service) -> None:
    headers = {f"X-{number}": "a" for number in range(150)} | {"X-Long": "a" * 50_000, "Cookie": 'a="\\"\\""'}
    with closing(opened(limited)) as line:
        for _ in range(2):  # each request has its own
            lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
            line.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")
            answer = b""
            while b"alive" not in answer:
                answer += (came := line.recv(4096))
                assert came, answer


def test_a_long_wait_is_no_slow_request(limited: Service) -> None:
    key = limited.new_key("patient")
    schema = {"type": "object", "required": ["n"]}
    assert limited.send("PUT", "/api/v1/tools/t", {"input_schema": schema}, key=key).status == 201
    body = {"tool": "t", "tool_call_id": "a", "session_id": "s", "arguments": {}}
    call = limited.send("POST", "/api/v1/calls", body, key=key).body["call_id"]
    path = f"/api/v1/calls/{call}/wait?for=guidance"
    assert limited.send("GET", path, key=key, headers={"Prefer": "wait=4"}).status in (200, 202, 204)


def test_one_address_holds_only_so_many_connections_and_may_come_again_later(limited: Service) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(closing(opened(limited))) for _ in range(30)]
        ended = 0
        for line in lines[12:]:
            try:
                ended += line.recv(1) == b""
            except ConnectionResetError:
                ended += 1
        assert ended == 18
    assert limited.send("GET", "/livez").status == 200


def test_nobody_is_believed_to_come_from_elsewhere(limited: Service) -> None:
    answers = []
    for number in range(7):
        headers = {"X-Forwarded-For": f"198.51.100.{number}", "Content-Type": "application/x-www-form-urlencoded"}
        page = limited.send("GET", "/login/")
        token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        headers["Cookie"] = page.headers["set-cookie"].split(";")[0]
        form = f"csrfmiddlewaretoken={token}&username=nobody&password=guess".encode()
        answers.append(limited.send("POST", "/login/", form, headers=headers).status)
    assert answers[-1] == 429


class Narrow(Service):
    """Start the service where a process may open few files, and no more if it asks."""

    def _manage(self, command: str) -> list[str]:
        return ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", *super()._manage(command)]


def test_a_service_with_few_files_to_open_takes_half_of_them_as_connections_and_says_so(tmp_path: Path) -> None:
    """All but one of them were kept back, so that one open stream left the service without a connection."""
    with running(Narrow(tmp_path / "data", anew=True)) as service, ExitStack() as stack:
        assert "which leaves 128 connections" in service.log
        for _ in range(100):
            stack.enter_context(closing(opened(service, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n")))
        assert service.send("GET", "/livez").status == 200
        told = [line for line in service.manage("doctor", "--json").split("\n") if "128 connections" in line]
        assert len(told) == 1


def test_a_service_with_too_few_files_to_open_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "retrycontract", "up", "--data-dir", str(tmp_path / "none"), "--port", "8931"]
    done = subprocess.run(["sh", "-c", 'ulimit -n 100; exec "$@"', "sh", *command], capture_output=True, text=True,
                          cwd=ROOT, check=False, timeout=300, env=Service(tmp_path / "home")._environ())  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, "may open 100 files, and the service needs 128" in last) == (2, True), done.stderr
    assert not (tmp_path / "none" / "retrycontract.sqlite3").exists()


def test_the_files_of_the_data_folder_are_their_owners_alone(limited: Service) -> None:
    loose = [path.name for path in limited.data_dir.iterdir()
             if path.is_file() and path.suffix != ".log" and stat.S_IMODE(path.stat().st_mode) & 0o077]  # fmt: skip
    assert loose == []


def start_words(home: Path, *arguments: str) -> tuple[int, str]:
    command = forked(str(ROOT / "manage.py"), "up", "--no-demo", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300,
                          env=Service(home)._environ())  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_folder_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    for folder in (blocked / "data", Path("/proc/none/data")):
        status, told = start_words(tmp_path / "home", "--port", "8931", "--data-dir", str(folder))
        assert status != 0
        assert "Traceback" not in told
        assert "cannot be written" in told.strip().splitlines()[-1]
        assert len(told.strip().splitlines()) <= 2  # the first one may say that it is the settings


def test_a_taken_port_is_told_in_one_sentence(limited: Service, tmp_path: Path) -> None:
    status, told = start_words(tmp_path / "data", "--port", str(limited.port))
    assert status != 0
    assert f"127.0.0.1:{limited.port} cannot be used" in told
    assert "Traceback" not in told

"""Posting to a real receiver: what is sent, what counts as taken, and what is refused before anything is sent."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from retrycontract.delivery import courier
from retrycontract.usecases.notify.drain_outbox import UndeliveredError
from tests.delivery.test_addresses import CLOSED
from tests.serving.receivers import Receiver, receiving

BODY = {"text": "Blocked: ü"}
HEADERS = {"Webhook-Id": "msg_1"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on loopback."""
    with receiving() as found:
        yield found


def post(url: str, **options: Any) -> str | None:
    """Post and give the reason why it was not taken, or None."""
    try:
        courier.post(url, json.dumps(BODY).encode(), headers=HEADERS, **({"allow_private": True} | options))
    except UndeliveredError as error:
        return error.reason
    return None


def test_the_receiver_gets_json_with_an_id(receiver: Receiver) -> None:
    assert post(receiver.url + "?a=b") is None
    (got,) = receiver.posts
    assert (got.body, got.id) == (BODY, "msg_1")
    assert got.path == "/services/T000/B000/canaryPathSecret?a=b"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_counts(receiver: Receiver, status: int) -> None:
    receiver.status, receiver.answer = status, b""
    assert post(receiver.url) is None


@pytest.mark.parametrize("status", [400, 403, 404, 410, 429, 500, 503])
def test_every_other_answer_is_a_failure_with_its_first_words(receiver: Receiver, status: int) -> None:
    receiver.status, receiver.answer = status, b"no_service " + b"x" * 10_000
    assert post(receiver.url) == f"the webhook answered {status}: no_service {'x' * 189}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00IHDR", " (4 bytes of it no text): PNG\r\n\nIHDR"),
        (bytes(range(128, 192)) * 64, " (4,096 bytes of it no text)"),
        (b"gone \xff", " (1 byte of it no text): gone"),
        (
            "schön \u202e \u200b 日本".encode(),
            ": schön \u202e \u200b 日本",
        ),  # what is hidden is shown as such at the desk
        (b"x" * 4_095 + "é".encode(), f": {'x' * 200}"),  # the half of a character at which reading ends
        (b"pri\0vate" + b"\x80", " (2 bytes of it no text): private"),
        (b"cana\0ryPathSecret", " (1 byte of it no text): …"),
        (b" \n\t ", ""),
        (b"\x1b[31mred", ": \x1b[31mred"),  # a colour, as consoles write it
    ],
)
def test_of_an_answer_that_is_no_text_the_text_is_told_and_how_much_is_none(
    receiver: Receiver, answer: bytes, told: str
) -> None:
    receiver.status, receiver.answer = 500, answer
    assert post(receiver.url) == f"the webhook answered 500{told}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(receiver: Receiver, status: int) -> None:
    with receiving() as elsewhere:
        receiver.status, receiver.location = status, elsewhere.url
        assert post(receiver.url) == f"the webhook answered {status}; redirects are not followed"
        assert elsewhere.posts == []


def test_an_endless_answer_is_not_read(receiver: Receiver) -> None:
    receiver.status, receiver.answer = 500, b"y" * 50_000_000
    started = time.monotonic()
    reason = post(receiver.url)
    assert reason is not None
    assert len(reason) < 300
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("habit", ["silent", "dripping"])
def test_a_slow_receiver_is_left_in_time(receiver: Receiver, habit: str) -> None:
    receiver.status = 500
    if habit == "silent":
        receiver.seconds = 5
    else:
        receiver.answer, receiver.is_dripping = b"z" * 4_000, True
    started = time.monotonic()
    assert post(receiver.url, seconds=0.5) == "no answer within 0.5 seconds"
    assert time.monotonic() - started < 2


def test_a_name_that_never_resolves_is_left_in_time_and_nothing_is_sent_later(receiver: Receiver) -> None:
    go_on = threading.Event()

    def late(host: str, port: int) -> list[str]:
        go_on.wait(10)
        return ["127.0.0.1"]

    assert post(receiver.url, seconds=0.2, resolver=late) == "no answer within 0.2 seconds"
    go_on.set()
    eventually_ended()
    assert receiver.posts == []


def eventually_ended() -> None:
    """Wait until no abandoned delivery runs any more."""
    for thread in threading.enumerate():
        if thread.name == "retrycontract-within":
            thread.join(10)


def test_a_dead_receiver_is_named_without_its_address() -> None:
    with receiving() as found:
        url = found.url
    reason = post(url)
    assert reason is not None
    assert reason.startswith("the webhook cannot be reached: ConnectionRefusedError")
    assert "canaryPathSecret" not in reason


@pytest.mark.parametrize(
    ("interim", "last", "reason"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"200 OK", None),
        (b"HTTP/1.1 102 Processing\r\n\r\n" * 30, b"204 No Content", None),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nContent-Length: 5\r\n\r\n", b"202 Accepted", None),
        (b"HTTP/1.1 103 \r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 100 \r\n\r\n", b"200 OK", None),
        (b"HTTP/1.1 199 Whatever\r\n\r\n", b"410 Gone", "the webhook answered 410"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", b"302 Found", "the webhook answered 302; redirects are not followed"),
        # Nobody asked for another protocol, and what follows is no HTTP.
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"200 OK", "the webhook answered 101"),
    ],
)
def test_the_answer_is_the_last_one(interim: bytes, last: bytes, reason: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = interim + b"HTTP/1.1 " + last + b"\r\nContent-Length: 0\r\n\r\n"
        thread = threading.Thread(target=greet_once, args=(server, said))
        thread.start()
        assert post(f"http://127.0.0.1:{server.getsockname()[1]}/") == reason
        thread.join(10)


@pytest.mark.parametrize("status", ["100 Continue", "103 Early Hints"])
def test_interim_answers_that_never_come_to_an_end_are_not_read_for_ever(status: str) -> None:
    def announce(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            while True:
                connection.sendall(f"HTTP/1.1 {status}\r\n\r\n".encode() * 1_000)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=announce, args=(server,))
        thread.start()
        reason = post(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join(10)
    assert reason == "the webhook gives interim answers without end"
    assert not thread.is_alive()


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-server\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 100])
def test_what_speaks_no_http_is_a_failure(greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet_once, args=(server, greeting))
        thread.start()
        reason = post(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join(10)
    assert reason is not None
    assert reason.startswith("the webhook cannot be reached: ")
    assert reason.isprintable()
    assert ("100 bytes of it no text" in reason) == (greeting[:1] == b"\0")


def greet_once(server: socket.socket, greeting: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(greeting)


# What may not be reached


def url_of(address: str) -> str:
    host = f"[{address.partition('%')[0]}]" if ":" in address else address
    return f"https://{host}/hook"


@pytest.mark.parametrize("address", CLOSED.values(), ids=CLOSED)
def test_closed_addresses_are_refused_before_a_connection_is_tried(address: str) -> None:
    reason = post(url_of(address), allow_private=False, seconds=2)
    assert reason is not None
    assert "which is not of the public internet" in reason


@pytest.mark.parametrize(
    "host", ["localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]", "[::ffff:7f00:1]"]
)
def test_no_way_to_write_loopback_helps(receiver: Receiver, host: str) -> None:
    reason = post(f"https://{host}:{receiver.port}/", allow_private=False)
    assert reason is not None
    assert "which is not of the public internet" in reason
    assert receiver.posts == []


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1"])
def test_where_it_is_allowed_the_same_addresses_are_reached(receiver: Receiver, host: str) -> None:
    """The negative control of what is refused above: it is the rule that keeps them apart, not the network."""
    assert post(f"http://{host}:{receiver.port}/", allow_private=True) is None
    assert len(receiver.posts) == 1


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["10.0.0.1", "93.184.216.34"], ["not an address"]]
)
def test_one_closed_address_among_the_answers_is_enough(receiver: Receiver, addresses: list[str]) -> None:
    reason = post(f"https://hooks.example:{receiver.port}/", allow_private=False, resolver=lambda *_: addresses)
    assert reason is not None
    assert "which is not of the public internet" in reason
    assert receiver.posts == []


def test_a_host_without_an_address_is_a_failure() -> None:
    assert post("https://hooks.example/", resolver=lambda *_: []) == "the webhook's host has no address"


def test_a_host_that_is_not_known_is_a_failure() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    reason = post("https://hooks.example/", resolver=unknown)
    assert reason == "the webhook cannot be reached: gaierror: [Errno -2] Name or service not known"


def test_the_name_is_looked_up_once_and_that_answer_is_used(receiver: Receiver) -> None:
    """A second lookup could give another address: rebinding. There is none."""
    asked: list[tuple[str, int]] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.99"]

    assert post(f"http://rebinding.example:{receiver.port}/x", resolver=rebinding) is None
    assert asked == [("rebinding.example", receiver.port)]
    assert receiver.posts[0].headers["host"] == f"rebinding.example:{receiver.port}"


def test_a_name_that_turns_private_between_two_posts_is_refused_at_the_second(receiver: Receiver) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    def turning(host: str, port: int) -> list[str]:
        return next(answers)

    url = f"https://turning.example:{receiver.port}/"
    first = post(url, allow_private=False, resolver=turning, seconds=0.3)
    second = post(url, allow_private=False, resolver=turning, seconds=0.3)
    assert first is not None
    assert "public internet" not in first  # it was tried, though nobody can be reached from here
    assert second is not None
    assert "127.0.0.1, which is not of the public internet" in second
    assert receiver.posts == []


@pytest.mark.parametrize("url", ["http://hooks.example/", "ftp://hooks.example/", "file:///etc/passwd", "//x", "x", ""])
def test_only_https_leaves_the_house(url: str) -> None:
    assert post(url, allow_private=False) == "the webhook's address must begin with https"


@pytest.mark.parametrize("url", ["ftp://hooks.example/", "file:///etc/passwd", "gopher://127.0.0.1/", "//x", "x", ""])
def test_inside_the_house_it_is_http_or_https(url: str) -> None:
    assert post(url) == "the webhook's address must begin with https"


def test_the_next_address_is_tried_when_one_is_dead(receiver: Receiver) -> None:
    assert post(f"http://two.example:{receiver.port}/", resolver=lambda *_: ["127.0.0.99", "127.0.0.1"]) is None


# TLS


def certificate(folder: Path, *names: str, days: int = 1) -> ssl.SSLContext:
    """Make a server's certificate that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    start = datetime.now(UTC) - timedelta(hours=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)


def serve_once(server: socket.socket, context: ssl.SSLContext, seen: list[bytes]) -> None:
    raw, _ = server.accept()
    try:
        with context.wrap_socket(raw, server_side=True) as connection:
            request = b""
            while not request.endswith(b"}") and (part := connection.recv(65_536)):
                request += part
            seen.append(request)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except OSError:
        raw.close()


@pytest.mark.parametrize(
    ("name", "is_trusted", "reason"),
    [
        ("hooks.example", True, None),
        ("other.example", True, "Hostname mismatch"),
        ("127.0.0.1", True, "Hostname mismatch"),
        ("hooks.example", False, "certificate verify failed"),
    ],
    ids=["its own", "another name's", "the address' only", "one that nobody knows"],
)
def test_the_certificate_is_held_against_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_trusted: bool, reason: str | None
) -> None:
    context = certificate(tmp_path, name)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve_once, args=(server, context, seen))
        thread.start()
        url = f"https://hooks.example:{server.getsockname()[1]}/"
        result = post(url, resolver=lambda *_: ["127.0.0.1"])
        thread.join(10)
    if reason is None:
        assert result is None
        assert seen[0].startswith(b"POST / HTTP/1.1")
    else:
        assert result is not None
        assert reason in result
        assert seen == []

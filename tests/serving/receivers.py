"""Real receivers on real sockets: a webhook's, and an SMTP server that keeps what it is sent."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.serving.threads import served

if TYPE_CHECKING:
    from pytest_django import Settings


@dataclass(frozen=True)
class Post:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes

    @property
    def id(self) -> str:
        """Give what tells repetitions."""
        return self.headers["webhook-id"]

    @property
    def text(self) -> str:
        """Give what people read."""
        text: str = self.body["text"]
        return text


@dataclass
class Receiver:
    """A webhook's receiver; what it answers can be changed at any time."""

    status: int = 200
    answer: bytes = b"ok"
    location: str = ""
    retry_after: str = ""
    seconds: float = 0
    is_dripping: bool = False
    posts: list[Post] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Give the address, whose path is a secret as Slack's are."""
        return f"http://127.0.0.1:{self.port}/services/T000/B000/canaryPathSecret"

    @property
    def taken(self) -> list[Post]:
        """Give what was taken, each once: repetitions are told by their id."""
        return list({post.id: post for post in self.posts}.values())


@contextmanager
def receiving(receiver: Receiver | None = None) -> Iterator[Receiver]:
    """Serve a receiver while the block runs."""
    kept = receiver or Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            status = kept.status  # as it is when the message comes, however long the answer takes
            found = {name.lower(): value for name, value in self.headers.items()}
            kept.posts.append(Post(self.path, found, json.loads(raw), raw))
            time.sleep(kept.seconds)
            self.send_response(status)
            if kept.location:
                self.send_header("Location", kept.location)
            if kept.retry_after:
                self.send_header("Retry-After", kept.retry_after)
            self.send_header("Content-Length", str(len(kept.answer)))
            self.end_headers()
            for at in range(len(kept.answer)) if kept.is_dripping else ():
                self.wfile.write(kept.answer[at : at + 1])
                self.wfile.flush()
                time.sleep(0.1)
            if not kept.is_dripping:
                self.wfile.write(kept.answer)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            """A client that hung up is no news."""

    server = Server(("127.0.0.1", kept.port), Handler)
    kept.port = server.server_address[1]
    with served(server):
        yield kept


@dataclass
class Mailbox:
    """What an SMTP server was sent."""

    port: int = 0
    refuses: bytes = b""
    refused: bytes = b""  # whom it refuses; everybody, if empty
    is_silent: bool = False
    raw: list[bytes] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)

    @property
    def mails(self) -> list[EmailMessage]:
        """Give the messages, parsed."""
        return [message_from_bytes(raw, policy=policy.default) for raw in self.raw]


def lead_mail_to(settings: Settings, mailbox: Mailbox) -> None:
    """Have Django send its mail to a mailbox."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", mailbox.port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.DEFAULT_FROM_EMAIL = "desk@desk.example"


@contextmanager
def taking_mail(mailbox: Mailbox | None = None) -> Iterator[Mailbox]:
    """Serve SMTP (RFC 5321, as much of it as a client needs) while the block runs."""
    kept = mailbox or Mailbox()
    done = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            if kept.is_silent:
                done.wait(30)
                return
            self.say(b"220 sink")
            while command := self.rfile.readline().strip():
                match command[:4].upper():
                    case b"RCPT" if kept.refuses and kept.refused in command:
                        self.say(kept.refuses)
                    case b"RCPT":
                        kept.recipients.append(command.split(b"<")[1].split(b">")[0].decode())
                        self.say(b"250 ok")
                    case b"DATA":
                        self.say(b"354 go on")
                        lines = list(iter(self.rfile.readline, b".\r\n"))
                        kept.raw.append(b"".join(line.removeprefix(b".") for line in lines))
                        self.say(b"250 kept")
                    case b"QUIT":
                        self.say(b"221 bye")
                        return
                    case _:
                        self.say(b"250 ok")

        def say(self, line: bytes) -> None:
            self.wfile.write(line + b"\r\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

    server = Server(("127.0.0.1", kept.port), Handler)
    kept.port = server.server_address[1]
    with served(server):
        try:
            yield kept
        finally:
            done.set()

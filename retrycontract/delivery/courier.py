"""The courier of the settings' default: webhooks and e-mail.

A webhook is posted to one address of the internet: checked and pinned, no redirects, little read, soon over.
"""

from __future__ import annotations

import codecs
import json
import re
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from http.client import SWITCHING_PROTOCOLS, HTTPConnection, HTTPException, HTTPResponse, parse_headers
from smtplib import SMTPException
from typing import Any, Final, assert_never
from unicodedata import category
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from retrycontract.config.public_addresses import is_public
from retrycontract.contract.webhooks import sign
from retrycontract.store.models import Channel, OutboxMessage, WebhookEndpoint
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.deadlines import within
from retrycontract.usecases.notify.drain_outbox import PartDelivery, UndeliveredError
from retrycontract.usecases.notify.tend_endpoint import Resolve, resolve

POST_SECONDS = 5.0
MAX_RESPONSE = 4_096  # bytes of an answer that are read; its first words are all that anybody sees
MAX_SHOWN = 200
CONTROLS_OF_TEXT: Final = "\t\r\n\x1b"  # the last one begins a colour
NO_TEXT: Final = frozenset({"Cc", "Cs", "Co", "Cn"})  # controls, bytes that are no UTF-8, and what stands for nothing
MIN_TELLING = 6  # characters of a part of a path that may be a secret; shorter ones are words such as 'api'
MAX_INTERIM = 100  # answers before the one that counts
MAX_ADDRESSES = 3  # tried one after the other


def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    allow_private: bool = False,
    resolver: Resolve = resolve,
    seconds: float = POST_SECONDS,
) -> int:
    """Post a body of JSON and return the status; raises UndeliveredError unless it is 2xx.

    The URL is never part of the reason, nor is what a receiver repeats of it.
    """
    target = urlsplit(url)
    if target.scheme != "https" and not (allow_private and target.scheme == "http"):
        raise UndeliveredError("the webhook's address must begin with https")
    connection = PinnedConnection(
        target.hostname or "", target.port, is_secure=target.scheme == "https", allow_private=allow_private,
        resolver=resolver, seconds=seconds,
    )  # fmt: skip
    path = f"{target.path or '/'}{f'?{target.query}' if target.query else ''}"
    sent = {"Content-Type": "application/json", "User-Agent": "retrycontract", "Connection": "close", **headers}

    def exchange() -> int:
        with closing(connection):
            connection.request("POST", path, body, {"Host": target.netloc, **sent})
            with connection.getresponse() as response:
                if not 200 <= response.status < 300:
                    raise _refusal(response, path)
                return response.status

    try:
        return within(seconds, exchange, abort=connection.abort)
    except TimeoutError:
        raise UndeliveredError(f"no answer within {seconds:g} seconds") from None
    except (OSError, HTTPException, ValueError) as error:
        # What speaks no HTTP is quoted by the library, each byte as a character.
        told = str(error).encode("latin-1" if isinstance(error, HTTPException) else "utf-8", "backslashreplace")
        raise UndeliveredError(f"the webhook cannot be reached: {type(error).__name__}{_told(told)}") from None


class LastAnswer(HTTPResponse):
    """Read past interim answers (RFC 9110, 15.2), which a server or what stands before it may send."""

    def _read_status(self) -> tuple[str, int, str]:
        """Read the status that counts: by itself the library passes over 100 alone, and over that without end."""
        for _ in range(MAX_INTERIM):
            found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            # Another protocol (101) is an answer, though one that nobody asked for.
            if not 100 <= found[1] < 200 or found[1] == SWITCHING_PROTOCOLS:
                return found
            parse_headers(self.fp)
        raise UndeliveredError("the webhook gives interim answers without end")


class PinnedConnection(HTTPConnection):
    """Connect to the very addresses that were looked up and checked, so that a second answer of DNS changes nothing."""

    response_class = LastAnswer

    def __init__(
        self, host: str, port: int | None, *, is_secure: bool, allow_private: bool, resolver: Resolve, seconds: float
    ) -> None:
        super().__init__(host, port or (443 if is_secure else 80), timeout=seconds)
        self._is_secure, self._allow_private, self._resolver = is_secure, allow_private, resolver
        self._seconds = seconds
        self._aborted = threading.Event()
        self._line: socket.socket | None = None  # `sock` is let go of as soon as the answer begins

    def connect(self) -> None:
        """Look the host up, refuse what is not of the internet, and connect; raises UndeliveredError and OSError."""
        addresses = self._resolver(self.host, self.port)
        refused = [] if self._allow_private else [address for address in addresses if not is_public(address)]
        if refused or not addresses:
            raise UndeliveredError(
                f"the webhook's host has the address {refused[0]}, which is not of the public internet"
                if refused
                else "the webhook's host has no address"
            )
        self.sock = self._line = self._opened(addresses[:MAX_ADDRESSES])
        if self._is_secure:
            context = ssl.create_default_context()
            secure = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock = self._line = secure
            secure.do_handshake()
        if self._aborted.is_set():  # the caller has gone: what it gave up must not be sent after all
            raise TimeoutError("too late")

    def abort(self) -> None:
        """End whatever is under way, from another thread; nothing is sent after this."""
        self._aborted.set()
        if self._line is not None:
            with suppress(OSError):
                # Not the method of the secure socket, which would pull its state from under a reader.
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)

    def _opened(self, addresses: Sequence[str]) -> socket.socket:
        for address in addresses[:-1]:
            try:
                return socket.create_connection((address, self.port), self._seconds)
            except OSError:
                continue
        return socket.create_connection((addresses[-1], self.port), self._seconds)


def _refusal(response: HTTPResponse, path: str) -> UndeliveredError:
    """Say what was answered; of the words only the first, and of the headers only when to come back."""
    status, retry_after = response.status, response.headers.get("Retry-After", "").strip()
    if 300 <= status < 400:
        return UndeliveredError(f"the webhook answered {status}; redirects are not followed", status=status)
    # Many a server says what it was asked for: the parts of our path that may be secret are taken out.
    parts = {part for text in (path, unquote(path)) for part in re.split(r"[/?&=]", text) if len(part) >= MIN_TELLING}
    said = _told(response.read(MAX_RESPONSE), without=sorted(parts, key=len, reverse=True))
    return UndeliveredError(f"the webhook answered {status}{said}", status=status, retry_after=retry_after)


def _told(answer: bytes, *, without: Sequence[str] = ()) -> str:
    """Give what a reason goes on with: the first words of an answer, and how much of it is no text, if anything."""
    # The last character of an answer that is read no further may be half of one.
    text, _ = codecs.utf_8_decode(answer, "surrogateescape", len(answer) < MAX_RESPONSE)
    words = "".join(sign for sign in text if sign in CONTROLS_OF_TEXT or category(sign) not in NO_TEXT)
    odd = len(text.encode("utf-8", "surrogateescape")) - len(words.encode())
    words = words.strip()
    for part in without:
        words = words.replace(part, "…")
    counted = f" ({odd:,} byte{'s' * (odd > 1)} of it no text)" if odd else ""
    return counted + (f": {words[:MAX_SHOWN]}" if words else "")


EMAIL_SECONDS = 15.0  # for the whole conversation; each word of it has EMAIL_TIMEOUT


def send_email(
    recipients: Sequence[str], *, subject: str, text: str, message_id: str, seconds: float = EMAIL_SECONDS
) -> PartDelivery | None:
    """Send one e-mail to all recipients, none of whom reads who else has it; raises UndeliveredError.

    Says whom the server refused among others. `message_id` stays the same over all tries.
    """
    sender: str = settings.DEFAULT_FROM_EMAIL
    headers = {
        "Message-ID": f"<{message_id}@{sender.rpartition('@')[2] or 'retrycontract'}>",
        "Auto-Submitted": "auto-generated",  # nobody's absence is to answer it
    }
    connection: Any = get_connection()
    # In one conversation, so that it is sent again to all or to nobody, and with addresses on the envelope alone.
    email = EmailMessage(subject, text, sender, headers=headers)

    def hang_up() -> None:
        """Cut the line without a word: a server that hangs would not hear a polite end either."""
        line = getattr(getattr(connection, "connection", None), "sock", None)
        if isinstance(line, socket.socket):
            with suppress(OSError):
                socket.socket.shutdown(line, socket.SHUT_RDWR)

    def send() -> Mapping[str, tuple[int, bytes]]:
        mail = email.message()
        mail["To"] = "undisclosed-recipients:;"
        with connection:  # Django's own way does not tell whom of several the server refused
            told: Mapping[str, tuple[int, bytes]] = connection.connection.send_message(mail, sender, list(recipients))
            return told

    try:
        refused = within(seconds, send, abort=hang_up)
    except TimeoutError:
        raise UndeliveredError(f"no answer within {seconds:g} seconds") from None
    except (OSError, SMTPException, ValueError) as error:
        raise UndeliveredError(f"the e-mail was not taken: {type(error).__name__}: {error}") from None
    if not refused:
        return None
    # Whom first, as little of it is kept.
    whom = ", ".join(f"{recipient} ({status})" for recipient, (status, _) in refused.items())
    _, words = next(iter(refused.values()))
    return PartDelivery(f"{whom}{_told(words)}")


class Courier:
    """Carry a message out by its channel."""

    def deliver(self, message: OutboxMessage) -> int | PartDelivery | None:
        channel = Channel(message.channel)
        match channel:
            case Channel.WEBHOOK:
                service = settings.RETRYCONTRACT
                return post(
                    service.notify_webhook_url,
                    json.dumps({"text": message.text}).encode(),
                    # The header of the Standard Webhooks scheme: the same over all tries, to drop repetitions by.
                    headers={"Webhook-Id": message.public_id},
                    allow_private=service.allow_private_webhooks,
                )
            case Channel.EMAIL:
                return send_email(
                    settings.RETRYCONTRACT.notify_email,
                    subject=message.subject,
                    text=message.text,
                    message_id=message.public_id,
                )
            case Channel.ENDPOINT:
                return _post_signed(message)
            case _:
                assert_never(channel)


def _post_signed(message: OutboxMessage) -> int:
    """Post by the whole scheme of Standard Webhooks; the time of the try is signed, too."""
    endpoint, tried_at = message.endpoint, message.last_tried_at
    if endpoint is None or tried_at is None:
        raise ValueError(f"{message} has no endpoint, or is not being tried")
    address, secrets = _opened(endpoint, tried_at)
    service, body, moment = settings.RETRYCONTRACT, message.text.encode(), int(tried_at.timestamp())
    return post(
        address,
        body,
        headers={
            "Webhook-Id": message.public_id,
            "Webhook-Timestamp": str(moment),
            "Webhook-Signature": sign(secrets, message.public_id, moment, body),
        },
        allow_private=service.allow_private_webhooks,
        seconds=service.webhook_timeout_seconds,
    )


def _opened(endpoint: WebhookEndpoint, now: datetime) -> tuple[str, list[str]]:
    try:
        secrets = endpoint.secrets_at(now)
    except UnreadableError:
        raise UndeliveredError(
            "no encryption key of the settings opens the endpoint's secrets: add the old key, or make a new secret"
        ) from None
    try:
        return endpoint.address, secrets
    except UnreadableError:
        raise UndeliveredError(
            "no encryption key of the settings opens the endpoint's address: add the old key, or type it again"
        ) from None

"""Send a message by e-mail through the server of the settings."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from retrycontract.delivery.time_limits import within
from retrycontract.usecases.notify.courier import UndeliveredError

SECONDS = 15.0  # for the whole conversation; each word of it has EMAIL_TIMEOUT


def send_email(
    recipients: Sequence[str], *, subject: str, text: str, message_id: str, seconds: float = SECONDS
) -> None:
    """Send one e-mail to all recipients; raises UndeliveredError. `message_id` stays the same over all tries."""
    sender: str = settings.DEFAULT_FROM_EMAIL
    headers = {
        "Message-ID": f"<{message_id}@{sender.rpartition('@')[2] or 'retrycontract'}>",
        "Auto-Submitted": "auto-generated",  # nobody's absence is to answer it
    }
    connection = get_connection()
    email = EmailMessage(subject, text, sender, list(recipients), headers=headers, connection=connection)
    try:
        within(seconds, lambda: _send(email), abort=lambda: _hang_up(connection))
    except TimeoutError:
        raise UndeliveredError("the mail server did not answer in time") from None
    except (OSError, SMTPException, ValueError) as error:
        raise UndeliveredError(f"the e-mail was not taken: {type(error).__name__}: {error}") from None


def _send(email: EmailMessage) -> None:
    email.send()


def _hang_up(connection: Any) -> None:
    """Cut the line without a word: a server that hangs would not hear a polite end either."""
    line = getattr(getattr(connection, "connection", None), "sock", None)
    if isinstance(line, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(line, socket.SHUT_RDWR)

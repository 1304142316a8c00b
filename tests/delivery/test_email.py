"""Sending to a real SMTP server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.delivery.courier import send_email
from retrycontract.usecases.notify.drain_outbox import UndeliveredError
from tests.serving.receivers import Mailbox, lead_mail_to, taking_mail


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    """A mail server, and settings that lead to it."""
    with taking_mail() as found:
        lead_mail_to(settings, found)
        yield found


def send(**changes: Any) -> None:
    content = {"subject": "Blocked: 'deploy'", "text": "See https://desk.example/\n.\nü", "message_id": "msg_1"}
    send_email(["ana@example.com", "bo@example.com"], **(content | changes))


def test_an_email_reaches_every_recipient(mailbox: Mailbox) -> None:
    send()
    (mail,) = mailbox.mails
    assert mailbox.recipients == ["ana@example.com", "bo@example.com"]
    assert (mail["Subject"], mail["From"]) == ("Blocked: 'deploy'", "desk@desk.example")
    assert mail["To"] == "ana@example.com, bo@example.com"
    assert mail.get_content().splitlines() == ["See https://desk.example/", ".", "ü"]


def test_its_id_is_that_of_the_message_and_no_machine_answers_it(mailbox: Mailbox) -> None:
    send()
    send()
    assert [mail["Message-ID"] for mail in mailbox.mails] == ["<msg_1@desk.example>"] * 2
    assert mailbox.mails[0]["Auto-Submitted"] == "auto-generated"


def test_a_subject_cannot_add_a_header(mailbox: Mailbox) -> None:
    with pytest.raises(UndeliveredError, match="BadHeaderError"):
        send(subject="Blocked\nBcc: eve@example.com")
    assert mailbox.raw == []


def test_a_refusal_is_a_failure(mailbox: Mailbox) -> None:
    mailbox.refuses = b"550 no such user here"
    with pytest.raises(UndeliveredError, match=r"SMTPRecipientsRefused.*no such user here"):
        send()


@pytest.mark.parametrize("answer", [b"550 no such user here", b"450 try later"])
def test_who_is_refused_among_others_stands_in_the_log(
    mailbox: Mailbox, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    mailbox.refuses, mailbox.refused = answer, b"bo@"
    send()
    assert (mailbox.recipients, len(mailbox.mails)) == (["ana@example.com"], 1)
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert (record.recipient, record.reason) == ("bo@example.com", answer.decode())  # type: ignore[attr-defined]


def test_a_server_that_says_nothing_is_left_in_time(settings: Settings) -> None:
    with taking_mail(Mailbox(is_silent=True)) as mailbox:
        lead_mail_to(settings, mailbox)
        started = time.monotonic()
        with pytest.raises(UndeliveredError, match=r"no answer within 0\.3 seconds"):
            send(seconds=0.3)
        assert time.monotonic() - started < 2


def test_a_dead_server_is_a_failure(settings: Settings) -> None:
    with taking_mail() as mailbox:
        lead_mail_to(settings, mailbox)
    with pytest.raises(UndeliveredError, match="the e-mail was not taken: ConnectionRefusedError"):
        send()

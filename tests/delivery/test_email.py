"""Sending to a real SMTP server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.delivery.courier import send_email
from retrycontract.usecases.notify.drain_outbox import PartDelivery, UndeliveredError
from tests.serving.receivers import Mailbox, lead_mail_to, taking_mail


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    """A mail server, and settings that lead to it."""
    with taking_mail() as found:
        lead_mail_to(settings, found)
        yield found


def send(**changes: Any) -> PartDelivery | None:
    content = {"subject": "Blocked: 'deploy'", "text": "See https://desk.example/\n.\nü", "message_id": "msg_1"}
    return send_email(["ana@example.com", "bo@example.com"], **(content | changes))


def test_an_email_reaches_every_recipient(mailbox: Mailbox) -> None:
    send()
    (mail,) = mailbox.mails
    assert mailbox.recipients == ["ana@example.com", "bo@example.com"]
    assert (mail["Subject"], mail["From"]) == ("Blocked: 'deploy'", "desk@desk.example")
    assert mail.get_content().splitlines() == ["See https://desk.example/", ".", "ü"]


@pytest.mark.parametrize("recipients", [["ana@example.com"], ["ana@example.com", "bo@example.com"]])
def test_no_recipient_reads_who_else_is_told(mailbox: Mailbox, recipients: list[str]) -> None:
    send_email(recipients, subject="s", text="t", message_id="msg_1")
    assert mailbox.recipients == recipients
    assert mailbox.mails[0].get_all("To") == ["undisclosed-recipients:;"]
    assert not [address for address in recipients if address.encode() in mailbox.raw[0]]


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
def test_who_is_refused_among_others_is_told(mailbox: Mailbox, answer: bytes) -> None:
    mailbox.refuses, mailbox.refused = answer, b"bo@"
    status, words = answer.decode().split(maxsplit=1)
    assert send() == PartDelivery(f"bo@example.com ({status}): {words}")
    assert (mailbox.recipients, len(mailbox.mails)) == (["ana@example.com"], 1)


def test_everybody_who_is_refused_is_named_before_the_words(mailbox: Mailbox) -> None:
    mailbox.refuses, mailbox.refused = b"550 no such user", b"@gone"
    told = send_email(["a@gone.example", "ana@example.com", "b@gone.example"], subject="s", text="t", message_id="m")
    assert told == PartDelivery("a@gone.example (550), b@gone.example (550): no such user")


def test_of_those_who_are_all_taken_nothing_is_told(mailbox: Mailbox) -> None:
    assert send() is None


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

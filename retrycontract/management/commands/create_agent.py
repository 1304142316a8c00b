"""Make an agent and its API key."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from retrycontract.contract.configuration import parse_duration
from retrycontract.store.models import Door, Scope
from retrycontract.usecases.people.admit import OtherNamespaceError, UnusableNameError, admit_agent, issue_key

ACTOR = "create_agent"
ALL = ", ".join(Scope)


class Command(BaseCommand):
    """Print one line: the new API key of an agent."""

    help = "Make an agent, if it is new, and print an API key for it: one line, shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name, the namespace, and what the key may do for how long."""
        parser.add_argument("name")
        parser.add_argument("--namespace", help="agents of one namespace share their tools (default: the name)")
        parser.add_argument("--scopes", type=scopes_in, default=(), help=f"some of {ALL} (default: all of them)")
        parser.add_argument("--expires-after", type=duration_in, help="30d, say (default: it holds until revoked)")

    def handle(
        self,
        *_: Any,
        name: str,
        namespace: str | None,
        scopes: tuple[Scope, ...],
        expires_after: timedelta | None,
        **__: Any,
    ) -> None:
        now = timezone.now()
        end = now + expires_after if expires_after else None
        with transaction.atomic():  # kept once it is shown: nobody has a key that was not
            try:
                agent = admit_agent(name, namespace, now=now, actor=ACTOR, door=Door.COMMAND)
            except OtherNamespaceError as error:
                raise CommandError(f"{error}; leave --namespace out.") from None
            except UnusableNameError as error:
                raise CommandError(str(error)) from None
            text = issue_key(agent, now=now, actor=ACTOR, door=Door.COMMAND, expires_at=end, scopes=scopes)[1]
            self.stdout.write(text)
            self.stdout.flush()


def scopes_in(text: str) -> tuple[Scope, ...]:
    try:
        return tuple(Scope(word.strip()) for word in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"name some of {ALL}, with commas between them") from None


def duration_in(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None

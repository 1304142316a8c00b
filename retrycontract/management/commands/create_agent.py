"""Make an agent and its API key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.store.models import Door
from retrycontract.usecases.admit_agent import OtherNamespaceError, UnusableNameError, admit_agent, issue_key

ACTOR = "create_agent"


class Command(BaseCommand):
    """Print one line: the new API key of an agent."""

    help = "Make an agent, if it is new, and print an API key for it: one line, shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name and the namespace."""
        parser.add_argument("name")
        parser.add_argument("--namespace", help="agents of one namespace share their tools (default: the name)")

    def handle(self, *_: Any, name: str, namespace: str | None, **__: Any) -> None:
        """Make the key."""
        now = timezone.now()
        try:
            agent = admit_agent(name, namespace, now=now, actor=ACTOR, door=Door.COMMAND)
        except OtherNamespaceError as error:
            raise CommandError(f"{error}; leave --namespace out.") from None
        except UnusableNameError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(issue_key(agent, now=now, actor=ACTOR, door=Door.COMMAND)[1])

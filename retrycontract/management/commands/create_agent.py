"""Make an agent and its API key."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.store.models import Agent, ApiKey


class Command(BaseCommand):
    """Print one line: the new API key of an agent."""

    help = "Make an agent, if it is new, and print an API key for it: one line, shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name and the namespace."""
        parser.add_argument("name")
        parser.add_argument("--namespace", help="agents of one namespace share their tools (default: the name)")

    def handle(self, *_: Any, name: str, namespace: str | None, **__: Any) -> None:
        """Make the key."""
        if not re.fullmatch(r"[\w.@/ -]{1,200}", name):
            raise CommandError("An agent's name has 1 to 200 letters, digits, spaces and . _ - @ /")
        now = timezone.now()
        defaults = {"namespace": namespace or name, "created_at": now}
        agent, _created = Agent.objects.get_or_create(name=name, defaults=defaults)
        if namespace and agent.namespace != namespace:
            raise CommandError(f"The agent {name} has the namespace {agent.namespace}; leave --namespace out.")
        self.stdout.write(ApiKey.create_for(agent, now)[1])

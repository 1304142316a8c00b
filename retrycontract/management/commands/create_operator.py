"""Make an operator with a random password."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from retrycontract.store.models import Door
from retrycontract.usecases.people.admit import Role, admit_operator


def create_operator(name: str, role: Role) -> str:
    """Make a user of a role and return the random password."""
    password = secrets.token_urlsafe(12)
    user = User(username=name)
    user.set_password(password)
    admit_operator(user, role, now=timezone.now(), actor="create_operator", door=Door.COMMAND)
    return password


class Command(BaseCommand):
    """Print one line: the new operator's password."""

    help = "Make an operator and print a random password: one line, shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", choices=[role.value for role in Role], default=Role.OPERATOR.value)

    def handle(self, *_: Any, name: str, role: str, **__: Any) -> None:
        if not name.strip():  # most often an unset variable
            raise CommandError("The name is empty: give each operator a name of their own.")
        try:
            with transaction.atomic():  # kept once it is shown: nobody could use an operator without a password
                self.stdout.write(create_operator(name, Role(role)))
                self.stdout.flush()
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None

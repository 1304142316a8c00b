"""Let an operator log in again who failed too often."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.store.models import Door
from retrycontract.usecases.people.log_in import free_operator, take_factor_away

ACTOR = "free_operator"


class Command(BaseCommand):
    """Forget the failed logins of one operator, or the second factor."""

    help = "Let an operator try again at once after too many failed logins, or in without a second factor that is lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--second-factor", action="store_true", help="take the second factor away")

    def handle(self, *_: Any, name: str, second_factor: bool, **__: Any) -> None:
        operator = User.objects.filter(username=name).first()
        if operator is None:
            raise CommandError(f"There is no operator {name}.")
        if second_factor:
            had = take_factor_away(operator, now=timezone.now(), actor=ACTOR, door=Door.COMMAND)
            self.stdout.write(f"{name} logs in by password alone." if had else f"{name} has no second factor.")
            return
        was_held = free_operator(operator, now=timezone.now(), actor=ACTOR, door=Door.COMMAND)
        self.stdout.write(f"{name} may try again." if was_held else f"Nothing was held against {name}.")

"""Look at everything, in the order in which one explains the next; say what is wrong and what to do about it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError
from django.utils import timezone

from retrycontract.management.doctor import Finding, Level, database, fail, surroundings, work

ALWAYS: tuple[Callable[[], Iterator[Finding]], ...] = (
    surroundings.configuration,
    surroundings.variables,
    surroundings.image,
    surroundings.data_folder,
    surroundings.keys,
    surroundings.disk,
    surroundings.address,
    surroundings.passwords,
    surroundings.provider,
    surroundings.static_files,
    work.broker,
    database.answers,
)


def examine(now: datetime) -> list[Finding]:
    """Look at everything; what needs a database that answers is left out when it does not."""
    findings = [finding for check in ALWAYS for finding in check()]
    if any(finding.name == "database" and finding.level is Level.FAIL for finding in findings):
        return findings
    migrations = list(database.migrations())
    findings += migrations
    if all(finding.level is Level.OK for finding in migrations):
        findings += _of_the_data(now)
    return findings


def _of_the_data(now: datetime) -> Iterator[Finding]:
    try:
        yield from database.history()
        yield from database.clock(now)
        yield from database.operators()
        yield from database.first_password()
        yield from database.backups(now)
        yield from work.queue(now)
        yield from work.readable()
        yield from work.schemas()
        yield from work.slips()
        yield from work.rotation()
        yield from work.workers(now)
        yield from work.messages(now)
        yield from work.endpoints(now)
        yield from work.certificates(now)
        yield from work.second_factors()
        yield from work.quarantine()
    except DatabaseError as error:
        yield fail(
            "database", f"It cannot be read ({str(error).splitlines()[0]}): restore a backup, and keep what is there."
        )


class Command(BaseCommand):
    """Print one line for each thing that was looked at; exit status 1 when something fails."""

    help = "Check database, migrations, broker, workers, keys, clock, disk and settings, and say what to do."
    requires_system_checks = ()  # they need what is examined here

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the form of the answer."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print a JSON list instead")

    def handle(self, *_: Any, as_json: bool, **__: Any) -> None:
        """Look and tell."""
        findings = examine(timezone.now())
        if as_json:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            self.stdout.write("\n".join(map(str, findings)))
        if any(finding.level is Level.FAIL for finding in findings):
            sys.exit(1)

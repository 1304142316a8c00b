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
    surroundings.open_files,
    surroundings.address,
    surroundings.passwords,
    surroundings.provider,
    surroundings.static_files,
    work.broker,
    database.answers,
)


def examine(now: datetime) -> list[Finding]:
    """Look at everything; what needs a database that answers is left out when it does not."""
    findings = [finding for check in ALWAYS for finding in _found(check())]
    if any(finding.name == "database" and finding.level is Level.FAIL for finding in findings):
        return findings
    migrations = _found(database.migrations())
    findings += migrations
    if all(finding.level is Level.OK for finding in migrations):
        of_the_data = (
            database.history(), database.clock(now), database.operators(), database.first_password(),
            database.backups(now), work.queue(now), work.readable(), work.schemas(), work.slips(), work.rotation(),
            work.workers(), work.messages(now), work.endpoints(now), work.certificates(now), work.second_factors(),
            work.quarantine(),
        )  # fmt: skip
        findings += [finding for check in of_the_data for finding in _found(check)]
    return [*dict.fromkeys(findings)]  # that the database cannot be read is said once


def _found(check: Iterator[Finding]) -> list[Finding]:
    """List what a check finds; one that cannot go on must not cost what the others say."""
    found = []
    try:
        for finding in check:
            found.append(finding)  # noqa: PERF402 - what was found before it failed stays
    except (DatabaseError, UnicodeDecodeError) as error:
        said = str(error).splitlines()[0] if isinstance(error, DatabaseError) else "it holds what is no text"
        found.append(fail("database", f"It cannot be read ({said}): restore a backup, and keep what is there."))
    except Exception as error:  # noqa: BLE001 - whatever the machine or somebody's data holds
        name = getattr(check, "__name__", "check")
        found.append(fail("doctor", f"{name.replace('_', ' ')} could not be looked at: {type(error).__name__}."))
    return found


class Command(BaseCommand):
    """Print one line for each thing that was looked at; exit status 1 when something fails."""

    help = "Check database, migrations, broker, workers, keys, clock, disk and settings, and say what to do."
    requires_system_checks = ()  # they need what is examined here

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print a JSON list instead")

    def handle(self, *_: Any, as_json: bool, **__: Any) -> None:
        findings = examine(timezone.now())
        if as_json:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            self.stdout.write("\n".join(map(str, findings)))
        if any(finding.level is Level.FAIL for finding in findings):
            sys.exit(1)

"""Take all data in from a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.management.private_files import standard_input_or
from retrycontract.management.transfer.importing import TargetNotEmptyError, UnreadableExportError, import_from


class Command(BaseCommand):
    """Insert every row of an export."""

    help = "Take in what 'export' wrote (- is standard input), into an empty, migrated database: everything or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        try:
            with standard_input_or(file) as given:
                counts = import_from(given, now=timezone.now())
        except TargetNotEmptyError as error:
            raise CommandError(str(error)) from None
        except UnreadableExportError as error:
            raise CommandError(f"{file}, {error}. Nothing was imported.") from None
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        self.stdout.write(f"Imported {sum(counts.values())} rows from {file}.")

"""Copy the database to a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.management.copies import CopyError, back_up, stream_copy
from retrycontract.management.private_files import STANDARD


class Command(BaseCommand):
    """Write a copy of the database while the service runs."""

    help = "Copy the database to a new file (- is standard output) while the service runs; the keys are not in it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        is_piped = str(file) == STANDARD
        try:
            if is_piped:
                stream_copy(sys.stdout.buffer, now=timezone.now())
            else:
                back_up(file, now=timezone.now())
        except FileExistsError:
            raise CommandError(f"{file} exists already; backup writes a new file only.") from None
        except CopyError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
        said = f"Wrote {'all' if is_piped else file}. The keys are not in it: keep them elsewhere, and keep them."
        (self.stderr if is_piped else self.stdout).write(said)

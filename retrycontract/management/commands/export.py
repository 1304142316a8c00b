"""Write all data to a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.management.private_files import STANDARD
from retrycontract.management.transfer.importing import SealedWaitError, export_into, export_to


class Command(BaseCommand):
    """Write every row as a line of JSON."""

    help = (
        "Write all data to a new file (- is standard output), for 'import' on another database: SQLite or PostgreSQL."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file and whether waiting submissions travel."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--with-sealed", action="store_true", help="take submissions along that wait, encrypted, to be judged"
        )

    def handle(self, *_: Any, file: Path, with_sealed: bool, verbosity: int, **__: Any) -> None:
        def tell(model: str, count: int) -> None:
            if verbosity > 1 and str(file) != STANDARD:
                self.stdout.write(f"{model}: {count} rows")

        asked: dict[str, Any] = {"now": timezone.now(), "with_sealed": with_sealed, "progress": tell}
        is_piped = str(file) == STANDARD
        try:
            if is_piped:
                # As in a file: by default the encoding is the locale's, and Windows writes two characters for each end
                # of a line.
                sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]  # a file, or a pipe
            counts = export_into(sys.stdout, **asked) if is_piped else export_to(file, **asked)
        except FileExistsError:
            raise CommandError(f"{file} exists already; export writes a new file only.") from None
        except SealedWaitError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
        where = "standard output" if is_piped else file
        (self.stderr if is_piped else self.stdout).write(
            f"Wrote {sum(counts.values())} rows to {where}. They hold password hashes and what agents sent: keep them "
            "to yourself. The keys are not among them: the other service needs the same RETRYCONTRACT_SECRET_KEY "
            "and RETRYCONTRACT_ENCRYPTION_KEYS."
        )

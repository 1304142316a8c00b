"""Put a copy into the database's place."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.management.copies import CopyError, NotEmptyError, NotOursError, restore
from retrycontract.management.private_files import DataInUseError, sole_service, standard_input_or


class Command(BaseCommand):
    """Check a copy, keep what is there, and put the copy into its place."""

    help = "Put what 'backup' wrote (- is standard input) into the database's place. Stop the service first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file and the word that replaces what is there."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--yes", action="store_true", help="replace what the database holds; a copy of it is kept")

    def handle(self, *_: Any, file: Path, yes: bool, **__: Any) -> None:
        try:
            with sole_service(settings.RETRYCONTRACT.data_dir), standard_input_or(file) as given:
                kept = restore(given, now=timezone.now(), may_replace=yes)
        except NotOursError as error:
            raise CommandError(f"{file} cannot be restored: {error}. Nothing was changed.") from None
        except (NotEmptyError, CopyError) as error:
            raise CommandError(str(error)) from None
        except DataInUseError as error:
            raise CommandError(f"{error}. Nothing was changed.") from None
        except OSError as error:
            folder = settings.RETRYCONTRACT.data_dir
            raise CommandError(f"{error.filename or folder} cannot be used: {error.strerror or error}.") from None
        if kept is not None:
            self.stdout.write(f"What was there is kept in {kept}.")
        self.stdout.write(
            f"Restored {file}. Start the service with 'retrycontract up', or run 'retrycontract migrate' first."
        )

"""Replace the encryption key, step by step, while the service runs."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.management.private_files import VARIABLE, KeysAreGivenError, write_keys
from retrycontract.store.models import Door
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.reseal import are_foreign, note_keys, reseal_all, still_old

STEPS = ("make", "reseal", "retire")
SEALS = "The service seals with the new key from now on. Then: "
RETIRED = "The older keys open nothing in this database any more."


class Command(BaseCommand):
    """Make a key, seal with it what older ones sealed, forget the older ones: one step a call."""

    help = (
        "Replace the encryption key: 'make' a new one, 'reseal' what older keys sealed, 'retire' the older keys. Keys "
        "of the data folder count at once; where they are given to the service, restart it after 'make' and 'retire'. "
        "No submission is lost on the way."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("step", choices=STEPS)

    def handle(self, *_: Any, step: str, **__: Any) -> None:
        keys: Sequence[str] = settings.RETRYCONTRACT.encryption_keys
        {"make": self._make, "reseal": self._reseal, "retire": self._retire}[step](keys)

    def _make(self, keys: Sequence[str]) -> None:
        if len(keys) > 1:
            raise CommandError("There is an older key already: 'rotate-keys reseal' and 'retire' it first.")
        # Workers first: what a web process seals with the new key must be open to whoever judges it.
        restart = "Restart the service, workers before web processes; then: "
        is_kept = self._keep([Fernet.generate_key().decode(), *keys], "keys.made")
        self.stdout.write(f"{SEALS if is_kept else restart}retrycontract rotate-keys reseal")

    def _reseal(self, keys: Sequence[str]) -> None:
        if len(keys) < 2 and not are_foreign():  # else the service's are lost
            raise CommandError("There is one key only, and nothing to seal anew: begin with 'rotate-keys make'.")
        done = reseal_all(now=timezone.now(), actor="rotate_keys", door=Door.COMMAND)
        self.stdout.write(f"Sealed {done.resealed} anew with the newest key.")
        if done.unreadable:
            self.stdout.write(f"{done.unreadable} are opened by none of the keys, and were left as they are.")
        self.stdout.write("Keep the older keys as long as backups from before; then: retrycontract rotate-keys retire")

    def _retire(self, keys: Sequence[str]) -> None:
        if len(keys) < 2:
            raise CommandError("There is one key only: it is in use.")
        if left := still_old():
            raise CommandError(f"{left} are not sealed with the newest key: run 'rotate-keys reseal' first.")
        is_kept = self._keep(keys[:1], "keys.retired")
        self.stdout.write(f"{'' if is_kept else 'Restart the service. '}{RETIRED}")

    def _keep(self, keys: Sequence[str], event: str) -> bool:
        """Store the keys, or say what to store and give False: keys in the environment are their owner's to change."""
        # Noted first: keys that a database which cannot be written knows nothing of must not take effect.
        with write_transaction():
            note_keys(event, known=len(keys), now=timezone.now(), actor="rotate_keys", door=Door.COMMAND)
            is_kept = True
            try:
                said = f"Wrote {write_keys(keys)}."
            except KeysAreGivenError as given:
                said = f"{given}, to this, which is shown this once:\n{VARIABLE}={','.join(given.wanted)}"
                is_kept = False
        self.stdout.write(said)
        return is_kept

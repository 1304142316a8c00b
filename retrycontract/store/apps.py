"""The Django app of the models."""

import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class StoreConfig(AppConfig):
    """Give the models the label "retrycontract"."""

    name = "retrycontract.store"
    label = "retrycontract"
    verbose_name = "retrycontract"

    def ready(self) -> None:
        """Keep SQLite's files private, and the words of calls where the calls are."""
        connection_created.connect(_keep_files_private)
        # `manage.py flush` empties only tables of models.
        post_migrate.connect(_forget_words_without_calls, sender=self)


def _keep_files_private(connection: Any, **_: Any) -> None:
    # Whichever command asks first makes the file; what is written later beside it gets the file's own mode.
    for ending in ("", "-wal", "-shm") if connection.vendor == "sqlite" else ():
        path = Path(f"{connection.settings_dict['NAME']}{ending}")
        with suppress(OSError):  # it is in memory, or somebody else's
            if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
                path.chmod(mode & 0o700)


def _forget_words_without_calls(**_: Any) -> None:
    from retrycontract.store import call_texts
    from retrycontract.store.models import Call

    # New calls begin with the first key again, and would pass for those whose words are there.
    if not Call.objects.exists():
        call_texts.drop()

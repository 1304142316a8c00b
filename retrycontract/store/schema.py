"""Whether the database has the tables of this release: looked at until it has, and said once."""

from __future__ import annotations

import logging
import time
from typing import Final

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from retrycontract.store.outages import NOT_MIGRATED, REASONS, outage, reason_of

logger = logging.getLogger("retrycontract")

LOOKED_EVERY: Final = 2.0  # seconds, by who waits for a migration that somebody else runs


class SchemaWatch:
    """Tell what keeps this release from using the database; once it is migrated nothing does for good."""

    def __init__(self) -> None:
        self._is_current = self._is_told = False

    def missing(self) -> str:
        """Say that it is not migrated, "" when it is; raises DatabaseError, as of a server that does not answer."""
        if self._is_current:
            return ""
        executor = MigrationExecutor(connection)
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self._is_current = outage.is_migrated = True
            return ""
        reason = REASONS[NOT_MIGRATED]
        if not executor.loader.applied_migrations:
            outage.takes_no_writes(reason)
        elif not self._is_told:  # no outage: an older release goes on with it meanwhile
            logger.error("The database %s", reason.removeprefix("it "))
        self._is_told = True
        return reason

    def wait(self) -> None:
        """Wait until the database answers and is migrated; why, is said once."""
        while True:
            try:
                if not self.missing():
                    return
            except (DatabaseError, InterfaceError) as error:
                if not reason_of(error):
                    raise
                outage.failed(error)
            finally:
                connection.close()  # processes are forked afterwards, and a server may be another one by then
            time.sleep(LOOKED_EVERY)


database_schema = SchemaWatch()

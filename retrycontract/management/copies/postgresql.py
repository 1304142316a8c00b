"""Copies of a PostgreSQL database: dumps by PostgreSQL's own programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from retrycontract.management.copies.errors import CopyError, NotOursError

# What Django's OPTIONS may say of the way to the server, by the variable that PostgreSQL's programs read.
OPTIONS = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "service": "PGSERVICE",
    "passfile": "PGPASSFILE",
}
PLACES = {"NAME": "PGDATABASE", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "HOST": "PGHOST", "PORT": "PGPORT"}
DUMPED = ("--format=custom", "--no-owner", "--no-privileges")
# Ours and Django's, and the function of our triggers; what is of others stays as it is.
DROP = """
SET lock_timeout = '10s';
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables
    WHERE schemaname = 'public' AND tablename ~ '^(retrycontract|auth|django)_'
  LOOP EXECUTE format('DROP TABLE public.%I CASCADE', name); END LOOP;
END $$;
DROP FUNCTION IF EXISTS public.retrycontract_keep_history();
"""


@dataclass(frozen=True, slots=True)
class PostgresqlCopies:
    """Call pg_dump, pg_restore and psql; the way to the server goes through the environment."""

    database: dict[str, Any] = field(repr=False)
    suffix: str = ".dump"

    def write(self, draft: Path) -> None:
        """Write everything as it is at one moment; raises CopyError."""
        self._run("pg_dump", *DUMPED, "--file", str(draft))

    def stream(self, out: IO[bytes]) -> None:
        """Let pg_dump write to a pipe: nothing of it is kept on the way; raises CopyError."""
        self._run("pg_dump", *DUMPED, out=out)

    def migrations_in(self, copy: Path) -> set[tuple[str, str]]:
        """List the migrations of a copy that is whole; raises NotOursError."""
        if not copy.is_file():
            raise NotOursError("there is no such file")
        try:
            text = self._run("pg_restore", "--data-only", "--table=django_migrations", "--file=-", str(copy))
            # Read to its end, so that a file that is cut off is found now.
            self._run("pg_restore", f"--file={os.devnull}", str(copy))
        except CopyError as error:
            if isinstance(error, _MissingProgramError):
                raise
            raise NotOursError("it is no dump of PostgreSQL, or it is damaged") from None
        rows = [line.split("\t") for line in text.splitlines()]
        return {(row[1], row[2]) for row in rows if len(row) == 4}  # id, app, name, applied

    def keep(self, target: Path) -> None:
        """Write the database as it is before it is replaced; raises CopyError."""
        target.touch(mode=0o600)
        self.write(target)

    def replace_by(self, copy: Path) -> None:
        """Put the copy into the place of our tables, in one transaction; raises CopyError."""
        with tempfile.TemporaryDirectory() as folder:  # its owner's alone
            drop, fill = Path(folder, "drop.sql"), Path(folder, "fill.sql")
            drop.write_text(DROP, encoding="utf-8")
            self._run("pg_restore", "--no-owner", "--no-privileges", f"--file={fill}", str(copy))
            self._run(
                "psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
                "--output", os.devnull, "--file", str(drop), "--file", str(fill),
            )  # fmt: skip

    def _run(self, program: str, *arguments: str, out: IO[bytes] | None = None) -> str:
        found = shutil.which(program)
        if found is None:
            raise _MissingProgramError(program)
        run = subprocess.run(
            [found, *arguments], env=os.environ | self._environment(), stdout=out or subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            reason = next((line for line in run.stderr.splitlines() if "error" in line.lower()), run.stderr.strip())
            raise CopyError(f"{reason}. Nothing was changed.")
        return run.stdout or ""

    def _environment(self) -> dict[str, str]:
        options = self.database.get("OPTIONS") or {}
        places = {variable: str(self.database[name]) for name, variable in PLACES.items() if self.database.get(name)}
        return places | {variable: str(options[name]) for name, variable in OPTIONS.items() if options.get(name)}


class _MissingProgramError(CopyError):
    def __init__(self, program: str) -> None:
        super().__init__(
            f"{program} is not on PATH. Install the client programs of PostgreSQL (Debian: apt-get install "
            "postgresql-client), in the server's version or newer; or use 'manage.py export'."
        )

"""Tell a folder without data before the settings make keys there, as they do for a new service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from retrycontract.config.database_url import DATABASE_FILE
from retrycontract.config.variables import given, misspelt


def without_data(environ: Mapping[str, str]) -> Path | None:
    """Give the data folder of these variables when there is no service's data in it, nor in a PostgreSQL."""
    values, faults = given(environ, ("data_dir", "database_url"))
    # What is wrong with the variables is told by the settings: a misspelt one may be why it is the wrong folder.
    if faults or values.get("database_url") or any(misspelt(environ)):
        return None
    folder = Path.cwd() / (values.get("data_dir", "").strip() or "data")
    try:
        return None if (folder / DATABASE_FILE).exists() else folder
    except PermissionError:  # what cannot be looked into is told by whoever needs it
        return None


def none_in(folder: Path) -> str:
    """Say that a folder holds no data, and how to name another."""
    return (
        f"there is no service's data in {folder}: is this the right folder? RETRYCONTRACT_DATA_DIR names another, as"
        " 'up --data-dir' does; 'retrycontract up' makes new data."
    )

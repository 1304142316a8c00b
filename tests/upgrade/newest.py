"""Which migration of the product is the newest."""

from pathlib import Path

from retrycontract.store import migrations

NEWEST = max(path.stem for path in Path(migrations.__path__[0]).glob("[0-9]*.py"))

"""A column that must have a value, in a table that keeps history: SQLite makes the whole table anew for it."""

from typing import ClassVar

from django.db import migrations, models

from retrycontract.store.history import guard_history
from tests.upgrade.newest import NEWEST


class Migration(migrations.Migration):
    dependencies: ClassVar = [("retrycontract", NEWEST)]

    operations: ClassVar = [
        migrations.AddField("event", "next", models.PositiveIntegerField(db_default=7)),
        migrations.RunPython(guard_history, migrations.RunPython.noop),
    ]

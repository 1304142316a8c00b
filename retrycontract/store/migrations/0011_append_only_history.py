from django.db import migrations

from retrycontract.store.history import guard_history, unguard_history


class Migration(migrations.Migration):

    dependencies = [
        ("retrycontract", "0010_rollups"),
    ]

    operations = [
        migrations.RunPython(guard_history, unguard_history),
    ]

from django.db import migrations
from django.db.models import F, OuterRef, Subquery


def fill(apps, schema_editor):
    """Say of earlier events whose they are and when they were stored, as an agent may read from the beginning."""
    calls = apps.get_model("retrycontract", "Call").objects.filter(pk=OuterRef("call"))
    events = apps.get_model("retrycontract", "Event").objects
    events.update(stored_at=F("at"), agent=Subquery(calls.values("agent")[:1]))


class Migration(migrations.Migration):

    dependencies = [
        ("retrycontract", "0008_event_stream"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]

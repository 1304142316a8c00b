from django.conf import settings
from django.db import migrations, models

from retrycontract.contract.sanitizer import ValueSanitizer
from retrycontract.store.sealing import seal


def seal_secrets(apps, schema_editor):
    """Keep a schema that holds secrets sealed, and beside it what may be shown."""
    versions = apps.get_model("retrycontract", "ToolVersion").objects
    sanitizer = ValueSanitizer(settings.CONTRACT)
    for version in versions.order_by("pk").iterator():
        shown = sanitizer.redact_schema(version.schema)
        if shown != version.schema:
            versions.filter(pk=version.pk).update(schema=shown, sealed=seal({"schema": version.schema}))


class Migration(migrations.Migration):

    dependencies = [
        ("retrycontract", "0013_append_only_history"),
    ]

    operations = [
        migrations.AddField(
            model_name="toolversion",
            name="sealed",
            field=models.BinaryField(null=True),
        ),
        migrations.RunPython(seal_secrets, migrations.RunPython.noop),
    ]

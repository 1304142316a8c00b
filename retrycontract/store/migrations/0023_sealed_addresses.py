from django.db import migrations, models

from retrycontract.store.sealing import seal


def overwrite_what_is_deleted(apps, schema_editor):
    """Have SQLite write zeros over the addresses that it moves away from; most of them do so anyway."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("PRAGMA secure_delete = ON")


def seal_addresses(apps, schema_editor):
    """Keep addresses sealed: those of chat servers are as good as passwords."""
    endpoints = apps.get_model("retrycontract", "WebhookEndpoint").objects
    for pk, address in endpoints.order_by("pk").values_list("pk", "address"):
        endpoints.filter(pk=pk).update(sealed_address=seal({"address": address}), address="")


class Migration(migrations.Migration):

    dependencies = [
        ("retrycontract", "0022_lists"),
    ]

    operations = [
        migrations.RunPython(overwrite_what_is_deleted, migrations.RunPython.noop),
        migrations.AddField(
            model_name="webhookendpoint",
            name="sealed_address",
            field=models.BinaryField(default=b""),
            preserve_default=False,
        ),
        migrations.RunPython(seal_addresses),
        migrations.RemoveField(
            model_name="webhookendpoint",
            name="address",
        ),
    ]

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import retrycontract.store.fields
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.store.history import guard_history
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
        ("retrycontract", "0011_append_only_history"),
    ]

    operations = [
        migrations.CreateModel(
            name='GuidanceVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stage', models.CharField(choices=[('proposed', 'Proposed'), ('edited', 'Edited'), ('delivered', 'Delivered')], max_length=10)),
                ('text', models.TextField(blank=True, default='')),
                ('arguments', retrycontract.store.fields.JSONText(null=True)),
                ('patch', retrycontract.store.fields.JSONText(null=True)),
                ('at', models.DateTimeField()),
                ('guidance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='retrycontract.guidance')),
            ],
            options={
                'ordering': ('guidance', 'pk'),
                'constraints': [models.UniqueConstraint(fields=('guidance', 'stage'), name='guidanceversion_one_each'), models.CheckConstraint(condition=models.Q(('stage__in', ['proposed', 'edited', 'delivered'])), name='guidanceversion_stage_known')],
            },
        ),
        migrations.RunPython(guard_history, migrations.RunPython.noop),
        migrations.AddField(
            model_name="toolversion",
            name="sealed",
            field=models.BinaryField(null=True),
        ),
        migrations.RunPython(seal_secrets, migrations.RunPython.noop),
    ]

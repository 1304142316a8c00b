from django.db import migrations

import retrycontract.store.fields


class Migration(migrations.Migration):
    """Keep answers as text: jsonb refuses NUL and puts the members of an object in another order."""

    dependencies = [
        ("retrycontract", "0020_second_factors"),
    ]

    operations = [
        migrations.AlterField(
            model_name="idempotencykey",
            name="answer",
            field=retrycontract.store.fields.JSONText(null=True),
        ),
    ]

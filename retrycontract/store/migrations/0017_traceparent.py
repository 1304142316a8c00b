from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("retrycontract", "0016_agent_response_log")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="traceparent",
            field=models.CharField(max_length=55, null=True),
        ),
    ]

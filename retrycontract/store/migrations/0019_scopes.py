from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrycontract', '0016_agent_response_log'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=models.CharField(blank=True, default='', max_length=200),
        ),
    ]

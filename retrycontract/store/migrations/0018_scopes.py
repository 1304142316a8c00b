from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrycontract', '0017_traceparent'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=models.CharField(blank=True, default='', max_length=200),
        ),
    ]

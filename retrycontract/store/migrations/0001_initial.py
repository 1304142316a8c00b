import datetime
import django.db.models.deletion
import django.db.models.functions.datetime
import retrycontract.contract.outputs
import retrycontract.contract.lifecycle
import retrycontract.store.fields
import retrycontract.store.fields
from django.conf import settings
from django.db import migrations, models

from retrycontract.store.history import guard_history, unguard_history


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True)),
                ('namespace', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField()),
                ('work_until', models.FloatField(default=0)),
                ('work_seconds', models.FloatField(default=0)),
                ('streamed_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('name', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='OutboxMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=retrycontract.store.fields.new_message_id, max_length=40, unique=True)),
                ('channel', models.CharField(choices=[('webhook', 'Webhook'), ('email', 'Email'), ('endpoint', 'Endpoint')], max_length=10)),
                ('due_at', models.DateTimeField(null=True)),
                ('subject', models.CharField(max_length=300)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('tries', models.PositiveIntegerField(default=0)),
                ('last_tried_at', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, default='', max_length=200)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('given_up_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='Tool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.CharField(max_length=200)),
                ('name', models.CharField(max_length=300)),
                ('kind', models.CharField(choices=[('tool_call', 'Tool call'), ('agent_response', 'Agent response'), ('source_file', 'Source file'), ('extraction', 'Extraction')], default=retrycontract.contract.outputs.Kind['TOOL_CALL'], max_length=20)),
                ('description', models.TextField(blank=True, default='')),
                ('strict', models.BooleanField(default=True)),
                ('hold', models.BooleanField(default=False)),
                ('mode', models.CharField(choices=[('enforce', 'Enforce'), ('observe', 'Observe')], max_length=10, null=True)),
                ('max_attempts', models.PositiveSmallIntegerField(null=True)),
                ('expires_after', models.DurationField(null=True)),
                ('on_expiry', models.CharField(choices=[('expire', 'Expire'), ('reject', 'Reject')], max_length=10, null=True)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('namespace', 'name', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='WorkerBeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True)),
                ('beat_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('name', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='AnswerRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.CharField(max_length=200)),
                ('tool_name', models.CharField(max_length=300)),
                ('fingerprint', models.CharField(max_length=64)),
                ('digest', models.CharField(max_length=64)),
                ('decision', models.CharField(choices=[('hint', 'Hint'), ('corrected', 'Corrected')], max_length=10)),
                ('given', models.PositiveIntegerField(default=0)),
                ('tried', models.PositiveIntegerField(default=0)),
                ('worked', models.PositiveIntegerField(default=0)),
                ('last_given_at', models.DateTimeField()),
                ('text', models.TextField(blank=True, default='')),
                ('patch', retrycontract.store.fields.JSONText(null=True)),
            ],
            options={
                'ordering': ('-last_given_at', '-pk'),
                'indexes': [models.Index(fields=['last_given_at'], name='answerrecord_last_given')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'tool_name', 'fingerprint', 'digest'), name='answerrecord_unique'), models.CheckConstraint(condition=models.Q(('decision__in', ['hint', 'corrected'])), name='answerrecord_is_tried'), models.CheckConstraint(condition=models.Q(('tried__lte', models.F('given')), ('worked__lte', models.F('tried'))), name='answerrecord_counts_fit')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(max_length=16)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('scopes', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='retrycontract.agent')),
            ],
            options={
                'ordering': ('agent', 'created_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Call',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=retrycontract.store.fields.new_call_id, max_length=40)),
                ('kind', models.CharField(choices=[('tool_call', 'Tool call'), ('agent_response', 'Agent response'), ('source_file', 'Source file'), ('extraction', 'Extraction')], max_length=20)),
                ('tool_name', models.CharField(max_length=300)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('retrying', 'Retrying'), ('blocked', 'Blocked'), ('guided', 'Guided'), ('valid', 'Valid'), ('accepted', 'Accepted'), ('rejected', 'Rejected'), ('cancelled', 'Cancelled'), ('expired', 'Expired'), ('unavailable', 'Unavailable'), ('observed', 'Observed')], default=retrycontract.contract.lifecycle.CallState['PENDING'], max_length=12)),
                ('session_id', models.CharField(max_length=200, null=True)),
                ('task_id', models.CharField(max_length=200, null=True)),
                ('correlation_id', models.CharField(max_length=200, null=True)),
                ('last_turn', models.BigIntegerField(null=True)),
                ('last_tool_call_id', models.CharField(max_length=200)),
                ('model', models.CharField(max_length=200, null=True)),
                ('attempts_made', models.PositiveIntegerField(default=0)),
                ('attempts_allowed', models.PositiveIntegerField()),
                ('fingerprint', models.CharField(blank=True, default='', max_length=64)),
                ('was_answered', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('blocked_at', models.DateTimeField(null=True)),
                ('waited_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='retrycontract.agent')),
                ('tool', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='retrycontract.tool')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('call', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='retrycontract.call')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('leased', 'Leased'), ('judged', 'Judged'), ('dead', 'Dead'), ('discarded', 'Discarded'), ('unasked', 'Unasked')], max_length=10)),
                ('tool_call_id', models.CharField(max_length=200)),
                ('turn', models.BigIntegerField(null=True)),
                ('traceparent', models.CharField(max_length=55, null=True)),
                ('submitted_at', models.DateTimeField()),
                ('model', models.CharField(max_length=200, null=True)),
                ('tokens_in', models.PositiveIntegerField(null=True)),
                ('tokens_out', models.PositiveIntegerField(null=True)),
                ('seconds', models.FloatField(null=True)),
                ('finish_reason', models.CharField(max_length=200, null=True)),
                ('is_dear', models.BooleanField(default=False)),
                ('lease_token', models.CharField(blank=True, default='', max_length=40)),
                ('lease_until', models.DateTimeField(null=True)),
                ('deliveries', models.PositiveSmallIntegerField(default=0)),
                ('judged_at', models.DateTimeField(null=True)),
                ('is_valid', models.BooleanField(null=True)),
                ('status', models.CharField(blank=True, choices=[('valid', 'valid'), ('retry', 'retry'), ('blocked', 'blocked'), ('unavailable', 'unavailable')], default='', max_length=12)),
                ('is_parsed', models.BooleanField(default=False)),
                ('is_redacted', models.BooleanField(default=False)),
                ('output_hash', models.CharField(blank=True, default='', max_length=64)),
                ('api_error', models.CharField(max_length=300, null=True)),
                ('shown_attempt', models.PositiveIntegerField(default=0)),
                ('shown_max', models.PositiveIntegerField(default=0)),
                ('fingerprint', models.CharField(blank=True, default='', max_length=64)),
                ('duration_us', models.PositiveBigIntegerField(null=True)),
            ],
            options={
                'ordering': ('call', 'number'),
            },
        ),
        migrations.CreateModel(
            name='LoggedResponse',
            fields=[
            ],
            options={
                'verbose_name': 'agent response',
                'ordering': ('-call_id', 'number'),
                'proxy': True,
                'indexes': [],
                'constraints': [],
            },
            bases=('retrycontract.attempt',),
        ),
        migrations.CreateModel(
            name='Escalation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=retrycontract.store.fields.new_escalation_id, max_length=40, unique=True)),
                ('round', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('resolved', 'Resolved'), ('cancelled', 'Cancelled'), ('expired', 'Expired')], default='open', max_length=10)),
                ('text', models.TextField()),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='escalations', to='retrycontract.call')),
            ],
            options={
                'ordering': ('call', 'round'),
            },
        ),
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('claimed_at', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('operator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('escalation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='claim', to='retrycontract.escalation')),
            ],
            options={
                'ordering': ('claimed_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempts_made', models.PositiveIntegerField(null=True)),
                ('name', models.CharField(max_length=40)),
                ('actor', models.CharField(max_length=200)),
                ('door', models.CharField(choices=[('api', 'Api'), ('dashboard', 'Dashboard'), ('admin', 'Admin'), ('worker', 'Worker'), ('command', 'Command')], max_length=10)),
                ('from_state', models.CharField(blank=True, default='', max_length=12)),
                ('to_state', models.CharField(blank=True, default='', max_length=12)),
                ('data', retrycontract.store.fields.JSONText(default=dict)),
                ('at', models.DateTimeField()),
                ('stored_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='retrycontract.agent')),
                ('call', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='retrycontract.call')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='FailedLogins',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key_hash', models.CharField(max_length=64, unique=True)),
                ('begun', models.PositiveIntegerField(default=0)),
                ('begun_at', models.DateTimeField(null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('last_at', models.DateTimeField(db_index=True)),
                ('locked_until', models.DateTimeField(null=True)),
                ('operator', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='failed_logins', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'failed logins',
                'ordering': ('-last_at', '-pk'),
            },
        ),
        migrations.CreateModel(
            name='Guidance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(choices=[('hint', 'Hint'), ('corrected', 'Corrected'), ('accept', 'Accept'), ('reject', 'Reject')], max_length=10)),
                ('granted', models.PositiveSmallIntegerField()),
                ('given_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('next_valid', models.BooleanField(null=True)),
                ('base', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='retrycontract.attempt')),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='guidance', to='retrycontract.call')),
                ('escalation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='guidance', to='retrycontract.escalation')),
                ('operator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('record', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='retrycontract.answerrecord')),
                ('text', models.TextField(blank=True, default='')),
                ('rendered', models.TextField()),
                ('arguments', retrycontract.store.fields.JSONText(null=True)),
                ('patch', retrycontract.store.fields.JSONText(null=True)),
            ],
            options={
                'verbose_name_plural': 'guidance',
                'ordering': ('call', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='GuidanceVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stage', models.CharField(choices=[('proposed', 'Proposed'), ('edited', 'Edited'), ('delivered', 'Delivered')], max_length=10)),
                ('at', models.DateTimeField()),
                ('guidance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='retrycontract.guidance')),
                ('text', models.TextField(blank=True, default='')),
                ('arguments', retrycontract.store.fields.JSONText(null=True)),
                ('patch', retrycontract.store.fields.JSONText(null=True)),
            ],
            options={
                'ordering': ('guidance', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='HeldAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch', models.CharField(db_index=True, max_length=40)),
                ('decision', models.CharField(choices=[('hint', 'Hint'), ('corrected', 'Corrected'), ('accept', 'Accept'), ('reject', 'Reject')], max_length=10)),
                ('grant', models.PositiveSmallIntegerField()),
                ('base_number', models.PositiveIntegerField(null=True)),
                ('stands_days', models.PositiveSmallIntegerField(null=True)),
                ('held_at', models.DateTimeField()),
                ('send_at', models.DateTimeField()),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='retrycontract.call')),
                ('escalation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='held_answer', to='retrycontract.escalation')),
                ('operator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('text', models.TextField(blank=True, default='')),
                ('rendered', models.TextField()),
                ('arguments', retrycontract.store.fields.JSONText(null=True)),
            ],
            options={
                'ordering': ('send_at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key_hash', models.CharField(max_length=64)),
                ('request_hash', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='idempotency_keys', to='retrycontract.agent')),
                ('attempt', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='idempotency_keys', to='retrycontract.attempt')),
                ('answer', retrycontract.store.fields.JSONText(null=True)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=[('webhook', 'Webhook'), ('email', 'Email'), ('endpoint', 'Endpoint')], max_length=10)),
                ('created_at', models.DateTimeField()),
                ('escalation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='retrycontract.escalation')),
                ('message', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='retrycontract.outboxmessage')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Preferences',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('time_zone', models.CharField(blank=True, default='', max_length=64)),
                ('has_shortcuts', models.BooleanField(default=True)),
                ('operator', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='preferences', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'preferences',
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Rollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hour', models.DateTimeField()),
                ('namespace', models.CharField(max_length=200)),
                ('tool_name', models.CharField(max_length=300)),
                ('measure', models.CharField(choices=[('judged', 'Judged'), ('valid', 'Valid'), ('failure', 'Failure'), ('place', 'Place'), ('place_tokens', 'Place Tokens'), ('place_answers', 'Place Answers'), ('place_seconds', 'Place Seconds'), ('retry_text', 'Retry Text'), ('escalation', 'Escalation'), ('guidance', 'Guidance'), ('guidance_time', 'Guidance Time'), ('guidance_seconds', 'Guidance Seconds'), ('tried', 'Tried'), ('worked', 'Worked'), ('source_judged', 'Source Judged'), ('source_valid', 'Source Valid'), ('code_first', 'Code First'), ('code_recovered', 'Code Recovered'), ('tokens', 'Tokens'), ('retry_tokens', 'Retry Tokens'), ('api_error', 'Api Error'), ('outcome', 'Outcome')], max_length=20)),
                ('label', models.CharField(max_length=300)),
                ('shard', models.PositiveSmallIntegerField(default=0)),
                ('amount', models.BigIntegerField()),
            ],
            options={
                'ordering': ('-hour', '-pk'),
                'indexes': [models.Index(condition=models.Q(('shard__gt', 0)), fields=['hour'], name='rollup_spread')],
                'constraints': [models.UniqueConstraint(fields=('hour', 'namespace', 'tool_name', 'measure', 'label', 'shard'), name='rollup_unique'), models.CheckConstraint(condition=models.Q(('measure__in', ['judged', 'valid', 'failure', 'place', 'place_tokens', 'place_answers', 'place_seconds', 'retry_text', 'escalation', 'guidance', 'guidance_time', 'guidance_seconds', 'tried', 'worked', 'source_judged', 'source_valid', 'code_first', 'code_recovered', 'tokens', 'retry_tokens', 'api_error', 'outcome'])), name='rollup_measure_known')],
            },
        ),
        migrations.CreateModel(
            name='SavedReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=80)),
                ('text', models.TextField()),
                ('position', models.PositiveSmallIntegerField(null=True)),
                ('updated_at', models.DateTimeField()),
                ('operator', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'saved replies',
                'ordering': ('operator', 'position', 'title', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='ProviderIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('issuer', models.CharField(max_length=255)),
                ('subject', models.CharField(max_length=255)),
                ('linked_at', models.DateTimeField()),
                ('operator', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='identity', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'provider identities',
                'ordering': ('pk',),
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='provideridentity_is_one_operator')],
            },
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sealed', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('last_step', models.BigIntegerField(default=0)),
                ('operator', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Snooze',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(blank=True, default='', max_length=200)),
                ('snoozed_at', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('escalation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='snooze', to='retrycontract.escalation')),
                ('operator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('until', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='StandingHint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('namespace', models.CharField(max_length=200)),
                ('tool_name', models.CharField(max_length=300)),
                ('fingerprint', models.CharField(max_length=64)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('off_at', models.DateTimeField(null=True)),
                ('shown', models.PositiveIntegerField(default=0)),
                ('tried', models.PositiveIntegerField(default=0)),
                ('worked', models.PositiveIntegerField(default=0)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('source', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='retrycontract.guidance')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.AddField(
            model_name='attempt',
            name='standing_hint',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='retrycontract.standinghint'),
        ),
        migrations.AddField(
            model_name='attempt',
            name='prompt',
            field=retrycontract.store.fields.JSONText(null=True),
        ),
        migrations.AddField(
            model_name='attempt',
            name='said',
            field=retrycontract.store.fields.JSONText(null=True),
        ),
        migrations.AddField(
            model_name='attempt',
            name='errors_json',
            field=retrycontract.store.fields.JSONText(default=list),
        ),
        migrations.AddField(
            model_name='attempt',
            name='feedback',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddField(
            model_name='attempt',
            name='output',
            field=retrycontract.store.fields.JSONText(null=True),
        ),
        migrations.AddField(
            model_name='attempt',
            name='sealed',
            field=models.BinaryField(null=True),
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('span', models.CharField(choices=[('hour', 'Hour'), ('day', 'Day')], max_length=4)),
                ('at', models.DateTimeField()),
                ('is_whole', models.BooleanField()),
                ('namespace', models.CharField(max_length=200)),
                ('tool_name', models.CharField(max_length=300)),
                ('judged', models.BigIntegerField()),
                ('valid', models.BigIntegerField()),
                ('first_judged', models.BigIntegerField()),
                ('first_valid', models.BigIntegerField()),
                ('counts', retrycontract.store.fields.JSONText(default=dict)),
                ('details', retrycontract.store.fields.JSONText(default=dict)),
            ],
            options={
                'verbose_name_plural': 'summaries',
                'ordering': ('-at', '-pk'),
                'indexes': [models.Index(fields=['namespace', 'tool_name', 'span', 'at'], name='summary_by_tool')],
                'constraints': [models.UniqueConstraint(fields=('span', 'is_whole', 'at', 'namespace', 'tool_name'), name='summary_unique'), models.CheckConstraint(condition=models.Q(('span__in', ['hour', 'day'])), name='summary_span_known'), models.CheckConstraint(condition=models.Q(('is_whole', False), models.Q(('namespace', ''), ('tool_name', '')), _connector='OR'), name='summary_whole_names_nothing')],
            },
        ),
        migrations.CreateModel(
            name='ToolVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('schema_hash', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('quarantined_at', models.DateTimeField(null=True)),
                ('tool', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='retrycontract.tool')),
                ('schema', retrycontract.store.fields.JSONText()),
                ('sealed', models.BinaryField(null=True)),
            ],
            options={
                'ordering': ('tool', 'number', 'pk'),
            },
        ),
        migrations.AddField(
            model_name='tool',
            name='current_version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='retrycontract.toolversion'),
        ),
        migrations.AddField(
            model_name='call',
            name='version',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='retrycontract.toolversion'),
        ),
        migrations.AddField(
            model_name='call',
            name='context',
            field=retrycontract.store.fields.JSONText(null=True),
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tried_at', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('reason', models.CharField(blank=True, default='', max_length=200)),
                ('duration_ms', models.PositiveIntegerField()),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='retrycontract.outboxmessage')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=retrycontract.store.fields.new_endpoint_id, max_length=40, unique=True)),
                ('sealed_address', models.BinaryField()),
                ('events', retrycontract.store.fields.JSONText(default=list)),
                ('is_active', models.BooleanField(default=True)),
                ('gone_at', models.DateTimeField(null=True)),
                ('sealed', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='endpoints', to='retrycontract.agent')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.AddField(
            model_name='outboxmessage',
            name='endpoint',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='retrycontract.webhookendpoint'),
        ),
        migrations.CreateModel(
            name='ChannelTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=[('webhook', 'Webhook'), ('email', 'Email'), ('endpoint', 'Endpoint')], max_length=10)),
                ('free_at', models.DateTimeField()),
                ('failures', models.PositiveIntegerField(default=0)),
                ('lease_token', models.CharField(blank=True, default='', max_length=40)),
                ('lease_until', models.DateTimeField(null=True)),
                ('endpoint', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='turn', to='retrycontract.webhookendpoint')),
            ],
            options={
                'ordering': ('channel', 'pk'),
            },
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.UniqueConstraint(fields=('call', 'round'), name='escalation_unique_round'),
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('call',), name='escalation_one_open'),
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'answered', 'resolved', 'cancelled', 'expired'])), name='escalation_state_known'),
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('closed_at__isnull', False)), _connector='OR'), name='escalation_closed_has_time'),
        ),
        migrations.AddIndex(
            model_name='claim',
            index=models.Index(fields=['until'], name='claim_until'),
        ),
        migrations.AddConstraint(
            model_name='claim',
            constraint=models.CheckConstraint(condition=models.Q(('until__gte', models.F('claimed_at'))), name='claim_ends_later'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['agent', 'id'], name='event_by_agent'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['actor', 'id'], name='event_by_actor'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['name', 'id'], name='event_by_name'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(models.Func(models.F('id'), output_field=models.BooleanField(), template='(%(expressions)s & 255) = 0')), fields=['at'], name='event_by_time'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('door', 'api'), _negated=True), fields=['door', 'id'], name='event_by_door'),
        ),
        migrations.AddConstraint(
            model_name='failedlogins',
            constraint=models.CheckConstraint(condition=models.Q(('locked_until__isnull', True), ('failures__gt', 0), _connector='OR'), name='failedlogins_locked_has_failures'),
        ),
        migrations.AddConstraint(
            model_name='guidance',
            constraint=models.UniqueConstraint(fields=('escalation',), name='guidance_one_each'),
        ),
        migrations.AddConstraint(
            model_name='guidance',
            constraint=models.CheckConstraint(condition=models.Q(('decision__in', ['hint', 'corrected', 'accept', 'reject'])), name='guidance_decision_known'),
        ),
        migrations.AddConstraint(
            model_name='guidance',
            constraint=models.CheckConstraint(condition=models.Q(('granted__range', (0, 5))), name='guidance_grant_range'),
        ),
        migrations.AddConstraint(
            model_name='guidanceversion',
            constraint=models.UniqueConstraint(fields=('guidance', 'stage'), name='guidanceversion_one_each'),
        ),
        migrations.AddConstraint(
            model_name='guidanceversion',
            constraint=models.CheckConstraint(condition=models.Q(('stage__in', ['proposed', 'edited', 'delivered'])), name='guidanceversion_stage_known'),
        ),
        migrations.AddIndex(
            model_name='heldanswer',
            index=models.Index(fields=['send_at'], name='heldanswer_send_at'),
        ),
        migrations.AddConstraint(
            model_name='heldanswer',
            constraint=models.UniqueConstraint(fields=('escalation',), name='heldanswer_one_each'),
        ),
        migrations.AddConstraint(
            model_name='heldanswer',
            constraint=models.CheckConstraint(condition=models.Q(('send_at__gt', models.F('held_at'))), name='heldanswer_sent_later'),
        ),
        migrations.AddConstraint(
            model_name='heldanswer',
            constraint=models.CheckConstraint(condition=models.Q(('decision__in', ['hint', 'corrected', 'accept', 'reject'])), name='heldanswer_decision_known'),
        ),
        migrations.AddIndex(
            model_name='idempotencykey',
            index=models.Index(fields=['created_at'], name='idempotency_key_age'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(fields=('agent', 'key_hash'), name='idempotency_key_unique'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.CheckConstraint(condition=models.Q(('attempt__isnull', False), ('answer__isnull', False), _connector='OR'), name='idempotency_key_has_answer'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('message__isnull', True)), fields=['channel', 'id'], name='notice_waiting'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(fields=('escalation', 'channel'), name='notice_unique'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.CheckConstraint(condition=models.Q(('channel__in', ('webhook', 'email'))), name='notice_channel_known'),
        ),
        migrations.AddConstraint(
            model_name='savedreply',
            constraint=models.CheckConstraint(condition=models.Q(('position__isnull', True), ('position__range', (1, 9)), _connector='OR'), name='savedreply_position_range'),
        ),
        migrations.AddConstraint(
            model_name='savedreply',
            constraint=models.UniqueConstraint(fields=('operator', 'position'), name='savedreply_unique_own_position'),
        ),
        migrations.AddConstraint(
            model_name='savedreply',
            constraint=models.UniqueConstraint(condition=models.Q(('operator__isnull', True)), fields=('position',), name='savedreply_unique_shared_position'),
        ),
        migrations.AddIndex(
            model_name='snooze',
            index=models.Index(fields=['until'], name='snooze_until'),
        ),
        migrations.AddConstraint(
            model_name='snooze',
            constraint=models.CheckConstraint(condition=models.Q(('until__gt', models.F('snoozed_at'))), name='snooze_ends_later'),
        ),
        migrations.AddConstraint(
            model_name='standinghint',
            constraint=models.UniqueConstraint(condition=models.Q(('off_at__isnull', True)), fields=('namespace', 'tool_name', 'fingerprint'), name='standinghint_one_on'),
        ),
        migrations.AddConstraint(
            model_name='standinghint',
            constraint=models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='standinghint_ends_later'),
        ),
        migrations.AddConstraint(
            model_name='standinghint',
            constraint=models.CheckConstraint(condition=models.Q(('tried__lte', models.F('shown')), ('worked__lte', models.F('tried'))), name='standinghint_counts_fit'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(condition=models.Q(('state__in', ('queued', 'leased'))), fields=['id'], name='attempt_waiting'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(fields=['tool_call_id', 'call'], name='attempt_by_tool_call', opclasses=('varchar_pattern_ops', 'int8_ops')),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('call', 'number'), name='attempt_unique_number'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'leased', 'judged', 'dead', 'discarded', 'unasked'])), name='attempt_state_known'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('sealed__isnull', False), ('state__in', ['queued', 'leased'])), models.Q(models.Q(('state__in', ['queued', 'leased']), _negated=True), ('sealed__isnull', True)), _connector='OR'), name='attempt_sealed_until_judged'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'judged'), _negated=True), models.Q(('is_valid__isnull', False), ('judged_at__isnull', False)), _connector='OR'), name='attempt_judged_has_verdict'),
        ),
        migrations.AddConstraint(
            model_name='toolversion',
            constraint=models.UniqueConstraint(fields=('tool', 'number'), name='toolversion_unique_number'),
        ),
        migrations.AddConstraint(
            model_name='toolversion',
            constraint=models.UniqueConstraint(fields=('tool', 'schema_hash'), name='toolversion_unique_schema'),
        ),
        migrations.AddConstraint(
            model_name='tool',
            constraint=models.UniqueConstraint(fields=('namespace', 'name'), name='tool_unique_name'),
        ),
        migrations.AddConstraint(
            model_name='tool',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['tool_call', 'agent_response', 'source_file', 'extraction'])), name='tool_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='tool',
            constraint=models.CheckConstraint(condition=models.Q(('max_attempts__isnull', True), ('max_attempts__range', (1, 10)), _connector='OR'), name='tool_max_attempts_range'),
        ),
        migrations.AddConstraint(
            model_name='tool',
            constraint=models.CheckConstraint(condition=models.Q(('expires_after__isnull', True), ('expires_after__range', (datetime.timedelta(seconds=1), datetime.timedelta(days=365))), _connector='OR'), name='tool_expires_after_range'),
        ),
        migrations.AddConstraint(
            model_name='tool',
            constraint=models.CheckConstraint(condition=models.Q(('on_expiry__isnull', True), ('on_expiry__in', ('expire', 'reject')), _connector='OR'), name='tool_on_expiry_known'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state', 'blocked')), fields=['state', 'blocked_at'], name='call_queue'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state', 'blocked')), fields=['tool_name', 'fingerprint', 'agent', 'blocked_at'], name='call_by_mistake'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state__in', ['accepted', 'cancelled', 'expired', 'observed', 'rejected', 'unavailable', 'valid']), _negated=True), fields=['agent', 'session_id', 'tool_name'], name='call_open_by_session'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(fields=['agent', 'id'], name='call_by_agent'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state', 'valid'), _negated=True), fields=['state', 'id'], name='call_by_state'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('state__in', ['accepted', 'cancelled', 'expired', 'observed', 'rejected', 'unavailable', 'valid'])), fields=['updated_at'], name='call_ended'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(models.F('tool_name'), retrycontract.store.fields.Block('id'), models.F('agent'), name='call_by_tool_name'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('session_id__isnull', False)), fields=['session_id'], name='call_by_session', opclasses=('varchar_pattern_ops',)),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('correlation_id__isnull', False)), fields=['correlation_id'], name='call_by_correlation', opclasses=('varchar_pattern_ops',)),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('was_answered', True)), fields=['id', 'agent', 'state'], name='call_answered'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(models.F('tool_name'), retrycontract.store.fields.Block('id'), models.F('agent'), models.F('state'), condition=models.Q(('was_answered', True)), name='call_answered_by_tool'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('model__isnull', False)), fields=['model', 'id'], name='call_by_model'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(models.Func(models.F('id'), output_field=models.BooleanField(), template='(%(expressions)s & 255) = 0')), fields=['created_at'], name='call_by_time'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('kind', 'tool_call'), _negated=True), fields=['kind', 'id'], name='call_by_kind'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('fingerprint', ''), _negated=True), fields=['id'], name='call_failed'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('fingerprint', ''), _negated=True), fields=['tool', 'id'], name='call_failed_by_tool'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('kind', 'agent_response')), fields=['id'], name='call_responses'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('kind', 'agent_response')), fields=['agent', 'id'], name='call_responses_agent'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('kind', 'agent_response')), fields=['task_id', 'id'], name='call_responses_task'),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.UniqueConstraint(fields=('public_id',), name='call_unique_public_id', opclasses=('varchar_pattern_ops',)),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'retrying', 'blocked', 'guided', 'valid', 'accepted', 'rejected', 'cancelled', 'expired', 'unavailable', 'observed'])), name='call_state_known'),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', retrycontract.contract.lifecycle.CallState['BLOCKED']), _negated=True), ('blocked_at__isnull', False), _connector='OR'), name='call_blocked_has_time'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__isnull', True), ('status__range', (100, 999)), _connector='OR'), name='delivery_status_is_http'),
        ),
        migrations.AddConstraint(
            model_name='webhookendpoint',
            constraint=models.CheckConstraint(condition=models.Q(('gone_at__isnull', True), ('is_active', False), _connector='OR'), name='endpoint_gone_is_off'),
        ),
        migrations.AddIndex(
            model_name='outboxmessage',
            index=models.Index(condition=models.Q(('delivered_at__isnull', True), ('given_up_at__isnull', True)), fields=['channel', 'tries'], name='outbox_unfinished'),
        ),
        migrations.AddIndex(
            model_name='outboxmessage',
            index=models.Index(condition=models.Q(('delivered_at__isnull', False), ('given_up_at__isnull', False), _connector='OR'), fields=['created_at'], name='outbox_ended'),
        ),
        migrations.AddIndex(
            model_name='outboxmessage',
            index=models.Index(condition=models.Q(('delivered_at__isnull', True), ('endpoint__isnull', False), ('given_up_at__isnull', True)), fields=['endpoint', 'due_at'], name='outbox_due'),
        ),
        migrations.AddConstraint(
            model_name='outboxmessage',
            constraint=models.CheckConstraint(condition=models.Q(('channel__in', ['webhook', 'email', 'endpoint'])), name='outbox_channel_known'),
        ),
        migrations.AddConstraint(
            model_name='outboxmessage',
            constraint=models.CheckConstraint(condition=models.Q(('delivered_at__isnull', True), ('given_up_at__isnull', True), _connector='OR'), name='outbox_one_end'),
        ),
        migrations.AddConstraint(
            model_name='outboxmessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'endpoint'), ('endpoint__isnull', False), ('due_at__isnull', False)), models.Q(models.Q(('channel', 'endpoint'), _negated=True), ('endpoint__isnull', True), ('due_at__isnull', True)), _connector='OR'), name='outbox_endpoint_has_time'),
        ),
        migrations.AddConstraint(
            model_name='channelturn',
            constraint=models.CheckConstraint(condition=models.Q(('channel__in', ['webhook', 'email', 'endpoint'])), name='turn_channel_known'),
        ),
        migrations.AddConstraint(
            model_name='channelturn',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'endpoint'), ('endpoint__isnull', False)), models.Q(models.Q(('channel', 'endpoint'), _negated=True), ('endpoint__isnull', True)), _connector='OR'), name='turn_of_an_endpoint'),
        ),
        migrations.AddConstraint(
            model_name='channelturn',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('channel', 'endpoint'), _negated=True), ('endpoint__isnull', True)), fields=('channel',), name='turn_unique_channel'),
        ),
        # Whatever makes or rebuilds a guarded table ends with this: SQLite drops a table's triggers with it.
        migrations.RunPython(guard_history, unguard_history),
    ]

"""The Django app that carries the management commands."""

from django.apps import AppConfig


class CommandsConfig(AppConfig):
    """Make `manage.py` find retrycontract.management; the models live in retrycontract.store."""

    name = "retrycontract"
    label = "retrycontract_commands"
    verbose_name = "retrycontract commands"

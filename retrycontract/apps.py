"""The Django app that carries the management commands."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string

from retrycontract.config.service_settings import PREFIX, ServiceSettings, WrongSettingError


class CommandsConfig(AppConfig):
    """Make `manage.py` find retrycontract.management; the models live in retrycontract.store."""

    name = "retrycontract"
    label = "retrycontract_commands"
    verbose_name = "retrycontract commands"

    def ready(self) -> None:
        """Refuse a class of the settings that is not there; the product's own are imported when they are needed."""
        for name in ("courier", "doorbell"):
            path = getattr(settings.RETRYCONTRACT, name)
            if path == ServiceSettings.model_fields[name].default:
                continue
            try:
                import_string(path)
            except ImportError as error:
                wanted = "name a class that can be imported, as package.module.Class"
                raise WrongSettingError([f"{PREFIX}{name.upper()}: {wanted} ({error})"]) from None

"""The Django apps of the management commands and of the admin."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig
from django.utils.module_loading import import_string

from retrycontract.config.service_settings import PREFIX, ServiceSettings, WrongSettingError

# What the service asks of each class that a setting names.
CLASSES = {"courier": ("deliver",), "doorbell": ("attempt_queued", "call_changed", "is_heard")}


class CommandsConfig(AppConfig):
    """Make `manage.py` find retrycontract.management; the models live in retrycontract.store."""

    name = "retrycontract"
    label = "retrycontract_commands"
    verbose_name = "retrycontract commands"

    def ready(self) -> None:
        """Refuse a class of the settings that is not there or can't; the product's own are imported when needed."""
        for name, does in CLASSES.items():
            path = getattr(settings.RETRYCONTRACT, name)
            if path == ServiceSettings.model_fields[name].default:
                continue
            try:
                found = import_string(path)
            except ImportError as error:
                wanted = f"name a class that can be imported, as package.module.Class ({error})"
            else:
                lacks = [method for method in does if not callable(getattr(found, method, None))]
                if isinstance(found, type) and not lacks:
                    continue
                wanted = f"{path} is no class with {' and '.join(f'{method}()' for method in lacks or does)}"
            raise WrongSettingError([f"{PREFIX}{name.upper()}: {wanted}"])


class AdminConfig(SimpleAdminConfig):
    """Serve our own site, with our pages alone: what other packages would register is not wanted."""

    default_site = "retrycontract.admin.site.Site"

    def ready(self) -> None:
        """Register the pages; their modules need the models, so they are imported now."""
        super().ready()
        for name in ("agents", "answering", "tools", "history", "outbox", "operators"):
            import_module(f"retrycontract.admin.{name}")

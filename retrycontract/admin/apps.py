"""The Django app of the admin."""

from importlib import import_module

from django.contrib.admin.apps import SimpleAdminConfig

PAGES = (
    "agents",
    "answering",
    "tools",
    "history",
    "outbox",
    "operators",
)


class AdminConfig(SimpleAdminConfig):
    """Serve our own site, with our pages alone: what other packages would register is not wanted."""

    default_site = "retrycontract.admin.site.Site"

    def ready(self) -> None:
        """Register the pages; their modules need the models, so they are imported now."""
        super().ready()
        for name in PAGES:
            import_module(f"retrycontract.admin.{name}")

"""The Django app of the models."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class StoreConfig(AppConfig):
    """Give the models the label "retrycontract"."""

    name = "retrycontract.store"
    label = "retrycontract"
    verbose_name = "retrycontract"

    def ready(self) -> None:
        """Have the words of calls go with the calls: `manage.py flush` empties only tables of models."""
        post_migrate.connect(_forget_words_without_calls, sender=self)


def _forget_words_without_calls(**_: Any) -> None:
    from retrycontract.store import call_texts
    from retrycontract.store.models import Call

    # New calls begin with the first key again, and would pass for those whose words are there.
    if not Call.objects.exists():
        call_texts.drop()

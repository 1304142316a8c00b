"""The Django app of the models."""

from django.apps import AppConfig


class StoreConfig(AppConfig):
    """Give the models the label "retrycontract"."""

    name = "retrycontract.store"
    label = "retrycontract"
    verbose_name = "retrycontract"

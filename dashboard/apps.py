"""The Django app of the operators' desk."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Carry the pages, their templates and their static files."""

    name = "dashboard"

"""What the settings of the service say that people at the desk want to know; nothing of it is a secret."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings

from retrycontract.config.service_settings import ServiceSettings
from retrycontract.contract.durations import shown_duration
from retrycontract.store.models.endpoints import shortened

NOBODY = "nobody"


def service_facts() -> list[tuple[str, str]]:
    """Say how long history is kept, who is told of escalations and how often, and when sessions end."""
    return list(_facts(settings.RETRYCONTRACT))


def _facts(service: ServiceSettings) -> Iterable[tuple[str, str]]:
    days = service.retention_days
    yield "Calls that ended are kept", shown_duration(timedelta(days=days)) if days else "for good"
    yield "A Blocked call waits", shown_duration(timedelta(days=service.blocked_expires_after_days))
    yield (
        "Escalations go by webhook to",
        shortened(address) if (address := service.notify_webhook_url) else NOBODY,
    )
    yield "and by e-mail to", ", ".join(service.notify_email) or NOBODY
    if service.notify_webhook_url or service.notify_email:
        yield "Pause between two messages", shown_duration(timedelta(seconds=service.notify_pause_seconds))
    yield "You must log in again when idle for", shown_duration(timedelta(minutes=service.session_idle_minutes))

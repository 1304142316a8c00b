"""Change how a tool is judged, without a new schema; each change leaves an event."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from retrycontract.contract.durations import shown_duration
from retrycontract.store.models import Door, Event, Tool, ToolVersion
from retrycontract.store.transactions import write_transaction

CHANGEABLE = ("strict", "hold", "mode", "max_attempts", "expires_after", "on_expiry")


def change_tool(tool: Tool, settings: dict[str, Any], *, now: datetime, actor: str, door: Door) -> None:
    """Store the settings that differ; None means 'as the configuration says'."""
    unknown = set(settings) - set(CHANGEABLE)
    if unknown:
        raise ValueError(f"a tool has no setting {', '.join(sorted(unknown))}; it has {', '.join(CHANGEABLE)}")
    with write_transaction():
        held = Tool.objects.select_for_update().get(pk=tool.pk)
        changes = {name: value for name, value in settings.items() if getattr(held, name) != value}
        if not changes:
            return
        Tool.objects.filter(pk=tool.pk).update(**changes, updated_at=now)
        told = {name: shown_duration(v) if isinstance(v, timedelta) else v for name, v in changes.items()}
        Event.record(
            "tool.changed", actor=actor, door=door, at=now, tool=held.name, namespace=held.namespace, changes=told
        )


def release_version(version: ToolVersion, *, now: datetime, actor: str, door: Door) -> bool:
    """Let a quarantined version be judged at the door again; False when it was not in quarantine."""
    with write_transaction():
        held = ToolVersion.objects.filter(pk=version.pk, quarantined_at__isnull=False)
        if not held.update(quarantined_at=None):
            return False
        Event.record("version.released", actor=actor, door=door, at=now, tool=version.tool.name, version=version.number)
    return True

"""Signs of life of the workers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import models

from retrycontract.store.transactions import write_turn

BEAT_EVERY: Final = timedelta(seconds=10)
ALIVE_FOR: Final = timedelta(seconds=60)  # six beats
PROBE: Final = "readiness probe"
PROBED_EVERY: Final = timedelta(seconds=1)  # probes may come often, from many sides
REMEMBERED_FOR: Final = timedelta(days=1)


class WorkerBeatQuerySet(models.QuerySet["WorkerBeat"]):
    """Write and read signs of life."""

    def beat(self, name: str, now: datetime) -> None:
        """Note that a worker lives, at most every ten seconds; forget the long gone."""
        known = self.filter(name=name)
        if known.filter(beat_at__gt=now - BEAT_EVERY).exists():
            return
        with write_turn():
            if not known.update(beat_at=now):
                self.get_or_create(name=name, defaults={"beat_at": now})
                self.filter(beat_at__lt=now - REMEMBERED_FOR).delete()

    def probe(self, now: datetime) -> None:
        """Write one small row, which counts for no worker, unless one was written within a second."""
        dated = now - ALIVE_FOR
        if not self.filter(name=PROBE, beat_at__gt=dated - PROBED_EVERY, beat_at__lte=dated).exists():
            self.update_or_create(name=PROBE, defaults={"beat_at": dated})

    def alive(self, now: datetime) -> WorkerBeatQuerySet:
        """Keep the workers that were heard of lately."""
        return self.filter(beat_at__gt=now - ALIVE_FOR).exclude(name=PROBE)


class WorkerBeat(models.Model):
    """The last sign of life of one worker."""

    name = models.CharField(max_length=200, unique=True)
    beat_at = models.DateTimeField()

    objects = WorkerBeatQuerySet.as_manager()

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name

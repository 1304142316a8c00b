"""Count history anew."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from retrycontract.store.models import Door
from retrycontract.usecases.counts.recount import first_hour, first_whole_hour, rebuild_rollups, sum_up_everything


class Command(BaseCommand):
    """Put the counts that history gives in the place of those that are there; the service may run meanwhile."""

    help = "Count history anew, hour by hour: what metrics and insights show. The hour under way is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the first hour: what came before it stays as it was counted."""
        parser.add_argument(
            "--since",
            type=_moment,
            metavar="DATE",
            help="the first day or hour in UTC, such as 2030-01-31 or 2030-01-31T12; default: the first one of "
            "which history says everything",
        )

    def handle(self, *_: Any, since: datetime | None, **__: Any) -> None:
        whole = first_whole_hour()
        if since and whole and since < whole:
            told = f"Say --since {whole:%Y-%m-%dT%H} or later, or nothing."
            raise CommandError(f"Retention has forgotten calls from before; their counts would be lost. {told}")
        start = since or first_hour()
        counted = 0
        if start:
            counted = rebuild_rollups(since=start, now=timezone.now(), actor="rebuild_metrics", door=Door.COMMAND)
            sum_up_everything(now=timezone.now())
        said = f" since {start:%Y-%m-%d %H:00} UTC" if start else ""
        self.stdout.write(f"Rebuilt {counted} counters{said}.")


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no date such as 2030-01-31 or 2030-01-31T12") from None

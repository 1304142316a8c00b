"""Say what is wrong and what to do about it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from retrycontract.management.doctor import Level
from retrycontract.management.doctor.examination import examine


class Command(BaseCommand):
    """Print one line for each thing that was looked at; exit status 1 when something fails."""

    help = "Check database, migrations, broker, workers, keys, clock, disk and settings, and say what to do."
    requires_system_checks = ()  # they need what is examined here

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the form of the answer."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print a JSON list instead")

    def handle(self, *_: Any, as_json: bool, **__: Any) -> None:
        """Look and tell."""
        findings = examine(timezone.now())
        if as_json:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            self.stdout.write("\n".join(map(str, findings)))
        if any(finding.level is Level.FAIL for finding in findings):
            sys.exit(1)

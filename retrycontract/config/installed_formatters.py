"""Gather the custom formatters: those that installed packages offer, and those that are handed in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import entry_points

from retrycontract.contract import events
from retrycontract.contract.feedback.formatter import Formatter, Formatters

GROUP = "retrycontract.formatters"  # an entry point's name is the tool's name or a glob

logger = logging.getLogger("retrycontract")


def gather_formatters(given: Mapping[str, Formatter] | None = None) -> Formatters:
    """Give the custom formatters by tool name or glob; for the same name the given one counts.

    Raises TypeError for one that cannot be called.
    """
    for name, formatter in (given or {}).items():
        if not callable(formatter):
            raise TypeError(f"the formatter of {name!r} is {formatter!r:.80}: give a function that takes a Feedback")
    return Formatters({**(given or {}), **_installed(), **(given or {})}, _report)  # the given ones come first


@lru_cache(maxsize=1)
def _installed() -> dict[str, Formatter]:
    """Load what packages offer; one that cannot be loaded is logged and left out."""
    found: dict[str, Formatter] = {}
    for offered in entry_points(group=GROUP):
        try:
            found[offered.name] = offered.load()
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            _report(offered.name, f"it cannot be loaded: {type(error).__name__}")
    return found


def _report(name: str, reason: str) -> None:
    logger.warning(events.FORMATTER_FAILED, extra={"tool_name": name, "reason": reason})

"""What the sanitiser costs on the worst inputs that we know, in milliseconds per megabyte."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time
from typing import Any

from retrycontract import ValueSanitizer
from tests.contract.pathological import TEXTS, VALUES

MEGABYTE = 1_000_000


def milliseconds_per_megabyte(size: int = MEGABYTE) -> dict[str, float]:
    """Redact and preview each input once; the slowest first."""
    sanitizer = ValueSanitizer()
    inputs: dict[str, Callable[[int], Any]] = {**TEXTS, **VALUES}
    costs = {name: _cost(sanitizer, make(size)) for name, make in inputs.items()}
    return dict(sorted(costs.items(), key=lambda item: -item[1]))


def _cost(sanitizer: ValueSanitizer, value: Any) -> float:
    characters = len(value) if isinstance(value, str) else _length_as_json(value)
    started = process_time()
    sanitizer.redact(value)
    sanitizer.preview(value)
    return (process_time() - started) * 1000 * MEGABYTE / characters


def _length_as_json(value: Any) -> int:
    """Count characters without recursion: `json` refuses to go as deep as some of these values."""
    characters, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            characters += sum(len(key) + 4 for key in item)
            pending.extend(item.values())
        elif isinstance(item, list):
            characters += 2 + len(item)
            pending.extend(item)
        else:
            characters += len(json.dumps(item))
    return max(characters, 1)

"""The sanitiser against published credentials and arguments that real models wrote."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

pytestmark = pytest.mark.corpus
SANITIZER = ValueSanitizer()
LEAST_RECALL = 0.97
LEAST_UNCHANGED = 0.995
LEAST_RECALL_OF_PERSONAL_DATA = 0.9


def rows(name: str) -> list[dict[str, Any]]:
    folder = os.environ.get("RETRYCONTRACT_CORPUS")
    if not folder:
        reason = "RETRYCONTRACT_CORPUS does not name the folder of published data"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with (Path(folder or "") / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def text(row: dict[str, Any], field: str) -> str:
    return base64.b64decode(row[field]).decode()


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


def test_published_credentials_are_redacted() -> None:
    positives = [row for row in rows("secrets.jsonl") if row["score_as"] == "positive"]
    missed = [
        row["id"] for row in positives if text(row, "expected_secret_b64") in SANITIZER.redact(text(row, "sample_b64"))
    ]
    assert positives
    assert 1 - len(missed) / len(positives) >= LEAST_RECALL, missed


def test_published_harmless_arguments_stay_unchanged() -> None:
    samples = [text(row, "sample_b64") for row in rows("secrets.jsonl") if row["score_as"] == "benign_strict"]
    changed = [sample for sample in samples if SANITIZER.redact(sample) != sample]
    assert samples
    assert 1 - len(changed) / len(samples) >= LEAST_UNCHANGED, changed


def test_strings_of_real_valid_calls_stay_unchanged() -> None:
    pairs = []
    for row in rows("real_valid_calls.jsonl"):
        arguments = json.loads(row["arguments_raw"])
        pairs += zip(strings(arguments), strings(SANITIZER.redact(arguments)), strict=True)
    changed = [before for before, after in pairs if before != after]
    assert pairs
    assert 1 - len(changed) / len(pairs) >= LEAST_UNCHANGED, changed


def test_published_payment_cards_are_redacted() -> None:
    cards = [text(row, "sample_b64") for row in rows("secrets.jsonl")
             if row["score_as"] == "pii_positive" and row["rule_id"].endswith("CREDIT_CARD")]  # fmt: skip
    missed = [card for card in cards if "[REDACTED: CREDIT_CARD]" not in SANITIZER.redact(card)]
    assert cards
    assert not missed


def test_published_personal_data_goes_in_strict_mode() -> None:
    strict = ValueSanitizer(RetryConfiguration(sanitizer_mode="strict"))
    data = [text(row, "sample_b64") for row in rows("secrets.jsonl") if row["score_as"] == "pii_positive"]
    missed = [sample for sample in data if strict.redact(sample) == sample]
    assert data
    assert 1 - len(missed) / len(data) >= LEAST_RECALL_OF_PERSONAL_DATA, missed


@pytest.mark.parametrize("name", ["naughty_strings.jsonl", "malformed_json.jsonl", "real_invalid_calls.jsonl"])
def test_strings_that_break_things_break_nothing(name: str) -> None:
    for row in rows(name):
        SANITIZER.preview(row).encode("utf-8")
        once = SANITIZER.redact(row)
        assert SANITIZER.redact(once) == once
        for string in strings(row):
            assert len(SANITIZER.preview_text(string, 100)) <= 100

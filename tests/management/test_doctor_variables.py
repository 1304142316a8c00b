"""The doctor reads variables and keys: misspelt ones are named, empty ones give no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrycontract.management.doctor import Level
from tests.file_database import file_database as file_database
from tests.management.test_doctor import Setup, found, lose_key
from tests.management.test_doctor import service as service


@pytest.mark.parametrize("name", ["RETRYCONTRCT_HTTPS", "RETRYCONTRACTS_HTTPS", "retrycontract_HTTPS"])
def test_a_variable_whose_first_word_is_misspelt_is_named(
    service: Setup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "true")
    assert [(finding.level, finding.text) for finding in found("variables")] == [
        (Level.WARN, f"Nothing reads {name}: did you mean RETRYCONTRACT_HTTPS?")
    ]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("retrycontract_max_attempts", "did you mean RETRYCONTRACT_MAX_ATTEMPTS?"),
        ("RETRY_CONTRACT_MODE", "did you mean RETRYCONTRACT_MODE?"),
        ("Retry_Contract_Redis_Uri", "did you mean RETRYCONTRACT_REDIS_URL?"),
        ("RETRYCONTRCT_QQQQQQ", "docs/settings.md lists them all"),
    ],
)
def test_a_variable_is_answered_with_one_that_exists(
    service: Setup, monkeypatch: pytest.MonkeyPatch, name: str, advice: str
) -> None:
    monkeypatch.setenv(name, "3")
    assert [finding.text for finding in found("variables")] == [f"Nothing reads {name}: {advice}"]


def test_keys_that_are_given_need_no_file(service: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRYCONTRACT_SECRET_KEY", "given")
    monkeypatch.setenv("RETRYCONTRACT_ENCRYPTION_KEYS_FILE", "/run/secrets/key")
    lose_key(service)
    assert [finding.text for finding in found("keys")] == [
        "RETRYCONTRACT_SECRET_KEY is given.",
        "RETRYCONTRACT_ENCRYPTION_KEYS is given.",
    ]


@pytest.mark.parametrize("name", ["RETRYCONTRACT_SECRET_KEY", "RETRYCONTRACT_SECRET_KEY_FILE"])
def test_a_variable_that_is_empty_gives_no_key(service: Setup, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    lose_key(service)
    finding = found("keys")[0]
    assert (finding.level, "secret_key is gone" in finding.text) == (Level.FAIL, True)


def test_a_file_that_is_empty_gives_no_key(service: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("\n")
    monkeypatch.setenv("RETRYCONTRACT_SECRET_KEY_FILE", str(tmp_path / "given"))
    lose_key(service)
    assert found("keys")[0].level is Level.FAIL

"""The two modes: balanced redacts secrets, strict redacts in doubt."""

from __future__ import annotations

import pytest

from retrycontract.contract.configuration import ConfigurationError, RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

BALANCED = ValueSanitizer()
STRICT = ValueSanitizer(RetryConfiguration(sanitizer_mode="strict"))
DIGEST = "da39a3ee5e6b4b0d3255" + "bfef95601890afd80709"
IDENTIFIER = "8f14e45f-ceea-467f-a9c4-" + "0e2b1d5a7c33"

PERSONAL = [
    ("EMAIL", "write to ana.lopez+x@mail.example.org soon", "ana.lopez+x@mail.example.org"),
    ("PHONE", "call +49 30 901820 now", "+49 30 901820"),
    ("PHONE", "call (415) 555-0132 now", "(415) 555-0132"),
    ("PHONE", "call 030 90182012 now", "030 90182012"),
    ("IBAN", "to DE89 3704 0044 0532 0130 00 please", "DE89 3704 0044 0532 0130 00"),
    ("IBAN", "to GB82WEST12345698765432", "GB82WEST12345698765432"),
    ("US_SSN", "SSN 536-90-4399.", "536-90-4399"),
    ("UK_NINO", "NI number AB 12 34 56 C", "AB 12 34 56 C"),
    ("ES_DNI", "DNI 12345678Z", "12345678Z"),
    ("IT_FISCAL_CODE", "codice RSSMRA85T10A562S", "RSSMRA85T10A562S"),
    ("BR_CPF", "CPF 529.982.247-25", "529.982.247-25"),
    ("PL_PESEL", "PESEL 44051401359", "44051401359"),
    ("IP_ADDRESS", "from 203.0.113.7 today", "203.0.113.7"),
    ("IP_ADDRESS", "from 2001:db8::7.", "2001:db8::7"),
    ("MAC_ADDRESS", "card 00:1b:44:11:3a:b7", "00:1b:44:11:3a:b7"),
]

WRONG_CHECK_DIGITS = ["DE89 3704 0044 0532 0130 01", "DNI 12345678A", "CPF 529.982.247-24", "from 203.0.113.777"]


@pytest.mark.parametrize(("mark", "text", "datum"), PERSONAL)
def test_personal_data_goes_in_strict_mode_only(mark: str, text: str, datum: str) -> None:
    assert BALANCED.redact_text(text) == text
    assert STRICT.redact_text(text) == text.replace(datum, f"[REDACTED: {mark}]")
    assert datum not in str(STRICT.redact({"note": [text], text: 1}))
    assert datum not in STRICT.preview({"note": text})


@pytest.mark.parametrize("text", WRONG_CHECK_DIGITS)
def test_a_number_whose_check_digit_is_wrong_is_no_personal_number(text: str) -> None:
    assert f"[REDACTED: {text.partition(' ')[0]}" not in STRICT.redact_text(text)
    assert not any(mark in STRICT.redact_text(text) for mark in ("IBAN", "ES_DNI", "BR_CPF", "IP_ADDRESS"))


@pytest.mark.parametrize(
    ("name", "value"), [("commit", DIGEST), ("request_id", IDENTIFIER), ("idempotency_key", IDENTIFIER)]
)
def test_digests_and_identifiers_go_in_strict_mode_only(name: str, value: str) -> None:
    assert BALANCED.redact({name: value}) == {name: value}
    assert value not in STRICT.redact({name: value})[name]


@pytest.mark.parametrize(
    "text",
    ["www.example.com", "report.final.pdf", "1.2.3", "src/a.py", "max_tokens: 5", "The quick brown fox", "2024-05-01",
     "2024-05-01T12:30:00Z", "uft8", "page 3 of 12", "localhost 127.0.0.1", "12:30:45", "a::b", "v1.2.3-rc.1"],
)  # fmt: skip
def test_ordinary_words_stay_in_strict_mode(text: str) -> None:
    assert STRICT.redact({"text": text}) == {"text": text}


def test_cards_and_credentials_go_in_both_modes() -> None:
    text = "pay with 4111 1111 " + "1111 1111 and ghp_" + "a1B2c3D4e" * 4
    for sanitizer in (BALANCED, STRICT):
        assert sanitizer.redact_text(text) == "pay with [REDACTED: CREDIT_CARD] and [REDACTED: GITHUB_TOKEN]"


def test_strict_redaction_is_stable() -> None:
    for _, text, _ in PERSONAL:
        once = STRICT.redact_text(text)
        assert STRICT.redact_text(once) == once


@pytest.mark.parametrize("key", ["mode", "sanitizer_mode", "Mode"])
def test_the_mode_stands_in_its_section(key: str) -> None:
    read = RetryConfiguration.from_mapping({"sanitizing": {key: "strict"}}, source="config.yml")
    assert read == RetryConfiguration(sanitizer_mode="strict")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"sanitizing\.mode: must be 'balanced' or 'strict', not 'lax'"):
        RetryConfiguration.from_mapping({"sanitizing": {"mode": "lax"}}, source="config.yml")
    with pytest.raises(ConfigurationError, match="sanitizer_mode"):
        RetryConfiguration(sanitizer_mode="lax")  # type: ignore[arg-type]  # what a caller may write

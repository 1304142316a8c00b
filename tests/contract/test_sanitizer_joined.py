"""Payment cards and keys that letters, `_` or `.` touch; ids, numbers and digests with a check digit by chance."""

from __future__ import annotations

import random
import string
from uuid import UUID

import pytest

from retrycontract.contract.redaction.credentials import passes_luhn
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
NEIGHBOURS = 200
MIXED = string.ascii_letters + string.digits
GROUPED = ("x_{}", "x.{}", "n{}", "{}_x", "t_{}", "pay_{}_now", "card_{}", "my.{}.old", "id{}")
IN_ONE_PIECE = ("card_{}", "card.{}", "visa{}", "cc_{}", "card_number_{}", "tarjeta_{}", "debit-{}", "creditcard{}_x")

IDS = ("user_{0}", "msg.{0}", "acc_{0}", "{0}_thumb.jpg", "0.{0}",
       "v1.{0}", "n{0}", "file_25{2}", "a{0}f", "ts_17{3}", "1{1}", "0.{1}",
       "gafhf_eefghihhiiiifhifhhdhifhiiiihifdgdhggf")  # fmt: skip


def card(dice: random.Random) -> str:
    """Make the number of a Visa card."""
    while True:
        digits = "4" + "".join(dice.choices(string.digits, k=15))
        if passes_luhn(digits.encode()) and "1111" not in digits:
            return digits


def in_groups(digits: str, separator: str) -> str:
    return separator.join(digits[place : place + 4] for place in range(0, 16, 4))


def redactions(text: str) -> list[str]:
    return [SANITIZER.redact_text(text), SANITIZER.redact_name(text), SANITIZER.redact_identifier(text)]


def test_a_card_goes_whatever_touches_it() -> None:
    dice = random.Random(21)
    for number in range(NEIGHBOURS):
        digits = card(dice)
        for separator in " -":
            text = GROUPED[number % len(GROUPED)].format(in_groups(digits, separator))
            if text.startswith(("id", "{}")) and separator == "-":
                continue  # so may the groups of a UUID begin
            assert all(in_groups(digits, separator) not in shown for shown in redactions(text)), text
        text = IN_ONE_PIECE[number % len(IN_ONE_PIECE)].format(digits)
        assert all(digits not in shown for shown in redactions(text)), text


def test_ids_numbers_and_digests_with_a_check_digit_stay() -> None:
    dice = random.Random(22)
    for _ in range(NEIGHBOURS):
        digits = card(dice)
        for form in IDS:
            text = form.format(digits, in_groups(digits, " "), digits[2:], digits[:11])
            assert SANITIZER.redact_text(text) == text
        uuid = str(UUID(f"{dice.getrandbits(16):04x}{digits}{dice.getrandbits(48):012x}"))
        assert SANITIZER.redact_text(f"f{uuid}") == f"f{uuid}"


@pytest.mark.parametrize("around", ["my{}", "x_{}", "{}_value", "{}"])
def test_a_key_goes_whatever_touches_it(around: str) -> None:
    dice = random.Random(23)

    def body(length: int, characters: str = MIXED) -> str:
        return "".join(dice.choices(characters, k=length))

    for _ in range(NEIGHBOURS // 4):
        for head, tail in (
            ("AK" + "IA", body(16, string.ascii_uppercase + string.digits)),
            (f"xoxb-{body(12, string.digits)}-", body(24)), (f"SG.{body(22)}.", body(43)),
            ("hf" + "_", body(34, string.ascii_letters)), ("AIza" + "Sy", body(33)), ("npm" + "_", body(36)),
        ):  # fmt: skip
            text = around.format(head + tail)
            assert all(tail not in shown for shown in redactions(text)), text

"""Payment cards: what their numbers look like, and the check digit that proves them."""

from __future__ import annotations

import re2

from retrycontract.contract.redaction.detectors import Detector

# Issuer ranges with their lengths: Visa, Mastercard, American Express, Discover, Diners, JCB, Maestro, UnionPay.
_ISSUED = re2.compile(
    rb"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    rb"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|50\d{14}|5[6-8]\d{14}"
    rb"|6(?:304|759|76[123])\d{12}|62\d{14,17}"
)
# From the character of a digit to its value, and to the digit sum of its double.
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))


def passes_luhn(digits: bytes) -> bool:
    """Say whether the digits carry a valid Luhn check digit."""
    plain, doubled = digits[::-2].translate(_VALUES), digits[-2::-2].translate(_DOUBLED)
    return (sum(plain) + sum(doubled)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = text.encode().translate(None, b" -")
    return passes_luhn(digits) and bool(_ISSUED.fullmatch(digits)) and len(set(digits)) > 1


def is_card_number(number: int) -> bool:
    """Say whether a whole number is a valid payment card number."""
    return 10**12 <= number < 10**19 and _is_card(str(number))


CARD = Detector(
    "CREDIT_CARD",
    r"(?:^|[^\w.])([2-6][0-9]{12,18}|[2-6][0-9]{3}(?:[ -][0-9]{4}){3}|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{5})\b",
    _is_card,
)

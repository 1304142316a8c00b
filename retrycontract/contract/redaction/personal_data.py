"""The table of personal data, which strict mode redacts: by check digit where there is one, by form elsewhere."""

from __future__ import annotations

from ipaddress import ip_address

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


# The dihedral group of order ten, and the permutation of digits by place: the scheme of Verhoeff.
_VERHOEFF_PRODUCTS = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_PLACES = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def _plain(text: str) -> str:
    """Leave out what only groups the characters."""
    return "".join(c for c in text if c.isalnum()).upper()


def _weighed(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_iban(text: str) -> bool:
    account = _plain(text)
    return 15 <= len(account) <= 34 and int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1


def _is_us_ssn(text: str) -> bool:
    area, group, serial = text[:3], text[4:6], text[7:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_aadhaar(text: str) -> bool:
    check = 0
    for place, digit in enumerate(reversed(_plain(text))):
        check = int(_VERHOEFF_PRODUCTS[check][int(_VERHOEFF_PLACES[place % 8][int(digit)])])
    return check == 0


def _is_nhs(text: str) -> bool:
    digits = _plain(text)
    return len(set(digits)) > 1 and _weighed(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _is_dni(text: str) -> bool:
    number = _plain(text)
    digits = {"X": "0", "Y": "1", "Z": "2"}.get(number[0], number[0]) + number[1:-1]
    return _DNI_LETTERS[int(digits) % 23] == number[-1]


def _is_nir(text: str) -> bool:
    number = _plain(text).replace("2A", "19").replace("2B", "18")
    return 97 - int(number[:13]) % 97 == int(number[13:])


def _is_cpf(text: str) -> bool:
    digits = _plain(text)
    first = _weighed(digits[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighed(digits[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    return len(set(digits)) > 1 and digits[9:] == f"{first}{second}"


def _is_pesel(text: str) -> bool:
    return len(set(text)) > 1 and _weighed(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _is_phone(text: str) -> bool:
    return 8 <= sum(c.isdigit() for c in text) <= 15


def _is_national_phone(text: str) -> bool:
    """Ask for one digit more than a date has."""
    return 9 <= sum(c.isdigit() for c in text) <= 13


def _is_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback)


PERSONAL_DATA: tuple[Detector, ...] = (
    Detector("EMAIL", r"[\w.+%'-]*[\w+]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}"),
    Detector("IBAN", r"\b[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?\b", _is_iban),
    Detector("US_SSN", r"(?:^|[^\w-])([0-9]{3}[ .-][0-9]{2}[ .-][0-9]{4})\b", _is_us_ssn),
    Detector("US_PASSPORT", r"\b[A-Z][0-9]{8}\b"),
    Detector("IN_AADHAAR", r"(?:^|[^\w-])([2-9][0-9]{3}([ :-]?)[0-9]{4}[ :-]?[0-9]{4})\b", _is_aadhaar),
    Detector("UK_NHS", r"(?:^|[^\w-])([0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4})\b", _is_nhs),
    Detector("UK_NINO", r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b"),
    Detector("ES_DNI", r"\b(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-HJ-NP-TV-Z]\b", _is_dni),
    Detector("IT_FISCAL_CODE", r"(?i)\b[a-z]{6}[0-9]{2}[a-ehlmprst][0-9]{2}[a-z][0-9]{3}[a-z]\b"),
    Detector("FR_NIR", r"\b[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}\b",
             _is_nir),
    Detector("BR_CPF", r"\b[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}\b", _is_cpf),
    Detector("PL_PESEL", r"\b[0-9]{11}\b", _is_pesel),
    Detector("PHONE", r"(?:^|[^\w.+-])(\+[0-9][0-9 ()./-]{5,20}[0-9])\b", _is_phone),
    Detector("PHONE", r"(?:^|[^\w.+-])(\(?[0-9]{3}\)?[ .-]?[0-9]{3}[ .-][0-9]{4}|1[3-9][0-9]{9})\b", _is_phone),
    Detector("PHONE", r"(?:^|[^\w.+-])(0[0-9]{1,4}[ /-][0-9]{2,8}(?:[ -][0-9]{2,8}){0,3})\b", _is_national_phone),
    Detector("IP_ADDRESS",
             r"(?:^|[^\w.:-])([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:(?:[0-9A-Fa-f:.]*[0-9A-Fa-f])?)",
             _is_address),
    Detector("MAC_ADDRESS", r"\b(?:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}"
             r"|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})\b"),
    Detector("CRYPTO_WALLET", r"\b(?:bc1[02-9ac-hj-np-z]{25,87}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|0x[0-9A-Fa-f]{40})\b"),
)  # fmt: skip

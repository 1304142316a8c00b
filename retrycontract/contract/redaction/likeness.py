"""Judge a value that stands some way from its name: it has to look like a secret by itself, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import METHOD
from retrycontract.contract.redaction.detectors import has_digit
from retrycontract.contract.redaction.field_names import is_secret_name, is_telling_key, judge
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret

SHORTEST = 6
ENDS = ".,;:!?)]}"  # of a clause, not of a value
PASSWORDS = frozenset({"PASSWORD", "SECRET", "CREDENTIAL"})
# A quoted word of this length right behind the name of a secret is taken for it.
LONG_WORD = 12
# Nobody tells a longer one; scripts without blanks would else make each value the rest of the text.
LONGEST_SAID = 200
SHORTEST_MIXED, SHORTEST_ALTERNATING, _DIGITS = 5, 8, re.compile("[0-9]+")
_DATE = re.compile(r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[T ][0-9:.Z+-]*)?[.,;)]*\Z")  # when it was changed
# `Summer2024!`: the sign is the password's, as a capital letter and digits before it say.
_SHOUTED = re.compile(r"(?=[^\s]*[a-z])[A-Z][A-Za-z]{3,20}[0-9]{2,6}!{1,3}(?:[.,;:?)\]}\"'`]|\Z)")
# What is said of a secret, `is RSA-2048 encrypted`, `is HS256-signed`.
_ALGORITHM = re.compile(
    r"(?i)(?:sha-?(?:[1-3]|224|256|384|512)|[hrpe]s(?:256|384|512)|rsa-?(?:1024|2048|3072|4096)|aes-?(?:128|192|256)"
    r"|p-(?:224|256|384|521)|(?:ed|x|curve)(?:25519|448)|base-?(?:16|32|58|62|64|85)|utf-?(?:8|16|32)|md[245]|chacha20"
    r"|argon2(?:id|i|d)?|pbkdf2|blake[23][bs]?|[bs]crypt|scram|rsa|aes|hmac|ecdsa)"
    r"(?:[-_/](?:[0-9]{1,4}|[a-z]{2,10}(?:256|384|512|1)?|poly1305)){0,3}[.,;:!?)]*"
)
_CHOSEN = re.compile(
    r"(?=[^A-Za-z]*[A-Za-z])(?:[A-Za-z0-9]+|\w{12,}|(?=[^!@#$%^&*+?~]*[!@#$%^&*+?~])[\w.!@#$%^&*+?~-]+)"
)
# What is written as program text.
_WRITTEN = re.compile(r"[\"'`=<>(){}\[\],;|\\]|^[:/-]")


def mark_of(name: str, literal: Literal) -> str | None:
    """Judge a name, and `clave` by its value."""
    mark = judge(name).mark
    is_password = mark is None and name.casefold().endswith(("clave", "chave")) and literal.is_signed
    return "PASSWORD" if is_password else mark


def is_certain(literal: Literal, mark: str) -> bool:
    """Say whether a value that stands some way from its name looks like a secret by itself, too."""
    text = literal.text
    if len(text.strip()) < SHORTEST or literal.is_placeholder or not has_digit(text) or _DATE.match(text):
        return False
    if is_algorithm(text):
        return False
    if mark == "PASSWORD" and literal.telling and is_quoted_secret(literal, mark) and "://" not in text:
        return True
    if mark in PASSWORDS and literal.is_mixed:
        return True
    is_other = mark != "PASSWORD" and mark in PASSWORDS
    return literal.is_noise or literal.is_dense or (is_other and is_plainly_secret(text, "PASSWORD"))


def is_algorithm(text: str) -> bool:
    """Say whether a word names how a secret is kept or signed, or says that it is."""
    return _ALGORITHM.fullmatch(text) is not None


def certain(name: str, literal: Literal | None, at: int, allowance: Allowance) -> Iterator[SecretSpan]:
    """Give the value of a name when it is certain."""
    if literal:
        bare = literal.text if literal.quoted else literal.text.rstrip(ENDS)
        literal = Literal(bare, literal.start, literal.start + len(bare), quoted=literal.quoted)
    if literal and (mark := mark_of(name, literal)):
        allowance.spend(at)
        is_long = literal.quoted and mark in PASSWORDS and " " not in bare and len(bare) >= LONG_WORD
        if is_certain(literal, mark) or (is_long and literal.telling and not literal.is_placeholder):
            yield SecretSpan(literal.start, literal.end, mark)


def is_plainly_secret(text: str, mark: str) -> bool:
    """Say whether a word is mixed as passwords are and names and methods are not."""
    literal = Literal(text.rstrip(ENDS), 0, len(text), quoted=False)
    if _SHOUTED.match(text):
        return True
    if len(text) > LONGEST_SAID or METHOD.search(literal.text) or _WRITTEN.search(literal.text):
        return False
    is_alternating = len(literal.text) >= SHORTEST_ALTERNATING and literal.text.isalnum() and alternates(literal.text)
    return (is_telling_key(literal.text) or is_alternating) and is_certain(literal, mark)


def is_chosen(text: str) -> bool:
    """Say whether a word is a password as people choose them, such as a word and a number: no path, method or name."""
    literal = Literal(text.rstrip(ENDS), 0, len(text), quoted=False)
    if len(text) > LONGEST_SAID or METHOD.search(literal.text) or not _CHOSEN.fullmatch(literal.text):
        return False
    return is_certain(literal, "PASSWORD") and not is_secret_name(literal.text)


def alternates(text: str) -> bool:
    """Say whether digits and letters change places more often than in names such as `Utf8Reader` and `step2`."""
    return len(_DIGITS.findall(text)) > 1


def is_mixed(literal: Literal) -> bool:
    """Say whether a word has letters and digits, and is written as no program text and no method is."""
    text = literal.text
    if not SHORTEST_MIXED <= len(text) <= LONGEST_SAID or METHOD.match(text) or _WRITTEN.search(text) or "://" in text:
        return False
    return not literal.is_placeholder and has_digit(text) and any(c.isalpha() for c in text)


_KEYS = frozenset({"API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "TOKEN"})
SHORTEST_KEY = 8


def is_tied(literal: Literal, mark: str) -> bool:
    """Say whether a string that program text ties to a name, as with a comparison, looks like a secret."""
    text = literal.text
    if not literal.quoted or " " in text or literal.is_placeholder or literal.is_word_of_code or is_secret_name(text):
        return False
    if is_certain(literal, mark):
        return True
    is_key = mark in _KEYS and len(text) >= SHORTEST_KEY and literal.telling and has_digit(text)
    return (
        is_key and is_quoted_secret(literal, mark) and not (METHOD.match(text) or _WRITTEN.search(text) or "/" in text)
    )

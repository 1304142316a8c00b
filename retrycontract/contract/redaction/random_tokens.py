"""Find what is merely random, and what is hidden in base64."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.detectors import SecretSpan
from retrycontract.contract.redaction.heads import Allowance, Head
from retrycontract.contract.redaction.randomness import decode_base64, entropy, is_digest, is_uuid, looks_random

# Generic tokens have 32 to 64 characters; a few vendors go on, files and images go on for much longer.
GENERIC_LENGTHS = range(32, 129)
# Digests and identifiers go too when in doubt, and so do shorter tokens.
STRICT_LENGTHS = range(20, 257)
# Longer base64 is content, not a credential that hides one.
ENCODED_LENGTHS = range(24, 65_537)

_TOKEN = Head(r"[A-Za-z0-9_+/-]{32,}={0,2}")
_SHORT_TOKEN = Head(r"[A-Za-z0-9_+/-]{20,}={0,2}")
# Secret keys of AWS have no prefix; what tells them is their length and a `/` or a `+` among random characters.
_AWS_SECRET = Head(r"(?:^|[^A-Za-z0-9/+=_.-])([A-Za-z0-9/+]{40})(?:$|[^A-Za-z0-9/+=_-])")
# Bits per character: 40 random characters of base64 have more, paths and words of that length less.
LEAST_OF_AWS = 4.1
# Public keys of SSH, and digests that name their algorithm.
_PUBLIC = ("AAAA", "sha256-", "sha384-", "sha512-")
# What stands before a random token that is an address, a file, a digest or data, not a credential.
_ADDRESSES = re.compile(r"(?:://[^\s\"'<>]*|[/\\.@#]|sha\d+[-:]|base64,|0x)\Z")
_LOOK_BACK = 200


def find_random_tokens(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find long random tokens that are no digest, UUID, address, file, public key or encoded text."""
    # Behind a certificate or a public key every line of base64 is taken for a part of it.
    block = text.find("-----BEGIN ")
    for find in _TOKEN.all(text):
        (start, end), token = find.span(0), find[0].strip("=/-_+")
        if len(token) not in GENERIC_LENGTHS or "/" in token or is_digest(token) or is_uuid(token):
            continue
        if 0 <= block < start or token.startswith(_PUBLIC) or text[end : end + 1] in ("/", "\\"):
            continue
        if _ADDRESSES.search(text[max(0, start - _LOOK_BACK) : start]):
            continue
        if looks_random(token, at_least=24) and decode_base64(token) is None:
            allowance.spend(start)
            yield SecretSpan(start, end, "RANDOM_TOKEN")


def find_any_random_tokens(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what looks random in any place, digests and UUIDs among it."""
    for find in _SHORT_TOKEN.all(text):
        (start, end), token = find.span(0), find[0].strip("=/-_+")
        if len(token) not in STRICT_LENGTHS:
            continue
        if is_digest(token) or is_uuid(token) or looks_random(token, at_least=16):
            allowance.spend(start)
            yield SecretSpan(start, end, "RANDOM_TOKEN")


def find_aws_secrets(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find secret keys of AWS; one without either sign is as good as any random identifier."""
    for find in _AWS_SECRET.all(text):
        token = find[1]
        run = token.replace("/", "").replace("+", "")
        if len(run) == len(token) or run.islower() or run.isupper() or run.isalpha() or run.isdigit():
            continue
        if entropy(token) >= LEAST_OF_AWS and looks_random(run, at_least=28) and decode_base64(token) is None:
            allowance.spend(find.span(1)[0])
            yield SecretSpan(*find.span(1), "AWS_SECRET_KEY")


def decoded_whole(text: str) -> str | None:
    """Decode a text that is base64 as a whole; anything else gives None."""
    if len(text) not in ENCODED_LENGTHS or " " in text:
        return None
    return decode_base64(text.strip())

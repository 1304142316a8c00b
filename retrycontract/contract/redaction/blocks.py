"""Find blocks that are secret as a whole: private keys, and the data of Kubernetes secrets."""

from __future__ import annotations

from collections.abc import Iterator

import re2

from retrycontract.contract.redaction.detectors import SecretSpan
from retrycontract.contract.redaction.heads import Allowance, Head
from retrycontract.contract.redaction.sieve import Finder, loosened

_BEGIN = Head(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|---- BEGIN SSH2 [A-Z ]{0,30}PRIVATE KEY ----")
_PUTTY = Head(r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]+)Private-MAC")
_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n\t \\"
_K8S_SECRET = re2.compile(r"(?mi)^\s*[\"']?kind[\"']?:\s*[\"']?(?:sealed|sops)?secret[\"']?\s*,?\s*$")
_K8S_DATA = re2.compile(r"^([ \t]*)[\"']?(?:data|stringData)[\"']?:\s*$")
_K8S_VALUE = re2.compile(
    r"^\s+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?([^\s\"'|>{\[#][^\"'#]*?)[\"']?\s*$|^\s+([A-Za-z0-9+/=]{8,})\s*$"
)


def find_private_keys(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find private keys in PEM and PuTTY form, whole; a block without its end reaches as far as its body does."""
    close = taken = 0
    for find in _BEGIN.telling(text, allowance):
        begin, after = find.span(0)
        if begin < taken:
            continue
        if 0 <= close < after:
            close = text.find("-----END", after)
        taken = _block_end(text, after, close)
        yield SecretSpan(begin, taken, "PRIVATE_KEY")
    for find in _PUTTY.telling(text, allowance):
        yield SecretSpan(*find.span(1), "PRIVATE_KEY")


def _block_end(text: str, after: int, close: int) -> int:
    if close >= 0:
        tail = text.find("-----", close + 8, close + 60)
        return tail + 5 if tail >= 0 else close + 8
    following = text.find("-----BEGIN", after)
    body = text[after : following if following >= 0 else None]
    return after + len(body) - len(body.lstrip(_BODY))


def find_manifest_values(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the values below `data:` of a Kubernetes Secret, which are encoded, not encrypted."""
    if not _K8S_SECRET.search(text):
        return
    position, outer = 0, -1
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= outer:
            outer = -1
        if heading := _K8S_DATA.match(line) if "ata" in line else None:
            outer = len(heading.group(1))
        elif outer >= 0 and (value := _K8S_VALUE.match(line)):
            allowance.spend(position)
            group = 1 if value.group(1) else 2
            yield SecretSpan(position + value.start(group), position + value.end(group), "SECRET")
        position += len(line)


PRIVATE_KEYS = Finder(loosened(f"{_BEGIN.pattern}|{_PUTTY.pattern}"), find_private_keys)
MANIFESTS = Finder(_K8S_SECRET.pattern, find_manifest_values)

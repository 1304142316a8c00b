"""Copies of a text to search in: ASCII, character for character; and decoded, with the way back."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from retrycontract.contract.redaction.detectors import Span

# Names of secrets in other scripts, each with an ASCII one of the same length that is known.
_FOREIGN_NAMES = {
    "密码": "pw", "密碼": "pw", "口令": "pw", "암호": "pw", "비밀번호": "pwd_",
    "パスワード": "pwd__", "пароль": "passwd", "Пароль": "passwd", "ПАРОЛЬ": "passwd",
}  # fmt: skip
# Full-width forms are the ASCII characters shifted; dots and bullets stand for hidden characters.
_ASCII_FORMS = {0xFEE0 + point: point for point in range(0x21, 0x7F)} | {
    0x3000: " ", 0xA0: " ", ord("ñ"): "n", ord("…"): "*", ord("•"): "*", ord("●"): "*",
    **dict.fromkeys(map(ord, "“”„«»"), '"'), **dict.fromkeys(map(ord, "‘’‚"), "'"),
}  # fmt: skip

# Percent escapes of URLs, escapes of JSON in JSON, entities of HTML: what decodes to one ASCII character.
ESCAPE = (
    r"%([2-7][0-9A-Fa-f])|\\+u00([2-7][0-9A-Fa-f])|\\{2,}(\")"
    r"|&(?:quot|apos|amp|lt|gt|#0?3[49]|#x2[27]);"
)
_ESCAPES = re.compile(ESCAPE)
_ENTITIES = {"&quot;": '"', "&apos;": "'", "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'",
             "&#034;": '"', "&#039;": "'", "&#x22;": '"', "&#x27;": "'"}  # fmt: skip


def ascii_copy(text: str) -> str:
    """Copy the text, character for character, in ASCII: what has no ASCII form becomes a question mark."""
    if not text.isascii():
        for name, known in _FOREIGN_NAMES.items():
            text = text.replace(name, known)
        text = text.translate(_ASCII_FORMS).encode("ascii", "replace").decode()
    if "\\" in text:
        for escape in ("\\n", "\\r", "\\t"):
            text = text.replace(escape, " \n")
    return text


@dataclass(frozen=True, slots=True)
class DecodedCopy:
    """Hold a text whose escapes are decoded, and where each escape stood."""

    text: str
    positions: list[int]  # in the decoded text, where each decoded character ends
    shifts: list[int]  # how many characters the original has more up to there

    def original(self, span: Span) -> Span:
        """Move a span of the decoded text to where it stands in the original."""
        return Span(self._moved(span.start), self._moved(span.end), span.mark)

    def _moved(self, position: int) -> int:
        found = bisect_right(self.positions, position)
        return position + (self.shifts[found - 1] if found else 0)


def decoded_copy(text: str) -> DecodedCopy | None:
    """Decode the escapes of an ASCII text, or give None where there are none."""
    if "%" not in text and "\\" not in text and "&" not in text:
        return None
    pieces: list[str] = []
    positions: list[int] = []
    shifts: list[int] = []
    position = shift = 0
    for match in _ESCAPES.finditer(text):
        start, end = match.span()
        plain = _decoded(match)
        pieces += (text[position:start], plain)
        position, shift = end, shift + end - start - len(plain)
        positions.append(end - shift)
        shifts.append(shift)
    return DecodedCopy("".join([*pieces, text[position:]]), positions, shifts) if positions else None


def _decoded(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    return '"' if match[3] else _ENTITIES[match[0]]

"""Copies of a text to search in: folded to ASCII, and with its escapes decoded, each with the way back."""

from __future__ import annotations

import codecs
import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, chain, compress, count, islice
from operator import not_
from typing import Final

from retrycontract.contract.redaction.allowance import SecretSpan
from retrycontract.contract.redaction.escapes import PARTED, cut_apart, parted
from retrycontract.contract.redaction.foreign import FORMS

# Stands for a character without an ASCII form; the text's own controls are left out of a copy.
FOREIGN: Final = "\x7f"
_ASKED: Final = "\x01"  # stands for `?` meanwhile; it is of those that nobody sees, which are gone by then
LONG: Final = 10_000  # characters
_ASCII, _BYTES_LEFT = bytes(range(0x80)).decode(), bytes(range(0x80, 0x100))
_NO_CHARACTER: Final = "\ufffe"  # as the tables of codecs have it
_POINTS: Final = f"utf-32-{sys.byteorder[0]}e"
LONGEST_PART: Final = 1_000  # of lines, on an average
MOST_BACKSLASHES, CHARACTERS_A_BACKSLASH = 4, 20  # of a run, each of which takes a search; of a text with many
MOST_REPLACED, FEW_REPLACED = 24, 4  # different characters that are replaced one after the other

# Nobody sees these, so they may stand inside a token or a name: controls, soft hyphens, joiners, marks of direction,
# fillers, selectors, tags, accents that combine with the letter before, and the caret that shows where it is wrong.
_UNSEEN = frozenset(map(chr, chain(
    range(0x09), range(0x0E, 0x20), (0x2038, 0x7F, 0xAD, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    range(0x300, 0x370), range(0x483, 0x48A), range(0x180B, 0x1810), range(0x1AB0, 0x1B00), range(0x1DC0, 0x1E00),
    range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070), range(0x20D0, 0x2100),
    range(0xFE00, 0xFE10), range(0xFE20, 0xFE30), range(0xFFF0, 0xFFFC), range(0xE0000, 0xE0200),
)))  # fmt: skip
_UNSEEN_PLAIN = frozenset(filter(str.isascii, _UNSEEN))
_UNSEEN_ASCII = {ord(c): None for c in _UNSEEN_PLAIN}
_USUAL: Final = bytes(point for point in range(128) if point not in _UNSEEN_ASCII)

_PROGRAM = re.compile(r"\.exe(?=[\s\"'])")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")

# Letters of other alphabets that are drawn like the ASCII letter, signs that are typed for the ASCII sign.
_LOOKALIKES = dict(zip(
    "авекмнорстухіїјѕԁԛԝһӏгѵпшьАВЕКМНОРСТУХІЇЈЅԌԚԜҺӀГПαβεηικνορτυχωγΑΒΕΖΗΙΚΜΝΟΡΤΥΧοօսհոɑɡɩıłøđħŧŁØĐƒǀʀɢɪʟɴʏʙʜ"
    "ᴀᴄᴅᴇᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡᴢ",
    "abekmhopctyxiijsdqwhlrvnwbABEKMHOPCTYXIIJSGQWHIGNabeniknoptuxwyABEZHIKMNOPTYXoouhnagiilodhtLODflrgilnybh"
    "acdejkmopstuvwz", strict=True,
)) | {
    **dict.fromkeys("‐‑‒–—―−﹘", "-"), **dict.fromkeys("“”„«»「」『』〝〞″", '"'), **dict.fromkeys("‘’‚‹›′ʼ", "'"),
    **dict.fromkeys("∶ː꞉︓؞", ":"), **dict.fromkeys("⁄∕⧸", "/"), **dict.fromkeys("、،", ","), "؛": ";", "。": ".",
    **dict.fromkeys("…•●∗", "*"), "\u2028": "\n", "\u2029": "\n", "\x85": "\n", "\u2800": " ", "⁓": "~",
    # The frames of tables.
    **dict.fromkeys("∣│┃║¦", "|"), **dict.fromkeys("─━═╌", "-"),
    **dict.fromkeys("┌┬┐├┼┤└┴┘┏┳┓┡╇┩┣╋┫┗┻┛╔╦╗╠╬╣╚╩╝╞╪╡╭╮╰╯┠╂┨", "+"),
}  # fmt: skip
# Where Unicode holds ASCII characters in another dress: accents, full width, circles, small forms, bold and script.
_DRESSED = (range(0xA0, 0x250), range(0x1D00, 0x2190), range(0x2460, 0x2500), range(0x3000, 0x3001),
            range(0xFE50, 0xFE70), range(0xFF01, 0xFF5F), range(0x1D400, 0x1D800), range(0x1F110, 0x1F16A))  # fmt: skip


def _undressed(character: str) -> str | None:
    plain = "".join(c for c in unicodedata.normalize("NFKD", character) if c not in _UNSEEN).strip("()")
    return plain if len(plain) == 1 and plain.isascii() else None


_FOLDED: Final = (
    {c: plain for c in map(chr, chain(*_DRESSED)) if (plain := _undressed(c)) and not c.isascii()}
    | {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966) for digit in range(10)}
    | _LOOKALIKES
)  # fmt: skip

_BREAKS = re.compile(r"\\(?<!\\\\)\\+[nrt]")  # of two and more; one takes no function for each
# Where there are few signs the pattern finds these in one go, which else takes a search for each.
_WRITTEN, _MEANT, CHARACTERS_A_SIGN = re.compile(r"\\[nrt]"), {r"\n": " \n", r"\r": " \n", r"\t": " \t"}, 200
# Between the lines of a text that stand in a list, as in a notebook; behind the value of a member comes a name.
_SEAM = re.compile(
    r"(\\(?<!\\\\)\\*n)(\\*([\"'])(?:\s|\\+[nrt]){0,80},(?:\s|\\+[nrt]){0,80}\\*\3)(?![^\"'\n\\]{0,200}\\*\3\s{0,8}:)"
)
_SEAM_SIGNS = (r'\n",', r"\n',", r"n\",", r"n\',")
# What makes a line go on in the next one. Each begins with one sign: a search for that passes quickly over all others.
_GOES_ON = {"\\": re.compile(r"\\\r?\n")} | {
    sign: re.compile(rf"\{sign}(?<= \{sign})(?: \n \n| \n|\r?\n)") for sign in "^`"
}
_MARGIN = re.compile(r"\n[+>]")  # before each line of a difference, and of a message that is quoted
ANY: Final = "\ufffd"  # of which a copy makes FOREIGN
# What a pattern writes for one character, or for nothing: `\.`, `\x2e`, `[.]`, `-{5}`, `s?`, `(?:`, `(?<name>`, `\b`.
_IN_PATTERNS = re.compile(
    r"(\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|[pP]\{[^{}]{0,40}\}|.)"
    r"|\[(?:\\.|[^\\\]]){1,40}\]|\.[*+]|[^\\)\]}]\{[1-9]\}|\((?:\?(?:[:=!>]|P?<[=!\w]{0,40}>?))?|\)|(?<=[\w.])\?)",
    re.DOTALL,
)
_ENTITIES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">", "colon": ":", "equals": "=", "nbsp": " ",
             "shy": ""}  # fmt: skip
_HIGHEST = 0x10FFFF


# What of a name is not ASCII.
_OTHERS: Final = {name: "".join(c for c in name if not c.isascii()) for name in FORMS}


class FoldedCopy:
    """Hold a text in ASCII, and the way back to the original, from which unseen characters may be left out."""

    __slots__ = ("_gaps", "_source", "text")

    def __init__(self, text: str, source: str | None = None) -> None:
        self.text, self._source = text, source
        self._gaps: list[int] | None = None  # of each unseen character, how many seen ones stand before it

    def original(self, span: SecretSpan) -> SecretSpan:
        """Move a span of the copy to where it stands in the original."""
        if self._source is None or span.end <= span.start:
            return span
        if self._gaps is None:  # only a text that holds a secret needs the list
            # Only the few that are here: a search for all of them is ten times as slow.
            here = re.compile(f"[{re.escape(''.join(sorted(_UNSEEN & {*_unusual(self._source)})))}]")
            self._gaps = [gap.start() - before for before, gap in enumerate(here.finditer(self._source))]
        # The characters that nobody sees go with the secret only where they stand inside it.
        first, last = (place + bisect_right(self._gaps, place) for place in (span.start, span.end - 1))
        return SecretSpan(first, last + 1, span.mark)


def folded_copy(text: str) -> FoldedCopy:
    """Copy a text in ASCII: look-alikes become what they look like, the unseen goes, the rest becomes foreign."""
    source: str | None = None
    if "\x1b" in text:  # a terminal's sequence is as invisible as the escape that begins it
        # As many unseen characters, which go with the others below: the way back counts positions.
        text = _ANSI.sub(lambda match: "\0" * len(match[0]), text)
    if not text.isascii():
        unusual = _unusual(text)
        is_short = unusual is text
        characters = _characters(text, unusual)
        # Tables of just this text's characters: a look-up that fails would cost an exception for each.
        if unseen := _UNSEEN & characters:
            source, unusual = text, _without(unusual, unseen, characters)
            text = _without(text, unseen if is_short else unseen & _UNSEEN_PLAIN, characters)
        # Of most texts what is not ASCII is little, and tells which names may be there.
        forms = {
            name: known for name, known in FORMS.items()
            if characters.issuperset(name) and (is_short or _OTHERS[name] in unusual)
        }  # fmt: skip
        if is_short:
            text = _renamed(text, forms, characters)
        else:
            text = _renamed_where_foreign(text, forms, characters, unseen)
    elif not text.isprintable() and len(seen_text := text.translate(_UNSEEN_ASCII)) < len(text):
        source, text = text, seen_text
    if ".exe" in text:
        text = _PROGRAM.sub("    ", text)
    if "\\" in text:
        text = _GOES_ON["\\"].sub(_blanks, text)
        if any(sign in text for sign in _SEAM_SIGNS):
            text = _SEAM.sub(lambda match: f"{' ' * len(match[2])}{match[1]}", text)
        # As long as the escape was, so that positions stay those of the text.
        if "\\\\" in text:
            # Three before the letter are the sign that joins two lines, and the end of the first one.
            text = text.replace(r"\\\r\n", " " * 6)
            text = _BREAKS.sub(
                lambda match: (
                    " " * 4 if match[0] == r"\\\n" else ("\t" if match[0][-1] == "t" else "\n").rjust(len(match[0]))
                ),
                text,
            )
        if text.count("\\") * CHARACTERS_A_SIGN < len(text):
            text = _WRITTEN.sub(lambda match: _MEANT[match[0]], text)
        else:
            for written, meant in _MEANT.items():
                text = text.replace(written, meant)
    if "\n" in text:
        # In the command lines of Windows a caret or a backtick joins; here the end of a line may have been an escape.
        for sign in "^`":
            if sign in text:
                text = _GOES_ON[sign].sub(_blanks, text)
        text = _MARGIN.sub("\n ", text)
    return FoldedCopy(text, source)


def _renamed(text: str, forms: Mapping[str, str], characters: set[str]) -> str:
    # Name by name: one search for all of them calls back for each that it finds.
    for name, known in forms.items():
        text = text.replace(name, known)
    return _folded(text, characters)


def _renamed_where_foreign(text: str, forms: Mapping[str, str], characters: set[str], unseen: frozenset[str]) -> str:
    """Leave the parts of a long text alone that are ASCII; no name of another script goes over a line or a quote."""
    parting = "\n" if len(text) < LONGEST_PART * text.count("\n") else '"'
    parts = text.split(parting)
    foreign = [*compress(count(), map(not_, map(str.isascii, parts)))]
    if 2 * len(foreign) > len(parts):
        return _renamed(_without(text, unseen, characters), forms, characters)
    joined = _without(parting.join(parts[number] for number in foreign), unseen, characters)
    for number, part in zip(foreign, joined.split(parting), strict=False):
        parts[number] = part
    renamed, begin = _renamed(joined, forms, characters), 0
    for number in foreign:  # by length: some characters become the end of a line, or a quote
        end = begin + len(parts[number])
        parts[number] = renamed[begin:end]
        begin = end + 1
    return parting.join(parts)


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _unusual(text: str) -> str:
    """Leave out of a long text what is usual in any; the rest keeps its order."""
    if len(text) < LONG:
        return text
    try:
        return text.encode().translate(None, _USUAL).decode()
    except UnicodeEncodeError:  # lone surrogates, for each of which a codec would call back
        return text


def _characters(text: str, unusual: str) -> set[str]:
    """List the different characters; of a long text as numbers, and all that are usual without looking for them."""
    if len(text) < LONG:
        return {*text}
    try:
        points = memoryview(unusual.encode(_POINTS)).cast("I")
    except UnicodeEncodeError:
        return {*unusual, *_USUAL.decode()}
    return {*map(chr, {*points}), *_USUAL.decode()}


def _without(text: str, unseen: frozenset[str], characters: set[str]) -> str:
    if len(plain := unseen & _UNSEEN_PLAIN) > FEW_REPLACED:  # as in what is no text: all of these at once
        try:
            text = text.encode().translate(None, "".join(plain).encode()).decode()
            unseen -= plain
        except UnicodeEncodeError:
            pass
    if len(unseen) > MOST_REPLACED:
        return text.translate({ord(c): None if c in unseen else c for c in characters})
    for c in unseen:
        text = text.replace(c, "")
    return text


def _folded(text: str, characters: set[str]) -> str:
    """Put ASCII in the place of each other character, FOREIGN where it has no form in it."""
    dressed = "".join(c for c in characters if c in _FOLDED)
    if len(dressed) > len(_BYTES_LEFT):
        if len(text) < LONG:
            return text.translate({ord(c): c if c.isascii() else _FOLDED.get(c, FOREIGN) for c in characters})
        parts = text[: len(text) // 2], text[len(text) // 2 :]
        return "".join(_folded(part, _characters(part, _unusual(part))) for part in parts)
    if len(dressed) <= FEW_REPLACED:
        for c in dressed:
            text = text.replace(c, _FOLDED[c])
        # The codec writes `?` for what has no form, ten times as quickly as a table of thousands of characters does.
        coded, dressed = text.replace("?", _ASKED).encode("ascii", "replace"), ""
    else:
        # As quickly, with a byte for each, also for what has no form while there are bytes. A table with a character
        # from beyond the first 65,536 is a slower one.
        plain = (c for c in characters if "\x7f" < c < _NO_CHARACTER and c not in _FOLDED)
        coding = _ASCII + dressed + "".join(islice(plain, len(_BYTES_LEFT) - len(dressed)))
        table = codecs.charmap_build(coding.ljust(0x100, _NO_CHARACTER))
        coded, _ = codecs.charmap_encode(text.replace("?", _ASKED), "replace", table)
    folded = "".join(_FOLDED[c] for c in dressed).ljust(len(_BYTES_LEFT), FOREIGN)
    meant = bytes.maketrans(f"?{_ASKED}".encode() + _BYTES_LEFT, f"{FOREIGN}?{folded}".encode())
    return coded.translate(meant).decode("ascii")


def ascii_copy(text: str) -> str:
    """Fold a text to ASCII where nobody needs the way back."""
    # Most words are as they will be.
    is_plain = text.isascii() and text.isprintable() and "\\" not in text and ".exe" not in text
    return text if is_plain else folded_copy(text).text


@dataclass(frozen=True, slots=True)
class DecodedCopy:
    """Hold a text whose escapes are decoded and folded, and the way back to the text with the escapes."""

    text: str
    original: Callable[[SecretSpan], SecretSpan]


def decoded_copy(text: str) -> DecodedCopy | None:
    """Decode the escapes of an ASCII text, or give None where there are none."""
    if "%" not in text and "\\" not in text and "&" not in text:
        return None
    pieces = cut_apart(text) if len(text) > LONG else [text]
    decoded = [*map(_decoded_whole, pieces)]
    return None if decoded == pieces else _copied(pieces, decoded, PARTED, _decoded)


def _decoded_whole(text: str) -> str:
    # Before a quote each backslash of a run goes, so that most need not be taken apart where there are many.
    is_dense = text.count("\\") * CHARACTERS_A_BACKSLASH > len(text)
    times = 1 if "\\\\" not in text else MOST_BACKSLASHES if is_dense else 0
    plain = text
    for sign in "\"'/" * (times > 0):
        for _ in range(times):
            plain, longer = plain.replace(f"\\{sign}", sign), plain
            if plain is longer:
                break
    # Taken apart and joined: a function that the pattern calls for each escape takes twice as long.
    parts = parted(plain)
    parts[1::2] = map(_decoded, parts[1::2])
    return "".join(parts)


def undone_pattern(text: str) -> DecodedCopy | None:
    """Write what may be a regular expression as the text that it stands for, with FOREIGN where it leaves a choice.

    None where nothing is written so; brackets in a sentence are no pattern.
    """
    if "\\" not in text and "[" not in text and ("(" not in text or " " in text):
        return None
    parts = _IN_PATTERNS.split(text)
    parts[1::2] = map(_undone, parts[1::2])
    undone = "".join(parts)
    return None if undone == text else _copied([text], [undone], _IN_PATTERNS, _undone)


def _undone(piece: str) -> str:
    if piece[0] == "(" or piece in (")", "?"):
        return ""
    if piece[0] == "[":
        held = piece[1:-1]
        return _undone(held) if held[0] == "\\" and _IN_PATTERNS.fullmatch(held) else held if len(held) == 1 else ANY
    if piece in (".*", ".+"):
        return ANY
    if piece[0] != "\\":
        return piece[0] * int(piece[2])
    if len(piece) > 2 and piece[1] in "ux":
        return _decoded(piece)
    # `\b` and `\A` stand for no character, and part like a blank; `\w` and `\d` stand for any of many.
    return {"s": " ", "b": " ", "A": " ", "t": "\t", "n": "\n", "r": "\n"}.get(
        piece[1], ANY if piece[1].isalnum() else piece[1]
    )


def _copied(
    pieces: list[str], decoded: list[str], parted: re.Pattern[str], decode: Callable[[str], str]
) -> DecodedCopy:
    """Keep the way back to a text of which parts were decoded, piece by piece."""
    folded = folded_copy("".join(decoded))
    begins, ends = ([0, *accumulate(map(len, each))] for each in (pieces, decoded))

    @cache
    def steps(number: int) -> tuple[list[int], list[int]]:
        """Say where in a piece each decoded character ends, and how much longer the original is by then."""
        places, shifts, shift = [], [], 0
        parts, end = parted.split(pieces[number]), 0
        for before, escape in zip(parts[::2], parts[1::2], strict=False):
            length = len(decode(escape))
            end += len(before) + len(escape)
            shift += len(escape) - length
            places.append(end - shift)
            shifts.append(shift)
        return places, shifts

    def moved(place: int) -> int:
        number = min(bisect_right(ends, place), len(decoded)) - 1
        within = place - ends[number]
        places, shifts = steps(number)
        found = bisect_right(places, within)
        return begins[number] + within + (shifts[found - 1] if found else 0)

    def original(span: SecretSpan) -> SecretSpan:
        inner = folded.original(span)
        return SecretSpan(moved(inner.start), moved(inner.end), inner.mark)

    return DecodedCopy(folded.text, original)


# Texts repeat few escapes very often.
@lru_cache(maxsize=2048)
def _decoded(escape: str) -> str:
    if escape[0] == "%":
        return bytes.fromhex(escape.replace("%", "")).decode("utf-8", "replace")
    if escape[0] == "&":
        name = escape[1:-1]
        if name[0] != "#":
            return _ENTITIES[name]
        point = int(f"0{name[1:]}", 0) if name[1] in "xX" else int(name[1:])
    else:
        code = escape.lstrip("\\")
        if code in "\"'/":
            return code
        high, _, low = code[1:].replace("u", "\\").rpartition("\\")
        point = int(low.strip("{}"), 16)
        if high:  # two halves of one character beyond the first 65,536
            point = 0x10000 + ((int(high.rstrip("\\"), 16) - 0xD800) << 10) + point - 0xDC00
    return chr(point) if point <= _HIGHEST and not 0xD800 <= point < 0xE000 else FOREIGN

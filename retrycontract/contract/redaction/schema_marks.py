"""Say which names a schema marks as secret, and what of an output that is no JSON may be shown for all that."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Final

from retrycontract.contract.redaction.field_names import split_words
from retrycontract.contract.redaction.foreign import MARK

HIDDEN: Final = f"{MARK}SENSITIVE]"
# Of a longer text that is no JSON the rest is not read, and not shown.
MOST_READ = 200_000
LONGEST_NAME, MOST_REMEMBERED = 80, 2_000
# A shorter name is too near to too many words.
SHORTEST_MISSPELT = 4
_CARET = "‸"  # where a text goes wrong: it stands between what is read, and stays
_TOKEN = re.compile(
    rf"(?P<space>[\s{_CARET}]+)|(?P<quote>\\*[\"'`])|(?P<open>[{{\[(])|(?P<close>[}}\])])|(?P<sign>[:=,;])"
    rf"|(?P<bare>[^\s\"'`\\{{}}\[\]():=,;{_CARET}]+|\\+)"
)
_OPERATOR = re.compile(rf"[\s{_CARET}]*(?::=|=>|[:=])")
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_OPENERS = {"}": "{", "]": "[", ")": "("}
_DECODER = json.JSONDecoder(parse_int=float)


class Showing(IntEnum):
    """Say what a name tells of its value: it may be seen, marks lie somewhere within, or it is secret itself."""

    OPEN = 0
    HOLDING = 1
    MARKED = 2


class SchemaMarks:
    """Hold what the names of one schema tell; `by_name` are those that it declares, `is_marked` asks its patterns."""

    def __init__(
        self, by_name: Mapping[str, Showing], is_marked: Callable[[str], bool], *, hides_all: bool, reaching: set[int]
    ) -> None:
        self._declared: dict[str, Showing] = {}
        for name, showing in by_name.items():
            folded = _fold(name)
            self._declared[folded] = max(showing, self._declared.get(folded, Showing.OPEN))
        self._is_marked, self.hides_all, self.reaching = is_marked, hides_all, reaching
        secret = (name for name, showing in self._declared.items() if showing and len(name) >= SHORTEST_MISSPELT)
        self._near = {slip: name for name in secret for slip in _slips(name[:LONGEST_NAME])}
        self._words = [(frozenset(split_words(name)), showing) for name, showing in by_name.items() if showing]
        # What most names share with none of these need not be taken apart.
        self._lengths = {len(slip) for slip in self._near}
        self._stems = tuple({max(map(_fold, known), key=len) for known, _ in self._words if known})
        self._known: dict[str, Showing | None] = {}

    def declares(self, name: str) -> bool:
        """Tell whether some place of the schema has a field of that name."""
        return _fold(name) in self._declared

    def showing(self, name: str) -> Showing | None:
        """Judge a name, or what is written almost like one of the schema's; None for any other."""
        if name in self._known:
            return self._known[name]
        showing = self._judge(name)
        if len(self._known) < MOST_REMEMBERED:
            self._known[name] = showing
        return showing

    def _judge(self, name: str) -> Showing | None:
        folded = _fold(name)
        found = self._declared.get(folded)
        if self._is_marked(name):
            return Showing.MARKED
        if found is not None or not folded or len(folded) > LONGEST_NAME:
            return found
        near = list[Showing]()
        if len(folded) in self._lengths or len(folded) - 1 in self._lengths:
            near = [self._declared[self._near[slip]] for slip in _slips(folded) if slip in self._near]
        if any(stem in folded for stem in self._stems):
            words = frozenset(split_words(name))
            near += [showing for known, showing in self._words if known <= words]
        return max(near, default=None)

    def mentions(self, text: str) -> bool:
        """Tell whether a text holds the name of something secret."""
        return any(self.showing(word) is Showing.MARKED for word in {*_WORD.findall(text), *text.split()})

    def without_mentions(self, words: str) -> str:
        """Leave out the sentences that name something secret."""
        return _SENTENCE.sub(lambda match: HIDDEN if self.mentions(match[0]) else match[0], words)

    def of_text(self, text: str) -> str:
        """Keep of an output that was not read as JSON only the values whose names the schema declares and leaves open.

        Names of the schema and what parts them stay. A value whose place cannot be told is hidden like a marked one.
        """
        if self.hides_all:
            return HIDDEN + _carets(text)
        kept = _OpenParts(self, text[:MOST_READ]).read()
        return kept if len(text) <= MOST_READ else kept + HIDDEN + _carets(text[MOST_READ:])


class _OpenParts:
    """Read one text name by name."""

    def __init__(self, marks: SchemaMarks, text: str) -> None:
        self._marks, self._text = marks, text
        self._pieces: list[str] = []
        self._brackets: list[tuple[str, bool]] = []  # those that are open, and whether what they hold may be shown
        self._named: Showing | None = None  # what the name before the value tells
        self._is_named = self._on_next_line = False

    @property
    def _is_open(self) -> bool:
        return bool(self._brackets) and self._brackets[-1][1]

    def read(self) -> str:
        text, position = self._text, 0
        while position < len(text) and (match := _TOKEN.match(text, position)):
            token, position = match[0], match.end()
            match match.lastgroup:
                case "space":
                    self._on_next_line = self._on_next_line or "\n" in token
                    self._pieces.append(token)
                case "sign":
                    self._is_named = False
                    self._pieces.append(token)
                case "open":
                    position = self._opening(token, match.start())
                case "close":
                    self._closing(token)
                case "quote" if token != "'" or not text[match.start() - 1 : match.start()].isalnum():
                    end = self._string_end(token, position)
                    position = self._word(token, text[position:end], min(end + len(token), len(text)))
                case _:
                    position = self._word("", token, position)
        return "".join(self._pieces)

    def _string_end(self, quote: str, position: int) -> int:
        """Find the end of a string; one that does not end reaches to the end of the text."""
        while (end := self._text.find(quote, position)) >= 0:
            before = self._text[position:end]
            # In JSON within JSON the closing quote is escaped like the opening one.
            if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
                return end
            position = end + 1
        return len(self._text)

    def _opening(self, bracket: str, start: int) -> int:
        is_open = self._named is Showing.OPEN if self._is_named else self._is_open
        if self._is_named and self._named is Showing.MARKED:
            try:
                _, end = _DECODER.raw_decode(self._text, start)
            except (ValueError, RecursionError):
                end = len(self._text)  # where it was to end cannot be told
            self._hide(self._text[start:end])
            self._is_named = False
            return end
        self._brackets.append((bracket, is_open))
        self._pieces.append(bracket)
        self._is_named = False
        return start + 1

    def _closing(self, bracket: str) -> None:
        opener = _OPENERS[bracket]
        if any(held == opener for held, _ in self._brackets):
            while self._brackets.pop()[0] != opener:
                pass
        self._pieces.append(bracket)
        self._is_named = False

    def _word(self, quote: str, word: str, end: int) -> int:
        """Show or hide a name or a value, which ends at `end`; gives where to go on."""
        operator = None if self._is_named else _OPERATOR.match(self._text, end)
        if operator:
            showing = self._marks.showing(word)
            if self._marks.declares(word) or (showing is None and self._is_open):
                self._pieces.append(f"{quote}{word}{quote}{operator[0]}")
            else:
                self._hide(word, quote)
                self._pieces.append(operator[0])
            self._named = Showing.OPEN if showing is None and self._is_open else showing
            self._is_named, self._on_next_line = True, "\n" in operator[0]
            return operator.end()
        is_open = self._named is Showing.OPEN if self._is_named else self._is_open
        if is_open and not self._marks.mentions(word):
            self._pieces.append(
                self._text[end - len(word) - 2 * len(quote) : end] if not quote else f"{quote}{word}{quote}"
            )
        else:
            # Lines below a name may be what it holds, in YAML for one.
            if self._is_named and self._named is Showing.MARKED and self._on_next_line and not quote:
                word, end = self._text[end - len(word) :], len(self._text)
            self._hide(word, quote)
        self._is_named = False
        return end

    def _hide(self, hidden: str, quote: str = "") -> None:
        """Put one mark for what is hidden, and for bare words that follow each other."""
        pieces = self._pieces
        follows = not quote and len(pieces) > 1 and pieces[-1].isspace() and pieces[-2] == HIDDEN
        if follows or (not quote and pieces and pieces[-1] == HIDDEN):
            del pieces[len(pieces) - follows :]
        else:
            pieces += [quote, HIDDEN, quote] if quote else [HIDDEN]
        if carets := _carets(hidden):
            pieces.append(carets)


def _carets(text: str) -> str:
    return _CARET if _CARET in text else ""


def _fold(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _slips(name: str) -> set[str]:
    """Give a name and all that is left of it without one character: two names that share one differ little."""
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))}

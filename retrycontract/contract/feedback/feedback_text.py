"""The grammar of format version 1: its fixed sentences, how pointers and names are shown, how a text is read back."""

from __future__ import annotations

import json
import re
from dataclasses import astuple, dataclass

from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.redaction.previews import fit, literal_text
from retrycontract.contract.redaction.sanitizer import elide_middle, visible

MAX_POINTER = 200
MAX_NAME = 80


@dataclass(frozen=True, slots=True)
class Endings:
    """Hold the sentences that say what comes next: before the last attempt, after it, and while a gate is held."""

    last_attempt: str
    blocked: str
    held: str


WAIT_TEXT = "Do not retry it yourself; continue when guidance arrives."
_WAITS = (
    WAIT_TEXT,
    "Do not retry it yourself; continue when you are told how.",
    "Do not retry it yourself; continue when you are told to.",
)
BLOCKED_TEXT = f"This call is now Blocked: nothing was executed and a person has been asked for guidance. {WAIT_TEXT}"
HELD_TEXT = f"The output is valid now, but a person was asked and must answer first: nothing was executed. {WAIT_TEXT}"
LAST_ATTEMPT_TEXT = "One attempt is left before a person is asked."
WITH_DESK = Endings(LAST_ATTEMPT_TEXT, BLOCKED_TEXT, HELD_TEXT)
# Where no service is, nobody has been asked: whoever runs the agent decides what comes of it.
WITHOUT_DESK = Endings(
    "One attempt is left.",
    f"This call is now Blocked: nothing was executed. {_WAITS[1]}",
    f"The output is valid now, but a person must release it first: nothing was executed. {_WAITS[2]}",
)


def once_answered(feedback: str) -> str:
    """Leave out of a Blocked attempt's text that the model is to wait, where what a person said follows."""
    for sentence in _WAITS:
        before, waits, after = feedback.rpartition(sentence)
        if waits:
            return f"{before.rstrip(' ')}{after}"
    return feedback


_ENDINGS = frozenset(text for each in (WITH_DESK, WITHOUT_DESK) for text in astuple(each))
FIXED_SENTENCES = _ENDINGS | frozenset(map(once_answered, _ENDINGS))
# What a person says to everybody who makes a mistake begins so; their words follow, each line after a ">".
STANDING_LEAD = "A person who has seen this mistake before says:"
NO_PROGRESS = "none, "  # how a progress line begins that names no pointers


@dataclass(frozen=True, slots=True)
class ParsedFeedback:
    """Hold what a version-1 text says: the subject and its name, the attempt, and (code, pointer) of each bullet.

    Pointers over 200 characters and names over 80 are read as they are shown, elided in the middle. `fixed`, `still`
    and `new` are the pointers of the progress line, with `*` for the index where several items are meant;
    `is_unchanged` tells that the mistakes are those of the attempt before. `hint` is the line of advice.
    """

    subject: str
    name: str
    attempt: int
    max_attempts: int
    errors: tuple[tuple[ErrorCode, str], ...]
    hidden: int
    is_blocked: bool
    fixed: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    is_unchanged: bool = False
    hint: str = ""

    @property
    def codes(self) -> tuple[ErrorCode, ...]:
        return tuple(code for code, _ in self.errors)

    @property
    def pointers(self) -> tuple[str, ...]:
        """List the pointers, in the order of the text; `""` is the whole document."""
        return tuple(pointer for _, pointer in self.errors)


def shown_pointer(pointer: str, limit: int = MAX_POINTER) -> str:
    """Show a pointer in a message: bounded, one line, the whole document as `(root)`.

    One that could be misread, with a line break or a code inside, stands in quotes as JSON writes it.
    """
    if not pointer:
        return "(root)"
    if pointer[0] != "/" or " (VAL-" in pointer or visible(pointer) != pointer:
        return quoted(pointer, limit)
    return elide_middle(pointer, limit)


def listed_pointer(pointer: str, limit: int) -> str:
    """Show a pointer among others on one line: in quotes also where it holds what separates them."""
    shown = shown_pointer(pointer, limit)
    return shown if shown == "(root)" or _LISTED.fullmatch(shown) else quoted(pointer, limit)


def quoted(pointer: str, limit: int) -> str:
    """Show a pointer in quotes as JSON writes it, at most `limit` characters."""
    return f'"{fit(pointer, limit - 2, literal_text)[0]}"'


def shown_name(name: str) -> str:
    """Show a tool's name in a message: bounded, one line, no quote that could end it early."""
    return elide_middle(visible(name), MAX_NAME).replace("'", "’")


def first_line(kind: str, name: str, attempt: int, max_attempts: int) -> str:
    return f"Validation failed for {kind} '{shown_name(name)}' (attempt {attempt}/{max_attempts}):"


def parse_feedback(text: str) -> ParsedFeedback:
    """Read a version-1 text back into its parts; raises ValueError when it is none."""
    match = _FIRST_LINE.match(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("not a retrycontract/1 message: its first line says no 'Validation failed for …'")
    subject, name, attempt, max_attempts = match.groups()
    more, progress = _MORE.search(text), _PROGRESS.search(text)
    said = progress.group(1) if progress else ""
    if said.startswith(NO_PROGRESS):
        places = {}
    else:
        places = {word: tuple(map(_read_pointer, _LISTED.findall(listed))) for word, listed in _PART.findall(said)}
    return ParsedFeedback(
        subject=subject,
        name=name,
        attempt=int(attempt),
        max_attempts=int(max_attempts),
        errors=tuple((ErrorCode(code), _read_pointer(pointer)) for pointer, code in _BULLET.findall(text)),
        hidden=int(more.group(1)) if more else 0,
        # At the end only: a value that quotes these sentences blocks nothing.
        is_blocked=_errors_alone(text).endswith(
            (WITH_DESK.blocked, WITH_DESK.held, WITHOUT_DESK.blocked, WITHOUT_DESK.held)
        ),
        fixed=places.get("fixed", ()),
        still=places.get("still wrong", ()),
        new=places.get("new", ()),
        is_unchanged=said.startswith(NO_PROGRESS),
        hint=_hint(_errors_alone(text)[match.end() :]),
    )


def _errors_alone(text: str) -> str:
    """Leave out the schema and the submission that some feedback shows behind the errors."""
    found = _SURROUNDING.search(text)
    return text[: found.start()] if found else text


def _read_pointer(shown: str) -> str:
    """Give back the pointer that `shown_pointer` shows."""
    if shown.startswith('"'):
        return str(json.loads(shown))
    return "" if shown == "(root)" else shown


def _hint(rest: str) -> str:
    """Find the advice: the paragraph that is neither a bullet nor one of the fixed sentences."""
    for paragraph in reversed(rest.split("\n\n")):
        said = paragraph.strip("\n")
        if said.startswith(STANDING_LEAD):
            continue
        if said.startswith(("Errors:\n", "•", "...and ", "Progress: ")):
            return ""
        if said and said not in FIXED_SENTENCES:
            return said
    return ""


_SURROUNDING = re.compile(r"\n\n(?:Your reply was this\. |Attempt \d+ of \d+ does not conform to the schema)")
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\""
# Numbers have nine digits at most: any text may be read here, and Python refuses to convert thousands of digits.
_FIRST_LINE = re.compile(r"Validation failed for (\w+) '(.*)' \(attempt (\d{1,9})/(\d{1,9})\):(?:\n|$)")
_BULLET = re.compile(rf"^• ({_QUOTED}|[^\"\n].*?) \((VAL-0(?:0[1-9]|1[0-5]))\)(?: \[\w+\])?:", re.MULTILINE)
_MORE = re.compile(r"^\.\.\.and (\d{1,9}) more$", re.MULTILINE)
_PROGRESS = re.compile(r"^Progress: (.+)\.$", re.MULTILINE)
# A pointer among others: bare where nothing in it separates, the whole document, or in quotes.
_LISTED = re.compile(rf"{_QUOTED}|\(root\)|/[^\s,;(\"]*")
_PART = re.compile(rf"(fixed|still wrong|new) ((?:{_QUOTED}|[^\";])*)")

"""Long texts say the same again and again: what is found in them, and how much of them is looked at once more."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.redaction import listed_words, neighbours, scan_copies
from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import COMMAND_FINDERS, REACH
from retrycontract.contract.redaction.detectors import Finder, Head, Look
from retrycontract.contract.redaction.escapes import (
    MOST_AROUND,
    PARTED,
    EscapeSearch,
    Surroundings,
    near_escapes,
    parted,
)
from retrycontract.contract.redaction.escapes import REACH as NEAR
from retrycontract.contract.redaction.foreign import FORMS
from retrycontract.contract.redaction.listed_words import _FLAG, _LIST, MOST_JUDGED, _in_turn
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.redaction.scanner import Scanner
from retrycontract.contract.redaction.sentences import _COMMENTED
from retrycontract.contract.redaction.sieve import Sieve
from tests.contract.counting import CountingPattern

BALANCED = ValueSanitizer()
PARTS = st.sampled_from([
    '"a"', "'b c'", '"-p"', '"--password"', "-", "- x", ", ", ",", ",\n", "\n", "\n\n  ", "\n, ", " " * 90, ": ", "{",
    "\\", '"', "'",
])  # fmt: skip


@given(st.lists(PARTS, max_size=40).map("".join))
def test_lists_with_a_flag_are_read_near_their_flags_as_they_are_in_turn(text: str) -> None:
    near = [listed for listed in _in_turn(_LIST, text, lambda: True) if _FLAG.search(listed[1])]
    in_turn = [listed for listed in _in_turn(_LIST, text, lambda: False) if _FLAG.search(listed[1])]
    assert near == in_turn


@pytest.mark.parametrize("command", ['["mysql", "-pSecretB1rd"]', '["sshpass",\n "-p",\n "SecretB1rd"]'])
def test_a_command_is_found_behind_more_lists_than_are_read(command: str) -> None:
    rows = '{"a": "b", "c": "d"}\n' * (MOST_JUDGED + 100)
    redacted = BALANCED.redact_text(f"{rows}{command}\n{rows}")
    assert "SecretB1rd" not in redacted
    assert redacted.startswith(rows)
    assert redacted.endswith(rows)


def passwords(count: int) -> Iterator[str]:
    source = random.Random(1)
    for _ in range(count):
        yield "".join(source.choices("abcdefghkmnpqrstABCDEFGHKMNPQRST23456789", k=12))


@pytest.mark.parametrize(
    "command",
    [
        "az keyvault secret set --vault-name kv --name db --value {} ",
        "smbclient //nas/share {} -U ann ",
        "openssl enc -d -aes-256-cbc -in f.enc -pass pass:{} ",
    ],
)
def test_of_a_command_that_one_line_repeats_every_password_is_found(command: str) -> None:
    secrets = [*passwords(300)]
    redacted = BALANCED.redact_text("".join(map(command.format, secrets)))
    assert not [secret for secret in secrets if secret in redacted]
    assert redacted.count("[REDACTED") == len(secrets)


@pytest.mark.parametrize("count", [150, 250, 400])
def test_what_a_finder_reads_twice_is_found_however_often_it_comes(count: int) -> None:
    secrets = [*passwords(count)]
    redacted = BALANCED.redact_text("".join(f'headers.setBasicAuth("ann", "{secret}");\n' for secret in secrets))
    assert not [secret for secret in secrets if secret in redacted]


def test_a_password_far_behind_its_command_is_found() -> None:
    assert "S3cretB1rd" not in BALANCED.redact_text(f"mysql {'--verbose ' * REACH} -pS3cretB1rd")


WORDS = st.sampled_from(["az ", "az login ", "-p ", "set ", "--value ", "x ", "\n"])


@given(st.lists(WORDS, max_size=30).map("".join))
def test_within_reach_all_that_a_pattern_finds_is_found(text: str) -> None:
    pattern = r"(?:az[^\n]*?login|az)[^\n]*?(?:-p|--value) (\w)"
    longest = max(map(len, text.split("\n")))
    spans = [
        [(find.span(0), find.span(1)) for find in head.each(text)]
        for head in (Head(pattern), Head(pattern, reach=longest + 1))
    ]
    assert spans[0] == spans[1]


def test_the_groups_of_a_match_are_told_from_its_place() -> None:
    head = Head(r"(?m)^(?:(\w+):|#[ \t]*(\w+))\n(?:\n)?(\S+)\b")
    text = "key:\nvalue\n# title\n\nanother-\nkey: no\n"
    matches = [*head.all(text, Allowance.of(text))]
    again = [place.read() for place in head.places(text, Allowance.of(text))]
    assert [find.span(3) for find in matches] == [(5, 10), (20, 27)]
    assert all(one.span(at) == other.span(at) for one, other in zip(matches, again, strict=True) for at in range(4))


class CountingScanner(Scanner):
    """Count the characters that are looked at."""

    __slots__ = ("looked",)

    def __init__(self) -> None:
        super().__init__(strict=False)
        self.looked = 0

    def _spans(self, most: int | None, text: str, places: list[int] | None = None) -> Iterator[SecretSpan]:
        self.looked += len(text)
        return super()._spans(most, text, places)


def test_what_stands_around_secrets_is_looked_at_once_and_what_repeats_with_one_of_its_like() -> None:
    scanner = CountingScanner()
    rows = [f'{{"headers": [{{"name": "X-Api-Key", "value": "{secret}"}}]}} ' for secret in passwords(200)]
    text = "".join(rows)
    redacted = scanner.redact(text)
    assert redacted.count("[REDACTED") == len(rows)
    # Once as it is, and then one row of it.
    assert scanner.looked < len(text) + 10 * len(rows[0])


CROWD = "\n".join(json.dumps({"arguments": json.dumps({"name": "a", "place": "b"})}) for _ in range(300))
ORDINARY = "an ordinary line, with 3 numbers\n" * 4_000


def test_where_escapes_are_crowded_in_a_part_of_a_text_only_that_part_is_decoded() -> None:
    around = near_escapes(f"{ORDINARY}{CROWD}\n{ORDINARY}")
    assert around
    assert len(CROWD) < len(around.text) < 2 * len(CROWD)


def test_what_is_hidden_where_escapes_are_crowded_is_found() -> None:
    hidden = r'{"arguments": "{\"pass\u0077ord\": \"S3cretB1rd\"}"}'
    redacted = BALANCED.redact_text(f"{ORDINARY}{CROWD}\n{hidden}\n{CROWD}\n{ORDINARY}")
    assert "S3cretB1rd" not in redacted
    assert redacted.startswith(f"{ORDINARY}{CROWD}")
    assert redacted.endswith(f"{CROWD}\n{ORDINARY}")


@pytest.mark.parametrize("text", [CROWD, f"{ORDINARY[:1000]}{CROWD}"])
def test_a_text_with_escapes_in_most_of_it_is_decoded_as_a_whole(text: str) -> None:
    assert near_escapes(text) is None


ESCAPES = st.sampled_from([
    *(r"\"", r"\\\"", r"\\", "\\", r"\u0041", r"\ud83d\ude00", "%41", "%%41", "%C3%A9", "%A9", "%", "% ", "&amp;"),
    *("& ", "a", "\n", '"', "x" * (NEAR - 2), "x" * (2 * NEAR - 1), "x" * (2 * NEAR + 1), "& " * 300, "x" * 9_000),
])  # fmt: skip
TEXTS_WITH_ESCAPES = st.lists(ESCAPES, max_size=30).map("".join)


@given(TEXTS_WITH_ESCAPES)
def test_what_is_near_escapes_is_what_stands_around_each_of_them(text: str) -> None:
    places = [place.span() for place in PARTED.finditer(text)]
    each = Surroundings(text, [(start - NEAR, end + NEAR) for start, end in places])
    around = near_escapes(text)
    assert around is None or around.text == each.text
    assert around or len(each.text) + NEAR > MOST_AROUND * len(text)


@given(TEXTS_WITH_ESCAPES)
def test_escapes_part_a_text_whether_few_or_many(text: str) -> None:
    assert parted(text) == PARTED.split(text)


class CountingSearch(EscapeSearch):
    """Count the escapes that are looked at."""

    __slots__ = ()
    looked = 0

    def first(self, position: int) -> tuple[int, int] | None:
        CountingSearch.looked += 1
        return super().first(position)

    def last(self, start: int, stop: int) -> tuple[int, int] | None:
        CountingSearch.looked += 1
        return super().last(start, stop)


def test_of_crowded_escapes_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrycontract.contract.redaction.escapes.EscapeSearch", CountingSearch)
    monkeypatch.setattr(CountingSearch, "looked", 0)
    assert near_escapes(f"{ORDINARY}{CROWD}\n{ORDINARY}")
    # Each of a line of its own stands twelve characters behind the last one.
    assert CountingSearch.looked < len(CROWD) // NEAR + 10 < CROWD.count('"') // 10


NAMES = st.sampled_from([*FORMS][:60] + [*FORMS][-60:])
MIXED = st.sampled_from(
    ["a", " ", "_", "\n", '"', "“", "\u2028", "é", "日", "\x1d", "𝕏", "x" * 2_000, "lykilor", "ð", "\u200b"]
)


@given(st.lists(NAMES | MIXED, max_size=30).map("".join))
def test_where_a_long_text_is_ascii_it_is_left_alone_and_all_else_is_renamed(text: str) -> None:
    characters = {*text}
    unseen = (scan_copies._UNSEEN & characters) - scan_copies._UNSEEN_PLAIN
    everywhere = scan_copies._renamed(scan_copies._without(text, unseen, characters), FORMS, characters)
    assert scan_copies._renamed_where_foreign(text, FORMS, characters, unseen) == everywhere


COMMENTS = st.sampled_from(["token", "passwd-a", " = ", "# was ", "#is: ", "# old\t", "#", "\n", " " * 61, "x", "was "])


@given(st.lists(COMMENTS, max_size=30).map("".join))
def test_what_has_an_ending_is_found_before_each_as_it_is_in_turn(text: str) -> None:
    in_turn = Head(_COMMENTED.pattern)
    assert [find.span(1) for find in _COMMENTED.each(text)] == [find.span(1) for find in in_turn.each(text)]


class CountingSieve(Sieve):
    """Count the characters that are asked for."""

    def __init__(self, finders: tuple[Finder, ...]) -> None:
        super().__init__(finders)
        self.asked = 0

    def looks_at(self, text: str, most: int | None = None) -> list[Look]:
        self.asked += len(text)
        return super().looks_at(text, most)


def test_a_list_that_a_text_repeats_is_read_once_and_told_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sieve = CountingSieve(COMMAND_FINDERS)
    monkeypatch.setattr(listed_words, "COMMAND_LINES", sieve)
    command, ordinary = '["mysql", "-pSecretB1rd"]\n', '["an", "ordinary", "list"]\n'
    text = (command + ordinary * 9) * 40
    spans = [*listed_words.find_listed_words(text, Allowance.of(text))]
    assert [text[span.start : span.end] for span in spans] == ["SecretB1rd"] * 40
    assert sieve.asked < 2 * len(command + ordinary)


@pytest.mark.parametrize("place", [0, 49, 50, 399])
def test_a_command_is_found_among_many_lists_whichever_of_them_it_is(place: int) -> None:
    lists = [f'["an", "ordinary", "list", "of words, the {number}th"]' for number in range(400)]
    lists.insert(place, '["curl", "-u", "ana:SecretB1rd"]')
    assert "SecretB1rd" not in BALANCED.redact_text("\n".join(lists))


FAR = '{"a": {"b": "ordinary"}, "c": ["d"]}\n' * 100
MEMBERS = '"value": "correct horse", "name": "db_password"'


@pytest.mark.parametrize(
    "around",
    [
        f"{FAR}{{%s}}{FAR}",
        f"{FAR}}}}}{{{{}}%s}}{FAR}",
        f'{{"a": {{{FAR}{{%s}}{FAR}}}}}',
        f"{FAR}{{%s}}{{{'x' * 2_000}{{%s}}",
        f'{{{MEMBERS}}}{FAR}{{"x": {{"y": "{"z" * 400}"}}, %s}}',
    ],
)
def test_an_object_is_read_from_its_own_brace_however_many_stand_before_it(around: str) -> None:
    redacted = BALANCED.redact_text(around.replace("%s", MEMBERS))
    assert "correct horse" not in redacted
    assert redacted.replace("[REDACTED: PASSWORD]", "correct horse") == around.replace("%s", MEMBERS)


def test_of_the_braces_of_a_text_those_near_a_name_that_tells_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    braces = CountingPattern(neighbours._BRACE)
    monkeypatch.setattr(neighbours, "_BRACE", braces)
    text = f"{FAR * 9}{{{MEMBERS}}}{FAR}"
    assert "correct horse" not in BALANCED.redact_text(text)
    assert 0 < braces.looked < FAR.count("{")

"""Published formats: every detector of the tables finds what it describes, and leaves what only resembles it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.allowance import Allowance
from retrycontract.contract.redaction.credentials import CREDENTIALS, PERSONAL_DATA
from retrycontract.contract.redaction.detectors import Detector, Finder, compiled, loosened
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.redaction.scanner import CONTEXT, Scanner
from retrycontract.contract.redaction.sieve import Sieve
from retrycontract.contract.redaction.signs import needed_signs
from tests.contract.credentials import sample

BALANCED = ValueSanitizer()
STRICT = ValueSanitizer(RetryConfiguration(sanitizer_mode="strict"))
TABLE = (*CREDENTIALS, *PERSONAL_DATA)
# A verifier refuses most random numbers: one in 97 has the check digits of an account number.
MOST_TRIES = 3000


def name(detector: Detector) -> str:
    return f"{detector.mark}:{detector.pattern[:40]}"


HEADER = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
# What no random text is: JSON, and a heading.
MADE = {
    "JWT": f"{HEADER}.{sample('[a-z0-9]{40}', 1)}.{sample('[a-z0-9]{40}', 2)}",
    "PRIVATE_KEY": base64.b64encode(("-----BEGIN " + "PRIVATE KEY-----" + sample("[a-z0-9]{40}", 3)).encode()).decode(),
}


def found(detector: Detector) -> str:
    """Make a text in which the detector finds its credential."""
    tries = MOST_TRIES if detector.mark not in MADE else 1
    for text in chain([MADE.get(detector.mark, "")], (sample(detector.pattern, seed) for seed in range(tries))):
        if text.isascii() and any(detector.find(text, Allowance.of(text))):
            return text
    return sample(detector.pattern, 0)


@pytest.mark.parametrize("detector", CREDENTIALS, ids=name)
def test_every_detector_finds_what_it_describes(detector: Detector) -> None:
    text = found(detector)
    span = next(detector.find(text, Allowance.of(text)))
    secret = text[span.start : span.end]
    for place in (text, f"see {text} here", f'"{text.strip()}"'):
        assert secret not in BALANCED.redact_text(place)
        assert secret not in str(BALANCED.redact({"note": [place]}))


@pytest.mark.parametrize("detector", PERSONAL_DATA, ids=name)
def test_strict_mode_finds_personal_data(detector: Detector) -> None:
    text = found(detector)
    span = next(detector.find(text, Allowance.of(text)))
    assert text[span.start : span.end] not in STRICT.redact_text(f"see {text} here")


@pytest.mark.parametrize("detector", TABLE, ids=name)
def test_the_sieve_lets_through_whatever_a_detector_finds(detector: Detector) -> None:
    sieve = Sieve([Finder.of(detector, detector.find)] * 2)  # one alone would look for itself
    assert sieve.looks_at(found(detector))
    assert not sieve.looks_at("an ordinary sentence, with 3 numbers")


@pytest.mark.parametrize("detector", CREDENTIALS, ids=name)
def test_a_fragment_of_a_credential_is_none(detector: Detector) -> None:
    text = found(detector)
    span = next(detector.find(text, Allowance.of(text)))
    fragment = text[: span.start + (span.end - span.start) * 2 // 5]
    assert not any(detector.find(fragment, Allowance.of(fragment)))


@pytest.mark.parametrize(
    ("pattern", "loose"),
    [
        ("a{3}b{4,}", "a{3}b{4,}"),
        ("[a-f]{32}", "[a-f]{6,}"),
        ("[a-f]{32,}", "[a-f]{6,}"),
        ("x{0,200}?y{1,40}", "x{0,}?y{1,}"),
        ("x{0,3}y{2,6}", "x{0,3}y{2,6}"),
        (r"(?i)((?:a(?:b|c)[ ])?[\w.]*(?:d|e)+)f", "(?i)((?:d|e)+)f"),
        (r"(?:[\w.]*d)([a-f]*e)", r"(?:[\w.]*d)([a-f]*e)"),
    ],
)
def test_loosening_drops_long_counters_and_a_needless_beginning_only(pattern: str, loose: str) -> None:
    assert loosened(pattern) == loose


LOOK_ALIKES = """
sk-learn-contrib sk-estimator-html-doc-link sk-toggleable__control pk-tables key-value-store-configuration
pat-downs pat.example.org test_user_can_log_in_with_a_password live_updates_are_enabled_by_default
secret_santa_list_of_the_office re_compile_all_the_patterns fw_version_of_the_device fc-barcelona-and-friends
r8_unorm_texture_format hf_transformers_library hf_hub_download npm_config_registry npm_package_version
pypi-mirror-of-the-team glpat-<your-token> ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_YOUR_TOKEN_HERE
AKIAXXXX ASIA-PACIFIC-REGION-WIDE AIzaXXXX xoxb-your-token xoxo-hugs-and-kisses SG.one.two
SK00000000000000 ACCOUNT_NUMBER_IS_REQUIRED_HERE dop_v1_token shpat_placeholder
EAAAAAAAAAAAAAAAAAAAAAAAAAAA hooks.slack.com/services/ https://hooks.slack.com/services/T000/B000/XXX
discord.com/api/webhooks/ sl.example.org sl.wikipedia.org/wiki/Slovenija 1/2:3 0/10 00D AQEducational
da2-is-a-prefix sig=abc amzn.mws. 1000.0.1 $1$ $2a$10$ {SSHA} A3-paper eyJust-words.and.more op://vault/item/field
ops_team_on_call s.isdigit() s.startswith(prefix) hvs.example v1.0-beta v1.0-rc1 API-REFERENCE-GUIDE-AND-MORE
mob-programming-for-beginners sdk-for-developers-of-apps sess-storage-of-the-browser csk-chennai-super-kings
key_of_the_dictionary_or_list access-production-database e2b_sandbox_of_the_user
"""


@pytest.mark.parametrize("text", LOOK_ALIKES.split())
def test_a_word_with_the_prefix_of_a_credential_stays(text: str) -> None:
    assert BALANCED.redact_text(text) == text
    assert BALANCED.redact_text(f"see {text}, please") == f"see {text}, please"
    assert BALANCED.redact({"text": text}) == {"text": text}


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        (r"key\s*[:=]\s*\w+", [":="]),
        (r"(?:^|[^a-z])([0-9]{4}-[0-9]+)", ["-", "0123456789"]),
        ("(?i)a(?:=b|: c)?d", []),
        ("(?:<a=|[{]b|c:)x", [":<{"]),
        ("(?:<a=|b)x", []),
        (r"[\w-]+\?|\$\d", ["$?"]),
        (r"a[^\x00-\x7e]", ["\x7f"]),
        (r"RE2's own: \pN\z", []),
    ],
)
def test_a_pattern_needs_the_signs_without_which_it_cannot_match(pattern: str, needs: list[str]) -> None:
    assert sorted("".join(sorted(map(chr, need))) for need in needed_signs(pattern)) == sorted(needs)


ASCII = st.characters(max_codepoint=127)
NEEDY = [finder.prefilter for finder in CONTEXT if needed_signs(finder.prefilter)]


@settings(suppress_health_check=list(HealthCheck))
@given(st.sampled_from(NEEDY).flatmap(lambda each: st.tuples(st.just(each), st.from_regex(each, alphabet=ASCII))))
def test_whatever_matches_has_the_signs_that_its_pattern_needs(given_match: tuple[str, str]) -> None:
    pattern, text = given_match
    if re2.search(pattern, text):
        assert all(need & set(text.encode()) for need in needed_signs(pattern))


MODES = ("balanced", "strict")
# Asked for many texts, and for each alone.
TOGETHER, ALONE = ({mode: Scanner(strict=mode == "strict") for mode in MODES} for _ in range(2))
# These begin a text, or follow a sign: among others each has to be read as one that begins and ends there.
BEGINNINGS = ("PWD={correct horse}", "# Passwort\nhunter2-two", "-u bob:hunter2two", "?  password\n: hunter2two")


def forms(mode: str) -> Iterator[str]:
    for finder in ALONE[mode]._sieve._finders:
        with suppress(re.error):  # few are written as only RE2 reads them
            yield sample(finder.prefilter, 1)


TELLING = {mode: (*BEGINNINGS, *forms(mode)) for mode in MODES}
ORDINARY = "an ordinary sentence, with 3 numbers"
WORDS = st.sampled_from([ORDINARY, "next", "größer", "2026-11-26", "[REDACTED: TOKEN]", ""])
CUTS = (st.integers(0, 9), st.none() | st.integers(-9, -1))


@st.composite
def texts_of(draw: st.DrawFn, mode: str) -> list[str]:
    telling = st.sampled_from(TELLING[mode])
    cut = st.builds(lambda text, start, end: text[start:end], telling, *CUTS)
    return draw(st.lists(telling | cut | WORDS, min_size=20, max_size=60))


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_of_many_texts_asked_for_at_once_each_is_redacted_as_by_itself(mode: str, data: st.DataObject) -> None:
    texts, scanner = data.draw(texts_of(mode)), TOGETHER[mode]
    scanner._harmless.clear()
    places = scanner.places_of(texts)
    assert [scanner.redact(text, places=places.get(text)) for text in texts] == [*map(ALONE[mode].redact, texts)]


@pytest.mark.parametrize("mode", MODES)
def test_of_many_texts_asked_for_at_once_each_is_told_what_may_find_something_in_it(mode: str) -> None:
    sieve, texts = TOGETHER[mode]._sieve, [*TELLING[mode], ORDINARY] * 3
    found = dict(zip(texts, sieve.places_for_each(texts), strict=True))
    searches = [compiled(finder.prefilter).search for finder in sieve._finders]
    for text, places in found.items():
        assert {place for place, search in enumerate(searches) if search(text.encode())} <= {*places}
    assert found[ORDINARY] == []

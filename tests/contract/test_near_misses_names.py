from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.advice.names import CUTOFF, MAX_COMPARED, MAX_LENGTH, SURE, _may_resemble, did_you_mean

WORDS = st.text("abcde", max_size=12)


@pytest.mark.parametrize(
    ("value", "options", "meant"),
    [
        pytest.param("uft8", ["utf-8", "ascii", "utf-16"], "utf-8", id="swapped-letters"),
        pytest.param("UTF-8", ["utf-8", "ascii"], "utf-8", id="case"),
        pytest.param("user name", ["userName", "user"], "userName", id="space"),
        pytest.param("max_bytes", ["maxBytes"], "maxBytes", id="underscore-for-camel-case"),
        pytest.param("max-bytes", ["max_bytes"], "max_bytes", id="dash"),
        pytest.param("path", ["file_path", "mode"], "file_path", id="the-last-word"),
        pytest.param("file_path", ["path", "mode"], "path", id="one-word-too-many"),
        pytest.param("path", ["file_path", "dir_path"], None, id="the-last-word-of-two"),
        pytest.param("paths", ["path", "path_list", "file_paths"], "path", id="a-misspelling-of-several-with-the-word"),
        pytest.param("id", ["valid_id"], None, id="too-short-for-a-part"),
        pytest.param("north-america", ["AP", "BR", "EU", "NA"], None, id="nothing-near"),
        pytest.param("na", ["AP", "EU", "NA"], "NA", id="two-letters"),
        pytest.param("--", ["a", "b"], None, id="no-letters"),
        pytest.param("", ["a"], None, id="empty"),
        pytest.param(3, ["3"], None, id="no-text"),
        pytest.param("one", [1, None, "ones", ["one"]], "ones", id="options-of-other-types"),
        pytest.param("one", [], None, id="no-options"),
        pytest.param("x" * (MAX_LENGTH + 1), ["x" * (MAX_LENGTH + 1)], None, id="too-long-a-value"),
        pytest.param("x", ["x" * (MAX_LENGTH + 1)], None, id="too-long-an-option"),
        pytest.param("last", [f"{n:05}" for n in range(MAX_COMPARED)] + ["last"], None, id="too-many-options"),
        pytest.param("STRASSE", ["straße"], "straße", id="folded"),
    ],
)
def test_the_option_that_was_meant(value: object, options: list[object], meant: str | None) -> None:
    assert did_you_mean(value, options) == meant


def test_the_first_of_equally_near_options_is_taken() -> None:
    assert did_you_mean("user_id", ["userId", "UserID"]) == "userId"


@given(WORDS, WORDS)
def test_whatever_is_like_enough_is_found(value: str, option: str) -> None:
    ratio = SequenceMatcher(None, option, value).ratio()
    for cutoff in (CUTOFF, SURE):
        assert _may_resemble(value, option, cutoff) or ratio < cutoff

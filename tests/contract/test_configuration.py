from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from retrycontract import RetryConfiguration
from retrycontract.contract.configuration import RANGES, ConfigurationError

SOURCE = "config.yml"


def read(section: dict[str, Any]) -> RetryConfiguration:
    return RetryConfiguration.from_mapping(section, source=SOURCE)


@cache
def documented() -> dict[str, tuple[str, str]]:
    """Read default and range of each setting from docs/settings.md."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|", text, re.MULTILINE)
    return {name: (default.strip(), span.strip()) for name, default, span in rows}


def test_the_defaults_are_those_that_the_settings_document() -> None:
    configuration = RetryConfiguration()
    for name, (default, _) in documented().items():
        if default and hasattr(configuration, name):
            value = getattr(configuration, name)
            written = value[0] if isinstance(value, tuple) else value
            assert str(written).casefold() == default.strip('"').casefold(), name
    assert [configuration.max_attempts, configuration.max_message_length, configuration.max_errors_shown] == [
        3,
        2000,
        10,
    ]
    assert (configuration.max_value_preview, configuration.track_history, configuration.redact_secrets) == (
        100, True, True,
    )  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_a_number_has_a_range_and_the_error_tells_it(name: str) -> None:
    low, high = RANGES[name]
    assert getattr(RetryConfiguration(**{name: low}), name) == low
    assert getattr(RetryConfiguration(**{name: high}), name) == high
    for wrong in (low - 1, high + 1):
        with pytest.raises(ConfigurationError, match=f"{name}: must be a whole number from {low} to {high}, not "):
            RetryConfiguration(**{name: wrong})


def test_the_ranges_are_those_that_the_settings_document() -> None:
    assert {name: f"{low}–{high}" for name, (low, high) in RANGES.items()} == {
        name: span for name, (_, span) in documented().items() if name in RANGES
    }
    assert [RANGES[name] for name in ("max_attempts", "max_message_length", "max_errors_shown")] == [
        (1, 10), (500, 4000), (1, 100),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_attempts": True}, "whole number"),
        ({"max_attempts": 3.0}, "whole number"),
        ({"max_attempts": "3"}, "whole number"),
        ({"max_attempts": None}, "whole number"),
        ({"include_hints": 1}, "true or false"),
        ({"include_hints": "yes"}, "true or false"),
        ({"mode": "watch"}, "'observe' or 'enforce'"),
        ({"project_roots": "/srv"}, "list of folder names"),
        ({"project_roots": (1,)}, "list of folder names"),
        ({"overrides": {"a": {"max_attempts": 2}}}, "tuple of pairs"),
        ({"overrides": (("a", {"max_attempt": 2}),)}, "a: unknown setting 'max_attempt'; known are expires_after, "),
        (
            {"overrides": (("a", {"expires_after": "2w"}),)},
            "a: expires_after must be a whole number of seconds, or a number with",
        ),
        ({"overrides": (("a", {"on_expiry": "accept"}),)}, "nothing is ever executed because nobody answered"),
        ({"overrides": (("a", {"redact_secrets": False}),)}, "a: redact_secrets holds for every tool"),
        ({"overrides": (("a", {"max_attempts": 11}),)}, "a: max_attempts must be a whole number from 1 to 10"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        RetryConfiguration(**settings)
    assert caught.value.key in settings
    assert caught.value.source == "RetryConfiguration"


def test_sections_are_read_in_snake_case() -> None:
    assert read(
        {
            "retry": {"max_attempts": 5, "track_history": False},
            "formatting": {"max_message_length": 1000, "include_hints": False},
            "sanitizing": {"project_roots": ["src", "/srv"], "redact_secrets": False},
        }
    ) == RetryConfiguration(
        max_attempts=5,
        track_history=False,
        max_message_length=1000,
        include_hints=False,
        project_roots=("src", "/srv"),
        redact_secrets=False,
    )


def test_the_flat_pascal_case_form_has_everything_under_retry() -> None:
    assert read(
        {
            "Retry": {"MaxAttempts": 4, "MaxMessageLength": 1500, "IncludeHints": False, "ProjectRoots": ["a"]},
            "Overrides": {"x": {"Retry": {"MaxAttempts": 2, "MaxErrorsShown": 5}, "Mode": "observe"}},
        }
    ) == RetryConfiguration(
        max_attempts=4,
        max_message_length=1500,
        include_hints=False,
        project_roots=("a",),
        overrides=(("x", {"max_attempts": 2, "max_errors_shown": 5, "mode": "observe"}),),
    )


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"retires": {}}, "tools.validation.retires: unknown section; known are retry, formatting, sanitizing, mode"),
        ({"retry": {"max_attempt": 3}}, "retry.max_attempt: unknown key; known are max_attempts, track_history"),
        ({"retry": {"max_message_length": 900}}, "retry.max_message_length: unknown key"),
        ({"retry": 3}, "retry: must be a mapping of settings"),
        ({"retry": {"max_attempts": 11}}, "retry.max_attempts: must be a whole number from 1 to 10, not 11"),
        ({"Retry": {"MaxAttempts": 0}}, "Retry.MaxAttempts: must be a whole number from 1 to 10, not 0"),
        ({"formatting": {"max_message_length": 499}}, "formatting.max_message_length: must be .* from 500 to 4000"),
        ({"sanitizing": {"project_roots": "x"}}, "sanitizing.project_roots: must be a list of folder names"),
        ({"overrides": []}, "overrides: must map tool names or globs to settings"),
        ({"overrides": {"x": 3}}, "overrides.x: must be a mapping of settings"),
        (
            {"overrides": {"x": {"sanitizing": {"sanitizer_mode": "strict"}}}},
            "overrides.x.sanitizing.sanitizer_mode: holds for every tool",
        ),
        (
            {"overrides": {"x": {"formatting": {"max_value_preview": 50}}}},
            "overrides.x.formatting.max_value_preview: holds for every tool",
        ),
        ({"overrides": {"x": {"speed": 3}}}, "overrides.x.speed: unknown key; known are retry, formatting, sanitizi"),
        (
            {"overrides": {"x": {"expires_after": "soon"}}},
            "overrides.x.expires_after: must be a whole number of seconds, ",
        ),
        ({"overrides": {"x": {"ExpiresAfter": 0}}}, "overrides.x.ExpiresAfter: must be .* from 1s to 365d, not 0"),
        (
            {"overrides": {"x": {"on_expiry": "accept"}}},
            "overrides.x.on_expiry: must be 'expire' or 'reject', not 'acc",
        ),
        ({"overrides": {"x": {"mode": "off"}}}, "overrides.x.mode: must be 'observe' or 'enforce'"),
        ({"overrides": {"x": {"retry": {"max_attempts": 0}}}}, "overrides.x.retry.max_attempts: must be .* 1 to 10"),
    ],
)
def test_a_wrong_section_names_source_key_and_what_is_allowed(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{SOURCE}: {message}"):
        read(section)


OVERRIDES = {
    "write_*": {"retry": {"max_attempts": 5}, "mode": "observe"},
    "write_file": {"retry": {"max_attempts": 7}, "expires_after": "30m", "on_expiry": "reject"},
    "read[0]": {"retry": {"max_attempts": 2}},
}


@pytest.mark.parametrize(
    ("tool", "max_attempts", "mode"),
    [
        pytest.param("read_file", 3, "enforce", id="no-override"),
        pytest.param("write_dir", 5, "observe", id="glob"),
        pytest.param("write_file", 7, "observe", id="exact-name-over-glob"),
        pytest.param("WRITE_FILE", 3, "enforce", id="case-matters"),
        pytest.param("read0", 2, "enforce", id="a-set-in-a-glob"),
        pytest.param("read[0]", 2, "enforce", id="a-name-with-brackets"),
    ],
)
def test_overrides_apply_by_glob_and_the_exact_name_wins(tool: str, max_attempts: int, mode: str) -> None:
    for overrides in (OVERRIDES, dict(reversed(OVERRIDES.items()))):
        configuration = read({"overrides": overrides}).for_tool(tool)
        assert (configuration.max_attempts, configuration.mode) == (max_attempts, mode)


def test_what_only_the_service_reads_is_kept_apart() -> None:
    configuration = read({"overrides": OVERRIDES})
    assert configuration.overrides_of("write_file") == {
        "max_attempts": 7, "mode": "observe", "expires_after": "30m", "on_expiry": "reject",
    }  # fmt: skip
    assert configuration.overrides_of("read_file") == {}

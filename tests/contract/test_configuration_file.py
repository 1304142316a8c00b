from __future__ import annotations

from pathlib import Path

import pytest

from retrycontract import RetryConfiguration
from retrycontract.config.configuration_file import load_configuration
from retrycontract.contract.configuration import SETTINGS, ConfigurationError

SNAKE = """
tools:
  validation:
    retry: {max_attempts: 5}
    formatting: {max_errors_shown: 4}
    overrides: {write_file: {retry: {max_attempts: 7}}}
unrelated: true
"""
PASCAL = "Tools: {Validation: {Retry: {MaxAttempts: 5, MaxErrorsShown: 4}}}"
# The contract knows no file system: relative roots are resolved where the file is read.
DEFAULTS = RetryConfiguration(project_roots=(str(Path.cwd()),))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yml"


def test_without_file_and_environment_the_defaults_hold(file: Path) -> None:
    assert load_configuration(file) == load_configuration(file, {}) == DEFAULTS


@pytest.mark.parametrize("text", [SNAKE, PASCAL], ids=["snake_case", "PascalCase"])
def test_the_file_is_read_in_both_spellings(file: Path, text: str) -> None:
    file.write_text(text)
    configuration = load_configuration(file)
    assert (configuration.max_attempts, configuration.max_errors_shown) == (5, 4)


@pytest.mark.parametrize("text", ["", "tools:", "tools: {validation: }", "other: 1", "---\n"], ids=repr)
def test_an_empty_section_changes_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert load_configuration(file) == DEFAULTS


def test_sections_of_others_are_left_to_them(file: Path) -> None:
    file.write_text("{1: 2, model: x, allowed_tools: [a], toolset: 1, tools: {bash: {timeout: 3}, validate_all: true}}")
    assert load_configuration(file) == DEFAULTS
    file.write_text("{validation: {schema: x}, retry: {max_attempts: 3, backoff: 2}, tools: {retry: {on: [429]}}}")
    assert load_configuration(file) == DEFAULTS


def test_the_environment_overrides_the_file_and_a_tool_overrides_both(file: Path) -> None:
    file.write_text(SNAKE)
    configuration = load_configuration(file, {"RETRYCONTRACT_MAX_ATTEMPTS": "2", "RETRYCONTRACT_DATA_DIR": "/x"})
    assert (configuration.max_attempts, configuration.max_errors_shown) == (2, 4)
    assert configuration.for_tool("write_file").max_attempts == 7


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("MAX_MESSAGE_LENGTH", " 900 ", "max_message_length", 900),
        ("INCLUDE_HINTS", "no", "include_hints", False),
        ("INCLUDE_HINTS", "TRUE", "include_hints", True),
        ("REDACT_SECRETS", "0", "redact_secrets", False),
        ("PROJECT_ROOTS", "/srv/a, b ,", "project_roots", ("/srv/a", str(Path("b").resolve()))),
        ("MODE", "observe", "mode", "observe"),
    ],
)
def test_every_kind_of_setting_is_read_from_the_environment(
    file: Path, variable: str, text: str, name: str, value: object
) -> None:
    assert getattr(load_configuration(file, {f"RETRYCONTRACT_{variable}": text}), name) == value


@pytest.mark.parametrize("name", sorted(SETTINGS - {"mode", "project_roots"}))
def test_nonsense_in_a_variable_is_refused(file: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^environment: RETRYCONTRACT_{name.upper()}: must be "):
        load_configuration(file, {f"RETRYCONTRACT_{name.upper()}": "perhaps"})


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("MAX_ATTEMPTS", "11", "must be a whole number from 1 to 10, not 11"),
        ("MAX_ATTEMPTS", "", "must be a whole number, not ''"),
        ("MAX_ATTEMPTS", "1_0", "must be a whole number, not '1_0'"),
        ("MAX_ATTEMPTS", "\u0663", "must be a whole number, not '\u0663'"),
        ("MODE", "watch", "must be 'observe' or 'enforce', not 'watch'"),
    ],
)
def test_a_variable_out_of_range_is_named_with_its_range(file: Path, variable: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^environment: RETRYCONTRACT_{variable}: {message}$"):
        load_configuration(file, {f"RETRYCONTRACT_{variable}": text})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(b"tools: [", "line 1, column 9: this is not YAML", id="not-yaml"),
        pytest.param(b"\x00", "the file: this is not YAML", id="control-character"),
        pytest.param(b"tools: " + b"[" * 3_000, "the file: this is nested too deeply", id="deep-lists"),
        pytest.param(b"tools: " + b"{a: " * 3_000, "the file: this is nested too deeply", id="deep-mappings"),
        pytest.param(b"\xff\xfe", "byte 1: this is not UTF-8 text", id="not-utf-8"),
        pytest.param(b"- 1", "tools: must be a mapping", id="list"),
        pytest.param(b"[]", "tools: must be a mapping", id="nothing-in-a-list"),
        pytest.param(b"tools: [1]", "validation: must be a mapping", id="tools-list"),
        *(
            pytest.param(
                f"tools: {{validation: {nothing}}}".encode(),
                "tools.validation: must be a mapping of sections",
                id=nothing,
            )
            for nothing in ("[1]", "[]", "false", "0", '""')
        ),
        pytest.param(b"tools: []", "validation: must be a mapping", id="empty-list"),
        pytest.param(
            b"tools: {validation: {retry: {max_attempts: 99}}}",
            "retry.max_attempts: must be a whole number from 1 to 10, not 99",
            id="range",
        ),
        pytest.param(b"tools: {validation: {retry: {tries: 3}}}", "retry.tries: unknown key", id="unknown-key"),
        *(
            pytest.param(
                f"{text}: {{validation: {{}}}}".encode(), f"{text}: unknown key; did you mean 'tools'?", id=text
            )
            for text in ("tool", "tols", "Toolz", "TOOL", "otols")
        ),
        *(
            pytest.param(
                f"tools: {{{text}: {{retry: {{max_attempts: 7}}}}}}".encode(),
                f"tools.{text}: unknown key; did you mean 'tools.validation'?",
                id=text,
            )
            for text in ("validaton", "Validations", "vaildation", "validator")
        ),
        *(
            pytest.param(text.encode(), f"{key}: nothing reads this here; did you mean '{place}'?", id=text)
            for text, key, place in (
                ("validation: {retry: {max_attempts: 5}}", "validation", "tools.validation"),
                ("Validation: {Retry: {MaxAttempts: 5}}", "Validation", "tools.validation"),
                ("retry: {max_attempts: 5}", "retry", "tools.validation.retry"),
                ("tools: {retry: {max_attempts: 5}}", "tools.retry", "tools.validation.retry"),
                ("tools: {Formatting: {x: 1, MaxErrorsShown: 5}}", "tools.Formatting", "tools.validation.formatting"),
                ("validation: {mode: observe}", "validation", "tools.validation"),
                ("mode: observe", "mode", "tools.validation.mode"),
                ("tools: {Mode: ENFORCE}", "tools.Mode", "tools.validation.mode"),
                ("tools: {max_attempts: 5}", "tools.max_attempts", "tools.validation.retry.max_attempts"),
            )
        ),
        *(
            pytest.param(text.encode(), f"{path}: '{key}' is one name: write each of its parts", id=text)
            for text, path, key in (
                ("tools.validation.mode: observe", "tools.validation.mode", "tools.validation.mode"),
                ("tools: {validation.mode: observe}", "tools.validation.mode", "validation.mode"),
                ("Tools.Validation: {retry: {max_attempts: 3}}", "Tools.Validation", "Tools.Validation"),
            )
        ),
        pytest.param(
            b"tools: {validation: {overrides: {' ': {mode: observe}}}}",
            "overrides: one of them names no tool",
            id="blank",
        ),
        pytest.param(SNAKE.encode() + b"tols: 3", "tols: unknown key; did you mean 'tools'?", id="beside"),
    ],
)
def test_a_wrong_file_is_named_with_the_place_in_it(file: Path, text: bytes, message: str) -> None:
    file.write_bytes(text)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_without_a_path_the_file_of_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / "config.yml").write_text("tools: {validation: {retry: {max_attempts: 7}}}")
    monkeypatch.chdir(tmp_path)
    assert load_configuration().max_attempts == 7


def within(text: str) -> str:
    return f"tools: {{validation: {{{text}}}}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (within("retry: {max_attempts: 4, max_attempts: 5}"),
         "tools.validation.retry.max_attempts: stands twice, in line 1 and line 1: keep one"),
        ('{"tools": {"validation": {"retry": {"max_attempts": 4,\n"max_attempts": 5}}}}',
         "tools.validation.retry.max_attempts: stands twice, in line 1 and line 2: keep one"),
        (within("retry: {max_attempts: 4},\n retry: {track_history: true}"),
         "tools.validation.retry: stands twice, in line 1 and line 2: keep one"),
        (within("mode: observe, mode: enforce"), "tools.validation.mode: stands twice, in line 1 and line 1: keep one"),
        (within("retry: {max_attempts: 5, MaxAttempts: 4}"),
         "retry.MaxAttempts: sets max_attempts, as retry.max_attempts does: keep one"),
        (within("retry: {max_attempts: 4}, Retry: {MaxAttempts: 5}"),
         "Retry.MaxAttempts: sets max_attempts, as retry.max_attempts does: keep one"),
        (within("Retry: {MaxErrorsShown: 4}, formatting: {max_errors_shown: 5}"),
         "formatting.max_errors_shown: sets max_errors_shown, as Retry.MaxErrorsShown does: keep one"),
        (within("mode: observe, Mode: enforce"), "Mode: sets mode, as mode does: keep one"),
        (within("sanitizing: {mode: strict, sanitizer_mode: balanced}"),
         "sanitizing.sanitizer_mode: sets sanitizer_mode, as sanitizing.mode does: keep one"),
        (within("overrides: {x: {mode: observe, Mode: enforce}}"),
         "overrides.x.Mode: sets mode, as overrides.x.mode does: keep one"),
        (within("overrides: {x: {mode: observe},\n x: {mode: enforce}}"),
         "tools.validation.overrides.x: stands twice, in line 1 and line 2: keep one"),
        (within('overrides: {1: {mode: observe}, "1": {mode: enforce}}'),
         "tools.validation.overrides.1: stands twice, in line 1 and line 1: keep one"),
        (within("overrides: {x: {retry: {max_attempts: 2, max_attempts: 3}}}"),
         "tools.validation.overrides.x.retry.max_attempts: stands twice, in line 1 and line 1: keep one"),
        (within("overrides: {}, Overrides: {}"), "Overrides: sets overrides, as overrides does: keep one"),
        ("tools: {validation: {}}\nTools: {Validation: {}}", "Tools: stands twice, in line 1 and line 2: keep one"),
        ("tools: {validation: {}, Validation: {}}", "tools.Validation: stands twice, in line 1 and line 1: keep one"),
        (within("mode: strict"), "mode: must be 'observe' or 'enforce', not 'strict'"),
    ],
)  # fmt: skip
def test_what_is_set_twice_is_refused_with_both_places(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(file)
    assert str(caught.value) == f"{file}: {message}"


@pytest.mark.parametrize("text", [within("mode: observe"), "Tools: {Validation: {Mode: observe}}"])
def test_the_mode_of_all_tools_stands_beside_the_sections(file: Path, text: str) -> None:
    file.write_text(text)
    assert load_configuration(file).mode == load_configuration(file).for_tool("x").mode == "observe"
    assert load_configuration(file, {"RETRYCONTRACT_MODE": "enforce"}).mode == "enforce"


def test_what_others_write_twice_is_left_to_them(file: Path) -> None:
    file.write_text(
        "a: 1\na: 2\nb: &b [*b]\ntools: {c: 1, c: 2, validation: {retry: &r {max_attempts: 4}, "
        "overrides: {x: {retry: {<<: *r}}, y: {retry: {<<: *r, max_attempts: 5}}}}}"
    )
    configuration = load_configuration(file)
    assert [configuration.for_tool(tool).max_attempts for tool in "xyz"] == [4, 5, 4]


@pytest.mark.parametrize("name", ["on", "off", "yes", "no", "null", "~", "1_0", "0x1f", "5", "2024-01-01", "1:30"])
def test_a_tool_is_found_by_its_name_as_it_is_written(file: Path, name: str) -> None:
    """YAML 1.1 makes something else of such words."""
    file.write_text(within(f"overrides: {{{name}: {{retry: {{max_attempts: 1}}}}}}"))
    assert load_configuration(file).for_tool(name).max_attempts == 1


@pytest.mark.parametrize("number", ["010", "1_0", "0x2", "0b1", "1:30", "1:30.5"])
def test_a_number_that_is_read_in_two_ways_is_refused(file: Path, number: str) -> None:
    file.write_text(within(f"retry: {{max_attempts: {number}}}"))
    with pytest.raises(ConfigurationError, match=f"must be a whole number from 1 to 10, not '{number}'"):
        load_configuration(file)

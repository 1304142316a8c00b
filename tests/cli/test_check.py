from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from retrycontract.cli.program import main
from tests.contract.quoted_secrets import GITHUB, REFUSED, WARNED, leaked

SCHEMA = {"properties": {"encoding": {"enum": ["utf-8", "ascii"]}}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETRYCONTRACT_CONFIG_FILE", raising=False)
    (tmp_path / "S.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "good.json").write_text('{"encoding": "ascii"}')
    (tmp_path / "bad.json").write_text('{"encoding": "uft8"}')
    (tmp_path / "extra.json").write_text('{"encodings": "x"}')
    return tmp_path


def check(*arguments: str) -> int:
    return main(["check", "--schema", "S.json", *arguments])


FEEDBACK = """\
Validation failed for tool 'tool' (attempt 1/3):

• /encoding (VAL-008): Invalid enum value 'uft8'
  Expected: one of: utf-8, ascii
  Actual: "uft8"

Please change 'encoding' to one of the allowed values (did you mean 'utf-8'?).
"""


def test_a_valid_output_ends_with_zero(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("good.json") == 0
    assert capsys.readouterr() == ("valid\n", "")


def test_an_invalid_output_ends_with_one_and_the_feedback(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("bad.json") == 1
    assert capsys.readouterr().out == FEEDBACK


def test_exchanged_files_are_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--schema", "good.json", "S.json"]) == 2
    assert "holds no keyword of JSON Schema" in capsys.readouterr().err


def test_warnings_are_told_but_valid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("extra.json") == 1
    capsys.readouterr()
    assert check("extra.json", "--lenient") == 0
    assert capsys.readouterr().out == "valid\n/encodings: Unknown field 'encodings'\n"


def test_the_output_may_come_from_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"encoding": "uft8"}')))
    assert check("-") == 1
    assert capsys.readouterr().out == FEEDBACK


@pytest.mark.parametrize(("name", "valid", "errors"), [("good.json", True, 0), ("bad.json", False, 1)])
def test_json_has_the_verdict_the_errors_and_the_feedback(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, valid: bool, errors: int
) -> None:
    assert check(name, "--format", "json") == (0 if valid else 1)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["valid"], len(answer["errors"])) == (valid, errors)
    assert answer["feedback"] == ("" if valid else FEEDBACK.rstrip("\n"))
    assert answer["characters"] == len(answer["feedback"])


def test_tool_name_and_configuration_are_heeded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own.yml").write_text("tools: {validation: {retry: {max_attempts: 5}}}")
    monkeypatch.setenv("RETRYCONTRACT_INCLUDE_HINTS", "no")
    assert check("bad.json", "--tool", "read_file", "--config", "own.yml") == 1
    out = capsys.readouterr().out
    assert out.startswith("Validation failed for tool 'read_file' (attempt 1/5):\n")
    assert "Please" not in out


def test_the_configuration_file_of_the_environment_is_heeded_unless_an_option_names_another(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("ours.yml", 7), ("own.yml", 5)):
        (folder / name).write_text(f"tools: {{validation: {{retry: {{max_attempts: {most}}}}}}}")
    monkeypatch.setenv("RETRYCONTRACT_CONFIG_FILE", str(folder / "ours.yml"))
    assert check("bad.json") == 1
    assert "1/7" in capsys.readouterr().out
    assert check("bad.json", "--config", "own.yml") == 1
    assert "1/5" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["mode: observe", "overrides: {tool: {mode: observe}}"])
def test_what_is_only_observed_is_not_called_valid(folder: Path, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    (folder / "own.yml").write_text(f"tools: {{validation: {{{mode}}}}}")
    assert check("bad.json", "--config", "own.yml", "--json") == 1
    assert not json.loads(capsys.readouterr().out)["valid"]


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        pytest.param({}, ["none.json"], "none.json: No such file or directory", id="no-output"),
        pytest.param({}, ["."], ".: Is a directory", id="output-is-a-folder"),
        pytest.param({"S.json": "{"}, ["good.json"], "S.json is not JSON: the text ends", id="schema-is-no-json"),
        pytest.param(
            {"S.json": "[" * 100_000}, ["good.json"], "S.json is not JSON: nested deeper", id="schema-too-deep"
        ),
        pytest.param({"S.json": b"\xff"}, ["good.json"], "S.json is not JSON: ", id="schema-is-no-text"),
        pytest.param(
            {"S.json": '{"properties": {"a": {"type": "text"}}}'},
            ["good.json"],
            "the schema is invalid at /properties/a/type: 'text' is not a type",
            id="schema-is-invalid",
        ),
        pytest.param({"S.json": "3"}, ["good.json"], "the schema is invalid at (root): ", id="schema-is-no-schema"),
        pytest.param(
            {".agent/config.yml": "tools: {validation: {retry: {max_attempts: 99}}}"},
            ["good.json"],
            ".agent/config.yml: retry.max_attempts: must be a whole number from 1 to 10, not 99",
            id="configuration",
        ),
        pytest.param({}, ["good.json", "--config", "mine.yml"], "mine.yml: No such file", id="no-configuration"),
    ],
)
def test_wrong_use_ends_with_two_and_the_reason(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str | bytes],
    arguments: list[str],
    message: str,
) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert check(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"retrycontract: {message}")


def test_it_runs_as_a_module(folder: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "retrycontract", "check", "--schema", folder / "S.json", folder / "bad.json"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stdout.decode(), run.stderr) == (1, FEEDBACK, b"")


def test_what_does_nothing_in_the_schema_is_told_beside_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "S.json").write_text(json.dumps({**SCHEMA, "requird": ["encoding"]}))
    assert check("good.json") == 0
    assert capsys.readouterr() == (
        "valid\n", "S.json, at /requird: `requird` is no keyword and does nothing; did you mean `required`?\n"
    )  # fmt: skip


@pytest.mark.parametrize("keyword", [*REFUSED, *WARNED])
def test_what_is_said_of_a_schema_holds_no_part_of_its_secrets(
    folder: Path, capsys: pytest.CaptureFixture[str], keyword: str
) -> None:
    (folder / "S.json").write_text(json.dumps((REFUSED | WARNED)[keyword](f"a/{GITHUB}")))
    assert check("good.json") == (2 if keyword in REFUSED else 0 if keyword != "required" else 1)
    told = capsys.readouterr().err
    assert told
    assert leaked(GITHUB, told, "") == []


def test_a_schema_that_is_no_json_is_told_without_its_secrets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "S.json").write_text(f'{{"{GITHUB}": 1, "{GITHUB}": 2}}')
    assert check("good.json") == 2
    told = capsys.readouterr().err
    assert "appears twice" in told
    assert leaked(GITHUB, told, "") == []

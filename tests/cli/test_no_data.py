"""A command that looks into a folder without data says so, names the folder, and leaves nothing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_program import run

LOOK = ("agent list", "agent list --json", "agent create planner", "doctor --json", "export -", "backup copy",
        "operator free ana", "rotate-keys make", "seed --calls 1", "rebuild-metrics")  # fmt: skip


@pytest.mark.processes
@pytest.mark.parametrize("words", LOOK)
@pytest.mark.parametrize("is_there", [True, False])
def test_whoever_looks_into_a_wrong_folder_is_told_and_makes_nothing(
    tmp_path: Path, words: str, is_there: bool
) -> None:
    data = tmp_path / "data"
    if is_there:
        data.mkdir()
    done = run(*words.split(), data=data)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"retrycontract: there is no service's data in {data}: is this the right folder?")
    assert [*tmp_path.rglob("*")] == ([data] if is_there else [])


@pytest.mark.processes
def test_a_misspelt_variable_is_told_before_the_folder_that_it_should_have_named(tmp_path: Path) -> None:
    done = run("agent", "list", data=tmp_path / "data", RETRYCONTRACT_DATADIR="/srv/data")
    assert "did you mean RETRYCONTRACT_DATA_DIR?" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.processes
def test_a_database_that_is_not_migrated_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "retrycontract.sqlite3").touch(mode=0o600)
    assert f"the database {data}/retrycontract.sqlite3 is not migrated" in run("agent", "list", data=data).stderr

"""All data moves between databases, and comes out as it went in."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from retrycontract.management.transfer.importing import export_to
from retrycontract.management.transfer.rows import moved_models, references
from retrycontract.store.models import Agent, Attempt, Call, Event
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.factories import PASSWORD, RIGHT, make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.file_database import using
from tests.management.conftest import everything, fill, printed

Lines = list[dict[str, Any]]


@pytest.fixture
def empty(tmp_path: Path, file_database: Path) -> Path:
    """An empty database, migrated, beside the one that is used."""
    return Path(shutil.copy(file_database, tmp_path / "empty.sqlite3"))


@pytest.fixture
def export(tmp_path: Path, empty: Path) -> Path:
    """The export of a database with something of everything in it."""
    fill()
    path = tmp_path / "all.jsonl"
    printed("export", str(path))
    return path


@pytest.fixture(scope="session")
def kept() -> dict[str, bytes]:
    """The export that the first test made which needs only the file."""
    return {}


@pytest.fixture
def exported(tmp_path: Path, file_database: Path, kept: dict[str, bytes]) -> Path:
    """The file alone, and an empty database."""
    path = tmp_path / "all.jsonl"
    if "export" not in kept:
        source = Path(shutil.copy(file_database, tmp_path / "source.sqlite3"))
        with using(source):
            fill()
            printed("export", str(path))
        kept["export"] = path.read_bytes()
    path.write_bytes(kept["export"])
    return path


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: Lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_every_row_arrives_with_every_value(export: Path, empty: Path) -> None:
    before = everything()
    with using(empty):
        text = printed("import", str(export))
        assert everything() == before
        rows = sum(map(len, before.values()))
        assert f"Imported {rows} rows" in text
        event = Event.objects.latest("pk")
        assert (event.name, event.actor, event.door) == ("data.imported", "import", "command")
        assert event.data == {"file": "all.jsonl", "rows": rows}
    assert all(before.values()), "the scene lacks a model"


def test_the_work_goes_on_where_the_data_went(exported: Path) -> None:
    printed("import", str(exported))
    assert authenticate(username="mia", password=PASSWORD) is not None
    agent = Agent.objects.get()
    blocked = Call.objects.blocked().get()
    newest = Event.objects.latest("pk").pk
    assert submit(agent, RIGHT, call=blocked).call.state == "valid"
    assert submit(agent, RIGHT).call.pk > blocked.pk
    assert Event.objects.latest("pk").pk > newest


def test_a_second_export_is_the_same_but_for_its_date(exported: Path, tmp_path: Path) -> None:
    printed("import", str(exported))
    printed("export", str(tmp_path / "again.jsonl"))
    first, second = lines_of(exported), lines_of(tmp_path / "again.jsonl")
    moved = [line for line in second[1:] if line["row"].get("name") == "data.imported"]
    assert len(moved) == 1
    assert [line for line in second[1:] if line not in moved] == first[1:]
    counts = second[0]["counts"]
    counts["retrycontract.event"] -= 1
    assert first[0] | {"made_at": ""} == second[0] | {"made_at": ""}


def test_the_header_says_what_the_file_holds(exported: Path) -> None:
    header, *rows = lines_of(exported)
    assert (header["format"], header["version"]) == ("retrycontract-export", 1)
    assert sum(header["counts"].values()) == len(rows)
    assert header["schema"]["retrycontract"][0] == "0001_initial"


def test_models_come_after_those_that_they_need() -> None:
    models: list[Any] = moved_models()
    assert models
    for model in models:
        for reference in references(model):
            is_forward = models.index(reference.related_model) > models.index(model)
            assert not is_forward or reference.null, reference


def test_the_file_is_for_its_owner_alone_and_is_never_overwritten(export: Path) -> None:
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    before = export.read_bytes()
    with pytest.raises(CommandError, match="exists already"):
        printed("export", str(export))
    assert export.read_bytes() == before


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, file_database: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        printed("export", str(tmp_path / "nowhere" / "all.jsonl"))


@pytest.fixture
def waiting(empty: Path, settings: Settings) -> Attempt:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker"})
    make_tool(make_agent())
    return submit(make_agent(), RIGHT)


def test_what_waits_sealed_does_not_travel_unasked(waiting: Attempt, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"1 submissions wait .* --with-sealed"):
        printed("export", str(tmp_path / "all.jsonl"))
    assert [path for path in tmp_path.iterdir() if "all.jsonl" in path.name] == []


def test_what_waits_sealed_travels_encrypted_and_is_judged_there(
    waiting: Attempt, empty: Path, tmp_path: Path, settings: Settings
) -> None:
    printed("export", str(tmp_path / "all.jsonl"), "--with-sealed")
    text = (tmp_path / "all.jsonl").read_text()
    assert "eu-west-1" not in text.replace(json.dumps(waiting.call.version.schema, separators=(",", ":")), "")  # type: ignore[union-attr]
    assert settings.RETRYCONTRACT.encryption_keys[0] not in text
    with using(empty):
        printed("import", str(tmp_path / "all.jsonl"))
        assert judge_waiting(clock=timezone.now) == 1
        assert Call.objects.get().state == "valid"


def test_no_key_is_in_the_file(exported: Path, settings: Settings) -> None:
    text = exported.read_text()
    for key in (settings.SECRET_KEY, *settings.RETRYCONTRACT.encryption_keys):
        assert key not in text


def test_import_goes_into_an_empty_database_only(export: Path) -> None:
    before = everything()
    with pytest.raises(CommandError, match=r"not empty: it has rows of auth\.group"):
        printed("import", str(export))
    assert everything() == before


def change(model: str, **values: Any) -> Callable[[Lines], None]:
    """Change the first row of a model."""

    def edit(lines: Lines) -> None:
        next(line for line in lines if line.get("model") == model)["row"].update(values)

    return edit


def drop_field(lines: Lines) -> None:
    del next(line for line in lines if line.get("model") == "retrycontract.call")["row"]["state"]


def cut_off(lines: Lines) -> None:
    del lines[-3:]


def swap_models(lines: Lines) -> None:
    lines[1], lines[-1] = lines[-1], lines[1]


def double(lines: Lines) -> None:
    lines.append(lines[-1])


def header(**values: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[0].update(values)


FAULTS: list[tuple[Callable[[Lines], None], str]] = [
    (header(format="other"), "line 1: this is no export of retrycontract"),
    (header(version=2), "line 1: the format has version 2; this release reads 1"),
    (header(schema={"retrycontract": ["0099_later"]}), r"line 1: the schemas differ \(.*0099_later there"),
    (header(counts={"retrycontract.call": 1}), "line 1: the models differ"),
    (change("retrycontract.call", created_at="yesterday"), "created_at is not what a DateTimeField holds"),
    (change("retrycontract.call", agent_id=None), "agent_id is empty"),
    (change("retrycontract.call", id=None), "id is empty"),
    (change("retrycontract.call", agent_id=99), "agent_id refers to a row that is not there"),
    (change("retrycontract.call", state="lost"), "database refuses this row of retrycontract.call: CHECK constraint"),
    (change("retrycontract.call", extra=1), "the fields of retrycontract.call differ from ours: extra"),
    (drop_field, "the fields of retrycontract.call differ from ours: state"),
    (change("retrycontract.attempt", number=2**70), "database refuses this row of retrycontract.attempt"),
    (change("retrycontract.tool", current_version_id=99), "current_version_id refers to a row that is not there"),
    (change("auth.user", groups=[99]), "groups refers to a row that is not there"),
    (change("auth.user", groups=7), "groups is no list"),
    (change("auth.user", user_permissions=[["no", "such", "right"]]), "names a permission that is not known here"),
    (cut_off, "it is cut off"),
    (swap_models, "comes after models that build on it"),
    (double, r"database refuses this row of retrycontract\.\w+: UNIQUE"),
    (lambda lines: lines.insert(2, {"model": "retrycontract.secret", "row": {}}), "line 3: it names no model of ours"),
    (lambda lines: lines.insert(2, {"model": "auth.group", "row": []}), "line 3: the row is no JSON object"),
]


@pytest.mark.parametrize(("spoil", "problem"), FAULTS, ids=[problem[:50] for _, problem in FAULTS])
def test_a_fault_is_named_with_its_line_and_nothing_comes_in(
    exported: Path, spoil: Callable[[Lines], None], problem: str
) -> None:
    lines = lines_of(exported)
    spoil(lines)
    write(exported, lines)
    with pytest.raises(CommandError, match=problem) as refused:
        printed("import", str(exported))
    number = int(str(refused.value).split("line ")[1].split(":")[0])
    assert 1 <= number <= len(lines)
    if "retrycontract.call " in problem or problem.startswith(("created_at", "agent_id")):
        assert lines[number - 1]["model"] == "retrycontract.call"
    assert "Nothing was imported" in str(refused.value)
    assert not any(everything().values())


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "line 1: this is no export"), (b"{\n", "line 1: this is not JSON"), (b"\xff\xfe", "not UTF-8")],
)
def test_a_file_that_is_no_export_is_refused(file_database: Path, tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "odd").write_bytes(content)
    with pytest.raises(CommandError, match=problem):
        printed("import", str(tmp_path / "odd"))


def test_a_file_that_is_not_there_is_said(file_database: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        printed("import", str(tmp_path / "nothing.jsonl"))


def test_an_export_shows_one_moment_and_holds_nobody_up(file_database: Path, tmp_path: Path) -> None:
    fill()
    told: list[str] = []

    def write_meanwhile(model: str, _count: int) -> None:
        told.append(model)
        with closing(sqlite3.connect(file_database, timeout=0.1)) as other:
            other.execute("UPDATE retrycontract_agent SET name = 'changed meanwhile'")
            other.commit()

    export_to(tmp_path / "all.jsonl", now=timezone.now(), progress=write_meanwhile)
    assert told[0] == "auth.group"
    agents = [line["row"] for line in lines_of(tmp_path / "all.jsonl") if line.get("model") == "retrycontract.agent"]
    assert [agent["name"] for agent in agents] == ["deployer"]
    assert Agent.objects.get().name == "changed meanwhile"


def test_export_tells_its_progress_when_asked(file_database: Path, tmp_path: Path) -> None:
    make_agent()
    assert "retrycontract.agent: 1 rows" in printed("export", str(tmp_path / "all.jsonl"), verbosity=2)

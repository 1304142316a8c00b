"""The keys that the data folder keeps: made once, for their owner alone, and refused where they are none."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from retrycontract.config.service_settings import PREFIX, WrongSettingError, load
from tests.config.test_settings import KEY, ROOT, load_with
from tests.file_database import all_at_once


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    first, second = load_with(folder), load_with(folder)
    assert (first.secret_key, [*first.encryption_keys]) == (second.secret_key, [*second.encryption_keys])
    assert len(first.secret_key) >= 50
    Fernet(first.encryption_keys[0])
    assert sorted(path.name for path in folder.iterdir()) == ["encryption_key", "secret_key"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", [None, b"", b"garbage", b"\xff\xfe"], ids=repr)
def test_a_service_follows_its_file_and_keeps_what_it_knows_while_that_holds_no_key(
    tmp_path: Path, text: bytes | None
) -> None:
    keys = load_with(tmp_path).encryption_keys
    file = tmp_path / "encryption_key"
    old = [*keys]
    file.unlink()
    if text is not None:
        file.write_bytes(text)
    assert [*keys] == old
    new = [Fernet.generate_key().decode(), *old]
    (tmp_path / "draft").write_text("\n".join(new))
    (tmp_path / "draft").replace(file)
    assert ([*keys], keys[0], keys[:1], len(keys)) == (new, new[0], new[:1], 2)
    assert new[0] not in repr(keys)


def test_keys_that_are_given_are_not_written_down(tmp_path: Path) -> None:
    load_with(tmp_path, secret_key="given-0123456789-given-0123456789", encryption_keys=KEY)
    assert list(tmp_path.iterdir()) == []


def test_threads_that_start_together_agree_on_the_keys(tmp_path: Path) -> None:
    for number in range(20):
        made = all_at_once(load_with, [tmp_path / str(number)] * 8)
        assert len({(one.secret_key, *one.encryption_keys) for one in made}) == 1


def test_processes_that_start_together_agree_on_the_keys(tmp_path: Path) -> None:
    look = (
        "import sys; from retrycontract.config.service_settings import load\n"
        f"made = load({{'{PREFIX}DATA_DIR': sys.argv[1]}})\n"
        "print(made.secret_key, *made.encryption_keys)"
    )
    command = [sys.executable, "-c", look, str(tmp_path / "data")]
    started = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    keys = {process.communicate(timeout=60)[0] for process in started}
    assert ([process.returncode for process in started], len(keys)) == ([0] * 6, 1)
    assert len(list((tmp_path / "data").iterdir())) == 2


@pytest.mark.parametrize("text", [b"", b"  \n", b"garbage", b"\xff\xfe", b"none", KEY.encode()[:-2]], ids=repr)
@pytest.mark.parametrize("name", ["secret_key", "encryption_key"])
def test_a_key_file_without_a_key_is_refused_with_what_to_do(tmp_path: Path, name: str, text: bytes) -> None:
    load_with(tmp_path)
    path = next(tmp_path.rglob(name))
    if name == "secret_key" and text == KEY.encode()[:-2]:  # long enough for that one
        text = text[:20]
    path.write_bytes(text)
    with pytest.raises(WrongSettingError) as refused:
        load_with(tmp_path)
    assert str(refused.value).startswith(f"{path}: it")
    assert "Restore the file from a copy" in str(refused.value)
    assert not text.strip() or ascii(text)[2:-1] not in str(refused.value)
    assert path.read_bytes() == text


@pytest.mark.parametrize("given", ["", "  "], ids=repr)
def test_a_blank_folder_is_the_usual_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert load({f"{PREFIX}DATA_DIR": given}).data_dir == Path("data")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]

"""Where a file is written: to the named target and nowhere else, whole or not at all."""

from __future__ import annotations

import os
import resource
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from retrycontract.loops import generate_file_with_retry
from retrycontract.loops.source_files import writable, write_whole

OLD, NEW = "old = 1\n", "new = 2\n"


def written(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(target: str | Path, file: str = "app.py") -> None:
    generate_file_with_retry(file, "Write it.", model=lambda _: NEW, write_to=target)


@pytest.mark.parametrize("file", ["../../evil.py", "/etc/evil.py", "a/b/c.py", "..\\evil.py"])
def test_the_files_own_name_is_no_place_to_write_to(tmp_path: Path, file: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(inner / "app.py", file)
    assert written(tmp_path) == {"a/b/app.py": NEW}
    assert not Path("/etc/evil.py").exists()


def test_a_step_up_in_the_target_is_taken_as_the_system_takes_it(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "inner")
    write(tmp_path / "link" / ".." / "app.py")
    assert written(tmp_path) == {"real/app.py": NEW}


def test_of_a_link_into_another_folder_only_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    real, link = tmp_path / "there" / "app.py", tmp_path / "here" / "app.py"
    real.write_text(OLD)
    link.symlink_to(real)
    write(link)
    assert link.is_symlink()
    assert written(tmp_path / "there") == {"app.py": NEW}
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["app.py"]


@pytest.mark.parametrize("kind", ["folder", "dangling link", "circle", "socket", "nothing"])
def test_what_cannot_be_written_to_is_told_before_the_model_is_asked(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "app.py"
    match kind:
        case "folder":
            target.mkdir()
        case "dangling link":
            target.symlink_to(tmp_path / "none" / "app.py")
        case "circle":
            target.symlink_to(target)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(target))
    before = {path.name: path.lstat().st_mode for path in tmp_path.iterdir()}
    with pytest.raises(OSError, match=r"make it first|is there and is no file"):
        generate_file_with_retry(
            "app.py", "Write it.", model=lambda _: pytest.fail("asked"), write_to=target if kind != "nothing" else ""
        )
    assert {path.name: path.lstat().st_mode for path in tmp_path.iterdir()} == before


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user whom permissions bind, which they do not root."""
    if os.geteuid():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_read_only_folder_is_told_before_the_model_is_asked_and_stays_as_it_is() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.py").write_text(OLD)
        folder.chmod(0o555)
        with nobody(), pytest.raises(PermissionError, match="change its permissions"):
            writable(folder / "app.py")
        with nobody(), pytest.raises(PermissionError):  # it may become so while the model is asked
            write_whole(folder / "app.py", NEW)
        assert written(folder) == {"app.py": OLD}
        folder.chmod(0o755)


def test_a_write_that_fails_half_way_leaves_the_old_file_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "app.py"
    target.write_text(OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # a disk that is full after so many bytes
    try:
        with pytest.raises(OSError, match="large"):
            write_whole(target, NEW * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert written(tmp_path) == {"app.py": OLD}
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "x = '\ud800'\n")
    assert written(tmp_path) == {"app.py": OLD}


def test_a_name_as_long_as_the_system_takes_is_written(tmp_path: Path) -> None:
    target = tmp_path / ("a" * 252 + ".py")
    write(target)
    assert written(tmp_path) == {target.name: NEW}

"""What `retrycontract up` does before it serves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from retrycontract.management.commands.up import gather_files
from retrycontract.management.demo import first_operator
from retrycontract.store.models import ProviderIdentity
from tests.factories import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import SettingsWrapper


@pytest.mark.django_db
def test_nobody_is_kept_out_by_an_operator_whose_password_was_never_written(
    tmp_path: Path, settings: SettingsWrapper
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path / "none"})
    with pytest.raises(FileNotFoundError):  # or no room, or Ctrl-C
        first_operator()
    (tmp_path / "none").mkdir()
    password = first_operator()
    assert (tmp_path / "none" / "operator_password").read_text() == f"{password}\n"
    assert User.objects.get().check_password(password)


@pytest.mark.django_db
def test_operators_who_have_no_way_in_do_not_count(tmp_path: Path, settings: SettingsWrapper) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path})
    call_command("seed", calls=1)
    unusable = User(username="invited")
    unusable.set_unusable_password()
    unusable.save()
    assert first_operator() is not None
    assert first_operator() is None


@pytest.mark.django_db
@pytest.mark.parametrize("way_in", ["password", "provider", "switched off", "their name"])
def test_no_operator_is_made_beside_those_who_have_a_way_in(
    tmp_path: Path, settings: SettingsWrapper, way_in: str
) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path})
    user = User.objects.create(username="Operator" if way_in == "their name" else "mia")
    if way_in == "provider":
        ProviderIdentity.objects.create(
            operator=user, issuer="https://id.example", subject="1", linked_at=timezone.now()
        )
    elif way_in != "their name":
        user.set_password(PASSWORD)
        user.is_active = way_in == "password"
        user.save()
    assert first_operator() is None


@pytest.mark.parametrize("change", ["a new text", "a new file", "what was gathered is gone"])
def test_files_are_gathered_once_and_again_when_they_change(
    tmp_path: Path, settings: SettingsWrapper, change: str
) -> None:
    source, gathered = tmp_path / "source", tmp_path / "static"
    source.mkdir()
    (source / "page.css").write_text("a {}")
    settings.STATIC_ROOT, settings.STATICFILES_DIRS = gathered, [source]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STORAGES = {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}
    gather_files(tmp_path)
    manifest = gathered / "staticfiles.json"
    loose = [path for path in (gathered, *gathered.rglob("*")) if path.stat().st_mode & 0o077]
    assert loose == [], "others may read it, whatever the umask"
    os.utime(manifest, (1, 1))
    gather_files(tmp_path)
    assert manifest.stat().st_mtime == 1, "gathered anew, though nothing has changed"
    if change == "a new text":
        (source / "page.css").write_text("b {}")
        os.utime(
            source / "page.css", (5_000_000_000, 5_000_000_000)
        )  # files of the same second look gathered to Django
    elif change == "a new file":
        (source / "other.css").write_text("c {}")
    else:
        manifest.unlink()
    gather_files(tmp_path)
    assert manifest.stat().st_mtime > 1

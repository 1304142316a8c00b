"""The encryption key is replaced step by step: nothing that was sealed is lost, and nothing needs the old one then."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from retrycontract.config.service_settings import load
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.management.doctor import work
from retrycontract.store.models import ApiKey, Attempt, Call, Door, Event, SecondFactor, WebhookEndpoint
from retrycontract.usecases import reseal
from retrycontract.usecases.calls.sweep import judge_waiting
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from retrycontract.usecases.people.log_in import begin_factor
from tests.factories import RIGHT, make_agent, make_tool, make_user, submit
from tests.management.conftest import printed

pytestmark = pytest.mark.django_db
BY: dict[str, Any] = {"actor": "ada", "door": Door.ADMIN}


class House:
    """A service with its key file, which is started again by reading its settings anew."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.restart()

    def restart(self) -> None:
        loaded = load({"RETRYCONTRACT_DATA_DIR": str(self.folder), "RETRYCONTRACT_JUDGE": "worker"})
        self.settings.RETRYCONTRACT = loaded
        self.settings.SECRET_KEY = loaded.secret_key

    @property
    def keys(self) -> list[str]:
        return (self.folder / "encryption_key").read_text().split()


@pytest.fixture
def house(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house with submissions that wait, and an endpoint with its secret."""
    for name in ("RETRYCONTRACT_ENCRYPTION_KEYS", "RETRYCONTRACT_ENCRYPTION_KEYS_FILE"):
        monkeypatch.delenv(name, raising=False)
    found = House(settings, tmp_path / "data")
    make_tool(make_agent())
    for _ in range(3):
        submit(make_agent(), RIGHT)
    add_endpoint("https://hooks.example/x", list(WebhookEvent), now=timezone.now(), **BY)
    return found


STEPS = ("make", "reseal", "retire")


def rotate(house: House, restarted_after: tuple[str, ...] = ()) -> None:
    for step in STEPS:
        printed("rotate_keys", step)
        if step in restarted_after:
            house.restart()


# In the wrong order it was lost what a service sealed that had not been started again.
@pytest.mark.parametrize("restarted_after", [(), ("make",), ("retire",), STEPS], ids=str)
def test_after_a_rotation_the_new_key_alone_opens_everything(house: House, restarted_after: tuple[str, ...]) -> None:
    (old,) = house.keys
    secret = WebhookEndpoint.objects.get().secrets_at(timezone.now())
    codes = begin_factor(make_user(), now=timezone.now()).secret
    rotate(house, restarted_after)
    submit(make_agent(), RIGHT)
    house.restart()
    assert SecondFactor.objects.get().secret == codes
    assert len(house.keys) == 1
    assert house.keys != [old]
    assert WebhookEndpoint.objects.get().secrets_at(timezone.now()) == secret
    assert WebhookEndpoint.objects.get().address == "https://hooks.example/x"
    assert judge_waiting(clock=timezone.now) == 4
    assert set(Call.objects.values_list("state", flat=True)) == {"valid"}


def test_the_file_stays_its_owners_alone_and_is_never_half_written(house: House) -> None:
    rotate(house)
    path = house.folder / "encryption_key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {path.name for path in house.folder.iterdir()} == {"encryption_key", "secret_key"}


def test_while_both_keys_are_known_work_goes_on(house: House) -> None:
    printed("rotate_keys", "make")
    submit(make_agent(), RIGHT)
    assert judge_waiting(clock=timezone.now) == 4
    assert set(Call.objects.values_list("state", flat=True)) == {"valid"}


def test_a_run_that_broke_off_is_taken_up_where_it_stopped(house: House) -> None:
    printed("rotate_keys", "make")
    house.restart()
    first = Attempt.objects.earliest("pk")
    Attempt.objects.filter(pk=first.pk).update(sealed=reseal.resealed(bytes(first.sealed or b"")))
    assert "Sealed 4 anew" in printed(
        "rotate_keys", "reseal"
    )  # two submissions, the endpoint's secrets and its address
    assert "Sealed 0 anew" in printed("rotate_keys", "reseal")


def test_what_is_judged_meanwhile_is_left_alone(house: House) -> None:
    printed("rotate_keys", "make")
    house.restart()
    before = {pk: bytes(sealed) for pk, sealed in Attempt.objects.values_list("pk", "sealed")}
    judge_waiting(clock=timezone.now)
    assert [reseal._replace(Attempt, "sealed", pk, sealed, b"new") for pk, sealed in before.items()] == [0, 0, 0]


def test_a_key_that_is_needed_is_not_retired(house: House) -> None:
    printed("rotate_keys", "make")
    house.restart()
    with pytest.raises(CommandError, match="5 are not sealed with the newest key"):
        printed("rotate_keys", "retire")
    assert len(house.keys) == 2


@pytest.mark.parametrize("step", ["reseal", "retire"])
def test_a_step_before_its_turn_says_so(house: House, step: str) -> None:
    with pytest.raises(CommandError, match="one key only"):
        printed("rotate_keys", step)


def test_a_second_key_is_made_only_when_the_first_rotation_is_over(house: House) -> None:
    printed("rotate_keys", "make")
    house.restart()
    with pytest.raises(CommandError, match="older key already"):
        printed("rotate_keys", "make")


def test_what_no_key_opens_is_counted_and_asked_for_again(house: House) -> None:
    (house.folder / "encryption_key").write_text(Fernet.generate_key().decode())
    house.restart()
    printed("rotate_keys", "make")
    house.restart()
    assert "5 are opened by none of the keys" in printed("rotate_keys", "reseal")
    judge_waiting(clock=timezone.now)
    assert set(Call.objects.values_list("state", flat=True)) == {"retrying"}, "not judged, and never Blocked"


def test_keys_of_the_environment_are_their_owners_to_change(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = house.keys
    monkeypatch.setenv("RETRYCONTRACT_ENCRYPTION_KEYS", old)
    text = printed("rotate_keys", "make")
    new = text.split("RETRYCONTRACT_ENCRYPTION_KEYS=")[1].split("\n")[0].split(",")
    assert new[1:] == [old]
    Fernet(new[0])
    assert house.keys == [old]


def test_api_keys_and_hashes_of_submissions_live_through_it(house: House) -> None:
    _, text = ApiKey.create_for(make_agent(), timezone.now())
    judge_waiting(clock=timezone.now)
    before = set(Attempt.objects.values_list("output_hash", flat=True))
    rotate(house)
    assert ApiKey.objects.authenticate(text, timezone.now()) is not None
    submit(make_agent(), RIGHT)
    judge_waiting(clock=timezone.now)
    assert set(Attempt.objects.values_list("output_hash", flat=True)) == before, "the same output, the same hash"


def test_each_step_is_in_the_trail_and_no_key_is(house: House) -> None:
    old = house.keys
    rotate(house)
    told = list(Event.objects.filter(name__startswith="keys.").values_list("name", "actor", "door", "data"))
    assert [row[:3] for row in told] == [
        (name, "rotate_keys", "command") for name in ("keys.made", "keys.resealed", "keys.retired")
    ]
    assert not any(key in str(told) for key in (*old, *house.keys))


def test_a_variable_that_is_empty_leaves_the_keys_in_their_file(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = house.keys
    monkeypatch.setenv("RETRYCONTRACT_ENCRYPTION_KEYS", "")
    printed("rotate_keys", "make")
    assert house.keys[1:] == [old]


def known(settings: Settings, *keys: str) -> bool:
    """Tell whether a process with these keys may start."""
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"encryption_keys": list(keys)})
    return reseal.know_keys(now=timezone.now(), **BY)


def test_keys_that_are_not_the_services_are_found_at_the_start_though_nothing_is_sealed(settings: Settings) -> None:
    ours, others = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    assert known(settings, ours)
    assert not known(settings, others)
    assert any("these encryption keys do not open" in str(finding).lower() for finding in work.readable())
    assert known(settings, others, ours)
    assert known(settings, ours)
    assert [*work.readable()] == []


def test_processes_restart_in_any_order_while_keys_are_replaced(settings: Settings) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    assert known(settings, old)
    for _ in range(2):  # one that has both, and one that crashed and has the old one still
        assert known(settings, new, old)
        assert known(settings, old)
    known(settings, new, old)
    with pytest.raises(CommandError, match="run 'rotate-keys reseal' first"):
        printed("rotate_keys", "retire")
    printed("rotate_keys", "reseal")
    for keys in ((new, old), (new,), (new, old)):
        assert known(settings, *keys)
    assert not known(settings, old)


def test_where_the_keys_are_lost_others_become_the_services(settings: Settings) -> None:
    lost, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    assert known(settings, lost)
    assert not known(settings, new)
    printed("rotate_keys", "reseal")
    assert known(settings, new)

"""What is known of operators is shown to everybody, so that none of it may be a secret."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.store.models import Door, Event
from retrycontract.usecases.people.admit import SHOWN, Role, admit_operator, change_operator
from tests.factories import make_user
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
BY: dict[str, Any] = {"now": NOON, "actor": "ada", "door": Door.ADMIN}
TYPED = {"username": TOKEN, "first_name": f"Mia {TOKEN}", "last_name": TOKEN, "email": f"{TOKEN}@desk.example"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_new_operator_may_not_be_named_by_a_secret(name: str) -> None:
    user = User(**({"username": "eve"} | {name: TYPED[name]}))
    user.set_password("h4rd-to-guess")
    with pytest.raises(ValidationError) as refused:
        admit_operator(user, Role.VIEWER, **BY)
    assert list(refused.value.message_dict) == [name]
    assert TOKEN not in str(refused.value)
    assert not User.objects.exists()


@pytest.mark.parametrize("name", SHOWN)
def test_nor_may_one_be_changed_to_it(name: str) -> None:
    mia = make_user("mia")
    setattr(mia, name, TYPED[name])
    with pytest.raises(ValidationError):
        change_operator(mia, [name], **BY)
    assert getattr(User.objects.get(), name) != TYPED[name]
    assert not Event.objects.filter(name="operator.changed").exists()


@pytest.mark.parametrize("mode", ["balanced", "strict"])
def test_an_address_of_their_own_is_no_secret(settings: Settings, mode: str) -> None:
    settings.CONTRACT = RetryConfiguration(sanitizer_mode=mode)
    user = User(username="mia@desk.example", first_name="Mia", last_name="O'Hara-Łuk", email="mia.ohara@desk.example")
    user.set_password("h4rd-to-guess")
    admit_operator(user, Role.VIEWER, **BY)
    assert User.objects.get().email == "mia.ohara@desk.example"

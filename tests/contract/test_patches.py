from __future__ import annotations

import copy
import functools
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrycontract.contract.patches import PatchError, apply_patch
from retrycontract.contract.redaction.changes import make_patch
from retrycontract.contract.redaction.sanitizer import has_redaction

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, width=16) | st.sampled_from(["", "a"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["", "a", "a/b", "~", "0", "-"]), inner)
    ),
    max_leaves=8,
)


def exact(value: Any) -> str:
    """Tell true from 1, and 1 from 1.0."""
    return json.dumps(value, sort_keys=True).replace("-0.0", "0.0")


@given(JSON, JSON)
def test_a_patch_applied_to_the_one_gives_the_other(before: Any, after: Any) -> None:
    kept = copy.deepcopy(before)
    patch = json.loads(json.dumps(make_patch(before, after)))
    assert exact(apply_patch(before, patch)) == exact(after)
    assert exact(before) == exact(kept)


@given(JSON)
def test_equal_documents_need_no_patch(document: Any) -> None:
    assert make_patch(document, copy.deepcopy(document)) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"b": 2}, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/c"}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1.0}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        ({"a": 1.0}, {"a": 1.0}, []),
        ({"a/b": 1}, {"a/b": 1, "": 2}, [{"op": "add", "path": "/", "value": 2}]),
        ([1, 2, 3], [1], [{"op": "remove", "path": "/2"}, {"op": "remove", "path": "/1"}]),
        ([1], [1, 2], [{"op": "add", "path": "/-", "value": 2}]),
        ({"a": "[REDACTED: TOKEN]", "b": 1}, {"a": "[REDACTED: TOKEN]", "b": 2},
         [{"op": "replace", "path": "/b", "value": 2}]),
        ("a", {"a": 1}, [{"op": "replace", "path": "", "value": {"a": 1}}]),
    ],
)  # fmt: skip
def test_a_patch_names_only_what_differs(before: Any, after: Any, patch: list[dict[str, Any]]) -> None:
    assert make_patch(before, after) == patch


SECRET = "[REDACTED: PASSWORD]"
ADA, BOB, EVE = ({"user": name, "port": "22", "password": SECRET} for name in ("ada", "bob", "eve"))
FREED = {"user": "x", "port": "22", "password": "none"}
CHANGED_AROUND_MARKS: dict[str, tuple[Any, Any, list[Any] | None]] = {
    "the first is gone": ([ADA, BOB], [BOB], [{"op": "remove", "path": "/0"}]),
    "the first is gone and the other mended": (
        [ADA, BOB], [BOB | {"port": 22}],
        [{"op": "replace", "path": "/1/port", "value": 22}, {"op": "remove", "path": "/0"}],
    ),
    "all are mended": (
        [ADA, BOB], [ADA | {"port": 22}, BOB | {"port": 22}],
        [{"op": "replace", "path": f"/{at}/port", "value": 22} for at in (0, 1)],
    ),
    "one is renamed": (
        [ADA, BOB], [ADA | {"user": "adam"}, BOB], [{"op": "replace", "path": "/0/user", "value": "adam"}],
    ),
    "one comes in front": ([ADA], [FREED, ADA], [{"op": "add", "path": "/0", "value": FREED}]),
    "one comes last": ([ADA], [ADA, FREED], [{"op": "add", "path": "/-", "value": FREED}]),
    "one is freed of its secret": (
        [ADA, BOB], [ADA, BOB | {"password": "none"}], [{"op": "replace", "path": "/1/password", "value": "none"}],
    ),
    "in a list of a list": ([1, [ADA, BOB]], [1, [BOB]], [{"op": "remove", "path": "/1/0"}]),
    "one of very many is mended": (
        [ADA] * 600, [*[ADA] * 599, ADA | {"port": 22}], [{"op": "replace", "path": "/599/port", "value": 22}],
    ),
    "of very many two change places": ([*[ADA] * 599, BOB], [BOB, *[ADA] * 599], None),
    "two change places": ([ADA, BOB], [BOB, ADA], None),
    "two change places and are mended": ([ADA, BOB], [BOB | {"port": 22}, ADA | {"port": 22}], None),
    "the last of three comes first": ([ADA, BOB, EVE], [EVE, ADA, BOB], None),
    "one is copied": ([ADA], [ADA, ADA], None),
    "it might be either": ([ADA, BOB], [ADA | {"user": "joe"}], None),
    "one of equal marks is gone": ([SECRET, SECRET], [SECRET], None),
    "one of equal records is gone": ([ADA, BOB, ADA], [BOB, ADA], None),
    "two names change places": ({"first": ADA, "second": BOB}, {"first": BOB, "second": ADA}, None),
    "a name takes over another's": ({"first": ADA, "second": BOB}, {"first": BOB}, None),
    "records inside of records change places": (
        [{"g": "x", "m": ADA}, {"g": "y", "m": BOB}], [{"g": "x", "m": BOB}, {"g": "y", "m": ADA}], None,
    ),
    "and are mended": (
        {"x": {"m": ADA}, "y": {"m": BOB}}, {"x": {"m": BOB | {"port": 22}}, "y": {"m": ADA | {"port": 22}}}, None,
    ),
    "lists of records change places": (
        [{"g": "x", "m": [ADA]}, {"g": "y", "m": [BOB]}], [{"g": "x", "m": [BOB]}, {"g": "y", "m": [ADA]}], None,
    ),
    "one of each list changes places": (
        [{"g": "x", "m": [ADA, EVE]}, {"g": "y", "m": [BOB]}], [{"g": "x", "m": [BOB, EVE]}, {"g": "y", "m": [ADA]}],
        None,
    ),
    "three go round": (
        {"x": [ADA], "y": [BOB], "z": [EVE]}, {"x": [BOB], "y": [EVE], "z": [ADA]}, None,
    ),
    "lists in lists change places": (
        [[["ada", SECRET]], [["bob", SECRET]]], [[["bob", SECRET]], [["ada", SECRET]]], None,
    ),
    "at another depth": ({"first": ADA, "rest": [BOB]}, {"first": BOB, "rest": [ADA]}, None),
    "at another depth and mended": (
        {"first": ADA, "rest": [BOB]}, {"first": BOB | {"port": 22}, "rest": [ADA | {"port": 22}]}, None,
    ),
    "an inner record takes the place of its outer one": (ADA | {"inner": BOB}, BOB, None),
    "users alone change places": (
        [ADA | {"host": "h1"}, BOB | {"host": "h2"}], [BOB | {"host": "h1"}, ADA | {"host": "h2"}], None,
    ),
    "in objects": (
        {"x": ADA | {"host": "h1", "db": 1}, "y": BOB | {"host": "h2", "db": 2}},
        {"x": BOB | {"host": "h1", "db": 1}, "y": ADA | {"host": "h2", "db": 2}}, None,
    ),
    "the groups' names change places": (
        {"x": {"g": "x", "m": {"password": SECRET}}, "y": {"g": "y", "m": {"password": SECRET}}},
        {"x": {"g": "y", "m": {"password": SECRET}}, "y": {"g": "x", "m": {"password": SECRET}}}, None,
    ),
    "with one that holds no secret": (
        {"x": ADA, "y": FREED | {"user": "joe"}}, {"x": ADA | {"user": "joe"}, "y": FREED | {"user": "ada"}}, None,
    ),
    "users beside a list of marks": (
        {"users": ["ada", "bob"], "passwords": [SECRET] * 2}, {"users": ["bob", "ada"], "passwords": [SECRET] * 2},
        None,
    ),
    "the first user beside a list of marks is gone": (
        {"users": ["ada", "bob"], "passwords": [SECRET] * 2}, {"users": ["bob"], "passwords": [SECRET] * 2}, None,
    ),
    "users beside an object of marks": (
        {"users": {"1": "ada", "2": "bob"}, "passwords": {"1": SECRET, "2": SECRET}},
        {"users": {"1": "bob", "2": "ada"}, "passwords": {"1": SECRET, "2": SECRET}}, None,
    ),
    "users of one record with two marks": (
        {"from": "ada", "from_password": SECRET, "to": "bob", "to_password": SECRET},
        {"from": "bob", "from_password": SECRET, "to": "ada", "to_password": SECRET}, None,
    ),
    "users between marks": (["ada", SECRET, "bob", SECRET], ["bob", SECRET, "ada", SECRET], None),
    "inner ones are mended": (
        [{"g": "x", "m": [ADA]}, {"g": "y", "m": [BOB]}],
        [{"g": "x", "m": [ADA | {"port": 22}]}, {"g": "y", "m": [BOB | {"port": 22}]}],
        [{"op": "replace", "path": f"/{at}/m/0/port", "value": 22} for at in (0, 1)],
    ),
    "a group is renamed": (
        [{"g": "x", "m": ADA}, {"g": "y", "m": BOB}], [{"g": "z", "m": ADA}, {"g": "y", "m": BOB}],
        [{"op": "replace", "path": "/0/g", "value": "z"}],
    ),
    "one is mended to what another has": (
        [ADA, BOB | {"port": 22}], [ADA | {"port": 22}, BOB | {"port": 22}],
        [{"op": "replace", "path": "/0/port", "value": 22}],
    ),
    "a name around it is taken over": (
        {"name": "prod", "db": {"name": "dev", "password": SECRET}},
        {"name": "prod", "db": {"name": "prod", "password": SECRET}},
        [{"op": "replace", "path": "/db/name", "value": "prod"}],
    ),
    "flags change places": (
        [ADA | {"main": True}, BOB | {"main": False}], [ADA | {"main": False}, BOB | {"main": True}],
        [{"op": "replace", "path": f"/{at}/main", "value": bool(at)} for at in (0, 1)],
    ),
    "two fields of the only record change places": (
        {"from": "a", "to": "b", "password": SECRET}, {"from": "b", "to": "a", "password": SECRET},
        [{"op": "replace", "path": "/from", "value": "b"}, {"op": "replace", "path": "/to", "value": "a"}],
    ),
    "files of a record with two marks": (
        {"files": ["a", "b"], "password": SECRET, "token": SECRET},
        {"files": ["b"], "password": SECRET, "token": SECRET},
        [{"op": "replace", "path": "/files/0", "value": "b"}, {"op": "remove", "path": "/files/1"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "patch"), CHANGED_AROUND_MARKS.values(), ids=list(CHANGED_AROUND_MARKS))
def test_a_mark_stays_with_its_own_record_or_is_named(before: Any, after: Any, patch: list[Any] | None) -> None:
    """What holds a mark is refused by whoever sends it."""
    made = make_patch(before, after)
    assert exact(apply_patch(before, made)) == exact(after)
    if patch is None:
        assert has_redaction(made)
    else:
        assert made == patch


RECORD = st.fixed_dictionaries({"user": st.sampled_from("abcdef"), "port": st.sampled_from(["22", "23", 22])})
RECORDS = st.lists(RECORD, max_size=5, unique_by=exact)  # of two that look alike, nobody can say which one stayed


@given(RECORDS, st.data())
def test_no_record_gets_the_secret_of_another_that_is_still_there(records: list[Any], data: st.DataObject) -> None:
    own = [record | {"password": f"own-{at}"} for at, record in enumerate(records)]
    shown = [record | {"password": SECRET} for record in records]
    order = data.draw(st.lists(st.sampled_from(range(len(records))), unique=True) if records else st.just([]))
    after = [shown[at] for at in order]
    for _ in range(data.draw(st.integers(0, 2))):
        after.insert(data.draw(st.integers(0, len(after))), FREED)
    patch = make_patch(shown, after)
    assert exact(apply_patch(shown, patch)) == exact(after)
    if not has_redaction(patch):
        kept = [item for item in apply_patch(own, patch) if item != FREED]
        assert all(item in own for item in kept)
        assert {item["password"] for item in kept} == {own[at]["password"] for at in order}


KEYS = st.sampled_from(["a", "b", "c", "m", "user"])
SHAPES = st.recursive(
    st.builds(dict, port=st.sampled_from(["22", "23"]), note=st.sampled_from("pq"))
    | st.tuples(st.sampled_from(["22", "23"])).map(list),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=6,
)  # fmt: skip


def with_secrets(shape: Any, numbers: Iterator[int]) -> Any:
    """Make each innermost object or list a record: its name, and the secret that belongs to that name alone."""
    if isinstance(shape, dict | list) and any(isinstance(member, dict | list) for member in members(shape).values()):
        made = {step: with_secrets(member, numbers) for step, member in members(shape).items()}
        return list(made.values()) if isinstance(shape, list) else made
    number = next(numbers)
    if isinstance(shape, list):
        return [f"user-{number}", *shape, f"own-{number}"]
    return shape | {"user": f"user-{number}", "password": f"own-{number}"}


def members(value: Any) -> dict[Any, Any]:
    return dict(enumerate(value)) if isinstance(value, list) else dict(value) if isinstance(value, dict) else {}


def places(value: Any, *above: Any) -> list[tuple[Any, ...]]:
    """List the paths of the containers below the outermost one."""
    inner = [place for step, member in members(value).items() for place in places(member, *above, step)]
    return [above, *inner] if above and isinstance(value, dict | list) else inner


def at(value: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda held, step: held[step], path, value)


def hidden(value: Any) -> Any:
    if isinstance(value, dict | list):
        made = {step: hidden(member) for step, member in members(value).items()}
        return list(made.values()) if isinstance(value, list) else made
    return SECRET if isinstance(value, str) and value.startswith("own-") else value


def strangers(value: Any) -> list[Any]:
    """List the records whose name and secret do not belong together."""
    found = [stranger for member in members(value).values() for stranger in strangers(member)]
    held = [item for item in members(value).values() if isinstance(item, str)]
    names, secrets = ([item[len(kind) :] for item in held if item.startswith(kind)] for kind in ("user-", "own-"))
    return [*found, value] if names and secrets and names != secrets else found


@settings(max_examples=400)
@given(SHAPES, st.data())
def test_however_records_are_moved_none_gets_the_secret_of_another(shape: Any, data: st.DataObject) -> None:
    own = with_secrets([shape, shape], itertools.count())
    after = copy.deepcopy(own)
    for _ in range(data.draw(st.integers(1, 4))):
        known = places(after)
        edit = data.draw(st.sampled_from(["exchange", "rotate", "move", "copy", "remove", "mend"])) if known else "none"
        chosen = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)) if known else []
        apart = [one for one in chosen if not any(other != one and one[: len(other)] == other for other in chosen)]
        if edit in ("exchange", "rotate"):
            held = [at(after, path) for path in apart]
            for path, value in zip(apart, [*held[1:], *held[:1]], strict=True):
                at(after, path[:-1])[path[-1]] = value
        elif edit in ("move", "copy") and len(apart) > 1:
            value = copy.deepcopy(at(after, apart[0]))
            target = at(after, apart[1])
            if isinstance(target, list):
                target.insert(data.draw(st.integers(0, len(target))), value)
            else:
                target[data.draw(KEYS.filter("user".__ne__))] = value
            if edit == "move" and at(after, apart[0]) == value:
                del at(after, apart[0][:-1])[apart[0][-1]]
        elif edit == "remove":
            del at(after, apart[0][:-1])[apart[0][-1]]
        elif edit == "mend" and isinstance(record := at(after, apart[0]), dict):
            record["port"] = data.draw(st.sampled_from([22, "23", "24"]))
    patch = make_patch(hidden(own), hidden(after))
    assert exact(apply_patch(hidden(own), patch)) == exact(hidden(after))
    if not has_redaction(patch):
        assert not strangers(apply_patch(own, patch))


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"op": "add", "path": "/items/0", "value": 0}], {"items": [0, 1, 2]}),
        ([{"op": "add", "path": "/items/2", "value": 3}], {"items": [1, 2, 3]}),
        ([{"op": "add", "path": "/items/-", "value": 3}], {"items": [1, 2, 3]}),
        ([{"op": "add", "path": "/items", "value": 3}], {"items": 3}),
        ([{"op": "remove", "path": "/items/0"}], {"items": [2]}),
        ([{"op": "replace", "path": "/items/1", "value": None}], {"items": [1, None]}),
        ([{"op": "replace", "path": "", "value": 1}], 1),
        ([{"op": "move", "from": "/items", "path": "/a"}], {"a": [1, 2]}),
        ([{"op": "move", "from": "/items/0", "path": "/items"}], {"items": 1}),
        ([{"op": "move", "from": "/items/0", "path": "/items/-"}], {"items": [2, 1]}),
        ([{"op": "move", "from": "/items", "path": ""}], [1, 2]),
        ([{"op": "move", "from": "/items", "path": "/items"}], {"items": [1, 2]}),
        ([], {"items": [1, 2]}),
    ],
)
def test_a_patch_is_applied_to_a_copy(patch: list[dict[str, Any]], result: Any) -> None:
    document = {"items": [1, 2]}
    assert apply_patch(document, patch) == result
    assert document == {"items": [1, 2]}


def test_a_value_of_the_patch_is_copied() -> None:
    value: list[int] = []
    patched = apply_patch({}, [{"op": "add", "path": "/a", "value": value}])
    patched["a"].append(1)
    assert value == []


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"op": "move", "from": "/a", "path": "/b"}, "nothing is at '/a'"),
        ({"op": "move", "path": "/b"}, "move needs a from"),
        ({"op": "move", "from": "text", "path": "/b"}, "move needs a from"),
        ({"op": "move", "from": "/items", "path": "/items/0"}, "nothing can be moved into itself"),
        ({"op": "move", "from": "", "path": "/b"}, "nothing can be moved into itself"),
        ({"op": "move", "from": "/text", "path": "/b/c"}, "nothing is at '/b'"),
        ({"op": "test", "path": "/a", "value": 1}, "only add, replace, remove and move"),
        ({"op": "add", "value": 1}, "only add, replace, remove and move with a path"),
        ({"op": "add", "path": 3, "value": 1}, "only add, replace, remove and move with a path"),
        ({"op": "add", "path": "a", "value": 1}, "only add, replace, remove and move with a path"),
        ("remove", "only add, replace, remove and move with a path"),
        (None, "only add, replace, remove and move with a path"),
        ({"op": "add", "path": "/b"}, "add needs a value"),
        ({"op": "replace", "path": ""}, "replace needs a value"),
        ({"op": "remove", "path": ""}, "the whole document cannot be removed"),
        ({"op": "remove", "path": "/b"}, "there is no member 'b'"),
        ({"op": "replace", "path": "/b", "value": 1}, "there is no member 'b'"),
        ({"op": "add", "path": "/b/c", "value": 1}, "nothing is at '/b'"),
        ({"op": "add", "path": "/text/0", "value": 1}, "nothing can be changed at '/text/0'"),
        ({"op": "add", "path": "/items/3", "value": 1}, "there is no item '3'"),
        ({"op": "replace", "path": "/items/2", "value": 1}, "there is no item '2'"),
        ({"op": "remove", "path": "/items/-"}, "there is no item '-'"),
        ({"op": "remove", "path": "/items/-1"}, "there is no item '-1'"),
        ({"op": "remove", "path": "/items/01"}, "there is no item '01'"),
        ({"op": "remove", "path": "/items/" + "9" * 5000}, "there is no item"),
    ],
)  # fmt: skip
def test_an_operation_that_does_not_fit_is_refused_with_its_position(operation: Any, reason: str) -> None:
    fine = {"op": "add", "path": "/x", "value": 1}
    with pytest.raises(PatchError, match=f"^operation 1: {reason}") as caught:
        apply_patch({"items": [1, 2], "text": "t"}, [fine, operation])
    assert caught.value.position == 1

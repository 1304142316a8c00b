from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
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

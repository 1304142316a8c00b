"""Maps that were sent as lists of entries, and texts that list several items: no patch makes another call of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.test_near_misses import TEXT, TEXTS, fields, judged, replaced
from tests.contract.test_readings import told

MAP = {"type": "object", "additionalProperties": TEXT}
AS_MAP = "send 'env' as an object of names to values"
BY_ITSELF = "send 'l' as an array, with each of its items by itself"


@pytest.mark.parametrize(
    "place",
    [
        MAP,
        {"type": "object"},
        {"anyOf": [MAP, {"type": "null"}]},
        {"type": "object", "patternProperties": {"": TEXT}, "additionalProperties": False},
    ],
)
@pytest.mark.parametrize(
    "entries",
    [
        [{"name": "A", "value": "b"}],
        [{"key": "A", "value": "b"}],
        [{"k": "A", "v": "b"}],
        [{"Key": "A", "Value": "b"}],
        [{"name": "A", "value": "b"}, {"name": "B", "value": "c"}],
    ],
)  # fmt: skip
def test_a_map_as_a_list_of_entries_is_sent_as_a_map(place: Any, entries: list[dict[str, str]]) -> None:
    (error,) = judged(fields(env=place), {"env": entries}).errors
    meant = dict(tuple(entry.values()) for entry in entries)
    assert error.patch == (replaced("/env", meant),)
    assert error.hint == f"{AS_MAP}: {json.dumps(meant)}"


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([{"name": "A", "value": "b", "secret": "c"}], id="of-more-than-a-value"),
        pytest.param([{"name": "A", "value": "b"}, {"name": "A", "value": "c"}], id="of-one-name-twice"),
        pytest.param([{"name": 1, "value": "b"}], id="of-a-number"),
        pytest.param([{"name": "A", "key": "B", "value": "b"}], id="of-two-names"),
    ],
)
def test_entries_that_are_no_map_are_neither_mended_nor_taken_for_the_map(entries: Any) -> None:
    (error,) = judged(fields(env=MAP), {"env": entries}).errors
    assert (error.patch, error.hint) == ((), "send 'env' as object")


def test_what_is_wrong_with_the_values_of_entries_is_told_where_they_will_stand() -> None:
    findings = judged(fields(env=MAP), {"env": [{"name": "A", "value": ["b", "c"]}]})
    assert told(findings) == {"/env": "VAL-002", "/env/A": "VAL-002"}
    assert findings.errors[0].hint == AS_MAP


def test_an_object_of_these_very_fields_is_taken_out_of_its_list() -> None:
    (error,) = judged(fields(env=fields(name=TEXT, value=TEXT)), {"env": [{"name": "A", "value": "b"}]}).errors
    assert error.hint == "send 'env' without the array around it"
    (error,) = judged(fields(env=MAP), {"env": [{"FOO": "b"}]}).errors
    assert error.hint == "send 'env' without the array around it"


def test_the_secret_of_an_entry_stays_out_of_the_hint() -> None:
    (error,) = judged(fields(env=MAP), {"env": [{"name": "DB_PASSWORD", "value": "hunter2-" + "two"}]}).errors
    assert (error.patch, error.hint) == ((), AS_MAP)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cmd", "ls /tmp"), ("args", "run fast"), ("l", "ls -la /tmp"), ("l", "git log --oneline"),
        ("l", "a@b.example and d@e.example"), ("l", "a & b"), ("l", "a, b and c"), ("l", "a; b"), ("l", "a\nb"),
    ],
)  # fmt: skip
def test_a_text_that_lists_several_is_no_item(name: str, text: str) -> None:
    (error,) = judged(fields(**{name: TEXTS}), {name: text}).errors
    assert (error.patch, error.hint) == ((), BY_ITSELF.replace("'l'", f"'{name}'"))


@pytest.mark.parametrize("text", ["New York", "ls", "well-known", "a -1", "Anderson", "up-to-date and", "R&D"])
def test_a_text_of_several_words_may_be_one_item(text: str) -> None:
    (error,) = judged(fields(l=TEXTS), {"l": text}).errors
    assert error.patch == (replaced("/l", [text]),)

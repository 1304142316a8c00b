"""What ends the engine's search early is weighed for less, and nothing is held for an end that is none."""

from __future__ import annotations

import json
from random import Random
from string import ascii_letters, printable
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.contract.advice import proposals
from retrycontract.contract.checks import readings, schema_engine
from retrycontract.contract.explaining import listing, parts
from retrycontract.contract.schemas import telling_costs
from retrycontract.contract.schemas.costs import Weight
from retrycontract.contract.schemas.document import read_document
from retrycontract.contract.schemas.graph import SchemaGraph
from retrycontract.contract.schemas.metaschema import draft_of
from retrycontract.contract.schemas.tool_lists import complete
from retrycontract.contract.schemas.verdicts import MOST_LOOKS, Looks

if TYPE_CHECKING:
    from tests.conftest import Corpus

NUMBERS = list(range(5_000, 6_000))
DEAR = {"anyOf": [{"const": number} for number in range(100)]}  # for a number
OBJECTS = [{"k": number} for number in NUMBERS]


def judged(schema: Any, value: Any) -> float:
    """Give what the engine's part of an estimate is, above that of a schema that asks for nothing."""
    return Weight.of(schema).estimate(value).valid - Weight.of({}).estimate(value).valid


def each(test: Any) -> Any:
    """Ask for a test of each item that no item fits: all of them are judged."""
    return {"items": {"not": test}}


# What ends early, the same without that end, and a value: the first weighs no more than a tenth of the second.
ENDS = {
    "a type that the value has not": (each({"type": "string", **DEAR}), each(DEAR), NUMBERS),
    "a constant of another type": (each({"const": "x", **DEAR}), each(DEAR), NUMBERS),
    "options of another type": (each({"enum": ["x", "y"], **DEAR}), each(DEAR), NUMBERS),
    "a type behind a reference": (
        {"$defs": {"d": {"type": "string", **DEAR}}, **each({"$ref": "#/$defs/d"})}, each(DEAR), NUMBERS
    ),
    "members of an object that is an array": (
        each({"type": "array", "additionalProperties": DEAR}), each({"additionalProperties": DEAR}), OBJECTS
    ),
    "a name that is missing": (
        each({"required": ["other"], "properties": {"k": DEAR}}), each({"properties": {"k": DEAR}}), OBJECTS
    ),
    "items of a list that is too long": (
        each({"maxItems": 1, "items": DEAR}), each({"maxItems": 3, "items": DEAR}), [[1, 2, 3]] * 1_000
    ),
    "the first item that is sought": (
        {"contains": {"anyOf": [*DEAR["anyOf"], True]}}, {"contains": DEAR}, NUMBERS
    ),
    "the first item that is refused": ({"items": DEAR}, each(DEAR), NUMBERS),
    "the third that is refused": ({"items": {"anyOf": [{"enum": [-1, -2]}, DEAR]}}, each(DEAR), [-1, -2, *NUMBERS]),
    "the first member of a pattern": (
        {"patternProperties": {"^k": DEAR}}, {"patternProperties": {"^k.": DEAR}},
        {f"k{number}": number for number in NUMBERS},
    ),
    "the first name that is refused": (
        {"propertyNames": {"anyOf": [{"const": f"n{number}"} for number in range(900)]}},
        {"propertyNames": {"not": {"anyOf": [{"enum": [f"n{number}"]} for number in range(900)]}}},
        {f"k{number}": number for number in NUMBERS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS.values(), ids=ENDS)
def test_what_ends_the_search_early_is_weighed_for_less(case: tuple[Any, Any, Any]) -> None:
    early, late, value = case
    assert judged(early, value) < 0.1 * judged(late, value)


# What seems to end early and does not: the first weighs at least nine tenths of the second.
NO_ENDS = {
    "a type beside a reference that hides it": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"d": DEAR},
         **each({"$ref": "#/definitions/d", "type": "string"})}, each(DEAR), NUMBERS,
    ),
    "a pattern that the first name does not match": (
        {"patternProperties": {"^k": DEAR}}, {"patternProperties": {"^k.": DEAR}},
        {"x": 1} | {f"k{number}": number for number in NUMBERS},
    ),
    "the fourth item that is refused": (
        {"items": {"anyOf": [{"enum": [-1, -2, -3]}, DEAR]}}, {"items": {"anyOf": [{"enum": [0]}, {"not": DEAR}]}},
        [-1, -2, -3, *NUMBERS],
    ),
    "a constant in a draft that lacks it": (
        {"$schema": "http://json-schema.org/draft-04/schema#", **each({"const": "x", **DEAR})}, each(DEAR), NUMBERS
    ),
    "a whole number where a fraction may be one": (each({"type": "integer", **DEAR}), each(DEAR), NUMBERS),
    "one item of several that are sought": (
        {"contains": {"anyOf": [*DEAR["anyOf"], True]}, "minContains": 2}, {"contains": DEAR}, NUMBERS
    ),
    "a refusal of the last item": (
        {"items": DEAR}, {"items": {"anyOf": [*DEAR["anyOf"], True]}}, [1] * 1_000 + [5_000]
    ),
    "a refusal that a union forgives": (
        {"anyOf": [{"items": DEAR}, True]}, {"anyOf": [{"items": DEAR}, True]} | {"title": "same"}, NUMBERS
    ),
    "a pattern that the name does not match": (
        {"patternProperties": {"^x": False, "^y": DEAR}}, {"patternProperties": {"^x": True, "^y": DEAR}},
        {f"k{number}": number for number in NUMBERS},
    ),
    "what only the items after the first are held to": (
        {"prefixItems": [True] * 2, "items": {"anyOf": [*DEAR["anyOf"], True]}},
        {"items": {"anyOf": [*DEAR["anyOf"], True]}}, NUMBERS,
    ),
    "a length that only lists have": (
        each({"anyOf": [{"minItems": 1, "items": True, **DEAR}, {"minLength": 9, "format": "email", **DEAR}]}),
        each({"anyOf": [DEAR, DEAR]}), NUMBERS,
    ),
    "a name that only some lack": (
        each({"required": ["other"], "properties": {"k": DEAR}}), each({"properties": {"k": DEAR}}),
        [{"k": number, "other": 1} for number in NUMBERS],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_ENDS.values(), ids=NO_ENDS)
def test_what_does_not_end_the_search_is_weighed_in_full(case: tuple[Any, Any, Any]) -> None:
    early, late, value = case
    assert judged(early, value) > 0.9 * judged(late, value) > 1_000 * len(value)


def test_values_of_many_shapes_are_weighed_as_the_dearest_of_them() -> None:
    """Each set of missing names would be a place of its own."""
    union = [{"required": [f"m{number}"], "properties": {"k": DEAR}} for number in range(12)]
    shapes = [{"k": 5_000} | {f"m{at}": 1 for at in range(12) if number >> at & 1} for number in range(4_096)]
    estimate = Weight.of(each({"anyOf": union})).estimate(shapes)
    assert estimate.valid < float("inf")
    assert estimate.valid > Weight.of({}).estimate(shapes).valid


def test_the_bounds_of_what_is_told_are_those_of_the_checks() -> None:
    assert telling_costs.MOST_TOLD == schema_engine.MAX_TOLD + 1
    assert telling_costs.MOST_MENDED == proposals.MAX_ERRORS
    assert telling_costs.MOST_WRITTEN == listing.MAX_WRITTEN
    assert (telling_costs.MOST_ENCODED, telling_costs.MOST_WITHIN) == (readings.MAX_CHARACTERS, proposals.MAX_NODES)
    assert telling_costs.MOST_TRIED == proposals.MAX_JUDGED
    assert (telling_costs.MOST_STEPS, telling_costs.COMPILING) == (parts.MAX_STEPS, parts.COMPILING)
    assert frozenset(parts.DEPENDENT) == telling_costs.DEPENDENT


def told(schema: Any, value: Any) -> float:
    return Weight.of(schema).estimate(value).explaining


@pytest.mark.parametrize(
    ("less", "more"),
    [
        # A thousand are told, so what is told of four thousand takes as long but for what the engine does.
        (({"items": {"type": "string"}}, NUMBERS * 4), ({"items": {"type": "string"}}, NUMBERS)),
        # Where hundreds of mistakes are certain, none is mended.
        (({"items": {"type": "string"}}, NUMBERS[:300]), ({"items": {"type": "string"}}, NUMBERS[:100])),
        # Where the engine has to write all at once, too much is not asked for.
        (
            ({"items": {**DEAR, "unevaluatedProperties": False}}, [{}] * 2_000),
            ({"items": {**DEAR, "unevaluatedProperties": False}}, [{}] * 50),
        ),
        # What fits its type has no mistake.
        (({"items": {"type": "integer"}}, NUMBERS), ({"items": {"type": "string"}}, NUMBERS)),
    ],
    ids=["a thousand", "certain", "undivided", "fitting"],
)
def test_what_is_told_is_bounded_as_the_checks_bound_it(less: Any, more: Any) -> None:
    assert told(*less) < 1.05 * told(*more)


def test_names_and_texts_that_differ_in_numbers_alone_weigh_less_than_others() -> None:
    like = [f"item number {number} of the list" for number in range(500)]
    unlike = [f"{'abcdefgh'[number % 8] * (number // 8 % 9 + 1)} {'xyzuvw'[number // 72 % 6]} of the list here"
              for number in range(432)]  # fmt: skip
    for make in (list, dict.fromkeys):
        one, other = (Weight.of({}).estimate(make(texts)).valid / len(texts) for texts in (like, unlike))
        assert other > 1.5 * one


def test_a_name_that_was_never_seen_weighs_more_than_a_text() -> None:
    """Names are searched one by one, texts together."""
    words = [" ".join("abcdefgh"[number // 8**at % 8] * 5 for at in range(4)) for number in range(512)]
    as_names, as_texts = (Weight.of({}).estimate(value).valid for value in (dict.fromkeys(words), words))
    assert as_names > 2 * as_texts


@pytest.mark.parametrize(
    "announced",
    ["password={}", "the password is {}", "Authorization: Bearer {}", "export TOKEN={}", "mysql -u root -p{} shop",
     "the key {} opens", "-----BEGIN PRIVATE KEY-----\n{}"],
)  # fmt: skip
def test_texts_that_announce_a_secret_each_weigh_what_looking_for_it_takes(announced: str) -> None:
    """A list of them was let in at the door that took seven times what it may."""
    made = Random(1)
    secrets = ["".join(made.choices(ascii_letters, k=14)) for _ in range(200)]
    plain = "".join("x" if sign.isalpha() else sign for sign in announced.format("")) + "{}"
    ours, other = (Weight.of({}).estimate([*map(text.format, secrets)]).valid for text in (announced, plain))
    assert ours > 2 * other


def test_one_text_that_always_repeats_is_weighed_for_less_than_noise() -> None:
    repeating = "key=a1B2 " * 100_000
    noise = "".join(Random(1).choices(printable, k=len(repeating)))

    def search(part: str) -> float:
        return 1_000 * len(part)

    one, other = (Weight.of({}).estimate(text, search=search).valid for text in (repeating, noise))
    assert other > 1.5 * one


@pytest.mark.corpus
def test_every_verdict_that_is_soon_told_is_the_engines(corpus: Corpus) -> None:
    told, wrong = 0, []
    for row in corpus("jsonschema_test_suite"):
        is_old = row["draft"].removesuffix("#").endswith(("draft-04/schema", "draft-06/schema"))
        if not isinstance(row["schema"], dict) or row["needs_remote"] or is_old:
            continue
        document = read_document({"$schema": row["draft"], **row["schema"]})
        assert isinstance(document, dict)
        complete(document)
        verdict = Looks().at(SchemaGraph(document, draft_of(document)).places[0], row["instance"])
        told += verdict is not None
        if verdict is not None and verdict is not row["valid"]:
            wrong.append((row["schema_desc"], row["test"]))
    assert wrong == []
    assert told > 400


def test_looking_at_a_value_is_bounded() -> None:
    nested: Any = {"minimum": 1}
    for _ in range(3):
        nested = {"allOf": [nested] * 12}
    document = read_document(nested)
    assert isinstance(document, dict)
    looks = Looks()
    place = SchemaGraph(document, draft_of(document)).places[0]
    assert looks.at(place, 5) is None
    assert MOST_LOOKS < 12**3


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        pytest.param({"a": json.dumps(NUMBERS[:40])}, {"a": NUMBERS[:40]}, id="a-text"),
        pytest.param({"arguments": {"a": NUMBERS[:40]}}, {"a": NUMBERS[:40]}, id="a-wrapper"),
        pytest.param({"arguments": json.dumps({"a": NUMBERS[:40]})}, {"a": NUMBERS[:40]}, id="a-text-in-a-wrapper"),
    ],
)
def test_what_is_read_out_of_a_text_or_a_wrapper_is_told_as_if_it_was_sent_so(sent: Any, meant: Any) -> None:
    schema = {"properties": {"a": {"type": "array", "items": DEAR}}}
    assert told(schema, meant) < told(schema, sent) < 3 * told(schema, meant)


def test_alternatives_that_a_length_ends_tell_of_the_members_as_well() -> None:
    lists, short = [[number] * 3 for number in range(40)], {"type": "array", "maxItems": 1}
    told_of = [
        told({"items": {"anyOf": [{**short, **more, "title": f"{number}"} for number in range(20)]}}, lists)
        for more in ({}, {"items": {"const": -1}})
    ]
    assert told_of[1] > 1.5 * told_of[0]


def test_a_number_of_hundreds_of_digits_is_written_into_each_mistake() -> None:
    few, many = ([10**digits + number for number in range(1_000)] for digits in (19, 300))
    assert told({"items": {"maximum": 0}}, many) > 1.3 * told({"items": {"maximum": 0}}, few)
    assert judged({"items": {"multipleOf": 2**65 + 1}}, many) == judged({"items": {"multipleOf": 2**65 + 1}}, few)

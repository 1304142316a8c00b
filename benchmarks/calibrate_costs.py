"""Measure what each kind of step of a check takes, and write the table that the estimate counts with.

    python -m benchmarks.calibrate_costs            # prints what it measures beside the table
    python -m benchmarks.calibrate_costs --write    # and writes retrycontract/contract/schemas/cost_table.py

Each step is measured where it is dearest: alternatives that all fail below many values. Figures are processor time of
the quickest of several rounds, of which the share is written that most outputs take; machines differ, but about alike
for all of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import geometric_mean, quantiles
from string import ascii_lowercase
from time import process_time
from typing import Any, Final

from benchmarks.clock import Effort, race
from retrycontract import ValueSanitizer
from retrycontract.contract.feedback.answer import examine_and_redact
from retrycontract.contract.schemas.admission import compile_schema
from retrycontract.contract.schemas.cost_table import NANOSECONDS, YARDSTICK
from retrycontract.contract.schemas.rates import WORD
from retrycontract.contract.schemas.reading_costs import FEW, SIGNS
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.languages import compiler_of
from tests.contract.pathological import TEXTS

TABLE: Final = Path(__file__).resolve().parent.parent / "retrycontract" / "contract" / "schemas" / "cost_table.py"
EFFORT: Final = Effort(rounds=5, turn=0.003)
# What is written of a figure, with a margin for rounds and builds that differ. With these none of a thousand bombs
# takes three times what is estimated for it, and 98 of 100 take a third or more.
SHARE_OF_ENGINE: Final = 0.63
OF_PYTHON: Final = ("mismatch", "refusal", "name", "known-text")
# Above 1 where other values than those that are measured here were seen to take more.
SHARES: Final = dict.fromkeys(OF_PYTHON, 1.0) | {
    "check": 0.6, "node": 1.3, "leaf": 1.2, "character": 1.25, "searched": 2.0, "written": 1.35,
    "const-node": 0.5, "text": 0.5, "letter": 0.4, "digit-of-text": 1.2, "digit-of-like": 0.7, "far-of-text": 1.4,
    "number": 1.4, "sign": 1.6, "announced": 0.8, "trial": 0.7, "trials": 0.5, "error": 0.7, "step": 0.55,
    "copied-word": 1.1, "compile-node": 1.0, "compile-pattern-step": 1.25,
}  # fmt: skip
WIDTH: Final = 100  # alternatives
SMALL: Final = list(range(5_000, 7_000))
WIDE: Final = [number + 0.5 for number in SMALL]
HEAD: Final = '''"""What judging costs, in nanoseconds of processor time; benchmarks/calibrate_costs.py measured it.

It decides what is judged at the door and what is reserved of an account; what it underrates elsewhere is still cut off
in its child.
"""

from __future__ import annotations

from typing import Final

YARDSTICK: Final = {pace:_}
"""What fixed work took on the machine that the table is from: others are as much slower as they take longer for it."""

# One name for each kind of step that the estimate counts; see costs.py for what is counted where.
NANOSECONDS: Final[dict[str, float]] = {{
'''

Leaf = Callable[[int], dict[str, Any]]


def seconds(action: Callable[[], object]) -> float:
    """Give the processor time of the quickest round."""
    return race({"it": action}, EFFORT)["it"].best


def judging(schema: Any, value: Any) -> float:
    """Measure one question to the engine."""
    return seconds(partial(compile_schema(schema).is_valid, value))


def checking(schema: Any, value: Any) -> float:
    """Measure a whole check: reading, judging, explaining, taking secrets out."""
    tool, sanitizer = CompiledTool.of(Tool(name="tool", input_schema=schema), compiler_of), ValueSanitizer()
    return seconds(lambda: examine_and_redact(value, tool, sanitizer, tool_name="tool"))


def unseen(make: Callable[[Random], str]) -> float:
    """Measure what a text of a kind takes in a list of them, none of which was seen before."""
    made, tool = Random(1), CompiledTool.of(Tool(name="tool", input_schema={}), compiler_of)  # noqa: S311
    times = list[float]()
    for _ in range(6):
        texts = [make(made) for _ in range(2_000)]
        started = process_time()
        examine_and_redact({"a": texts}, tool, ValueSanitizer(), tool_name="tool")
        times.append((process_time() - started) / len(texts))
    return min(times)


def words(count: int, letters: str = ascii_lowercase) -> Callable[[Random], str]:
    """Make texts of so many words of six letters."""
    return lambda made: " ".join("".join(made.choices(letters, k=6)) for _ in range(count))


def redacting(text: str) -> float:
    """Measure what it takes to search a text for secrets."""
    return seconds(partial(ValueSanitizer().redact, text))


def alternative(leaf: Leaf, values: Sequence[Any]) -> float:
    """Give what one value costs against one alternative that it fails."""
    schema = {"items": {"not": {"anyOf": [leaf(number) for number in range(WIDTH)]}}}
    return judging(schema, list(values)) / len(values) / WIDTH


def whole(name: str, short: str, long: str) -> tuple[float, float]:
    """Give what a format costs, and each character of a long text of it."""
    tested = [judging({"items": {"allOf": [{"format": name}, {"format": name}]}}, [text] * 100) / 200
              for text in (short, long)]  # fmt: skip
    return tested[0], max(0, tested[1] - tested[0]) / len(long)


FORMATS: Final[dict[str, tuple[str, str]]] = {
    "date-time": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    "email": ("a.b@example.com", "a" * 60 + "@" + ("b" * 60 + ".") * 3 + "com"),
    "uri": ("https://example.com/?x=1", "https://example.com/" + "a" * 1_000),
    "iri": ("https://example.com/?x=1", "https://example.com/" + "ä" * 1_000),
    "json-pointer": ("/a/b", "/a/b/c" * 200), "uri-template": ("/a/{b}", "/a/{b}" * 200),
    "ipv6": ("::1", "2001:db8::1"),
}  # fmt: skip
INTERNATIONAL: Final[dict[str, tuple[str, str]]] = {
    "idn-email": ("a.b@example.com", "ä" * 60 + "@" + ("b" * 60 + ".") * 3 + "com"),
    "idn-hostname": ("www.example.com", ("ä" * 50 + ".") * 4 + "com"),
}


def measured() -> dict[str, float]:
    """Measure every step, in seconds."""
    visits = {
        "minimum": ({"minimum": 10**9}, SMALL), "type": ({"type": ["string", "null"]}, SMALL),
        "minLength": ({"minLength": 10**6}, ["abc"] * 2_000), "minProperties": ({"minProperties": 9}, [{"a": 1}] * 500),
        "required": ({"required": ["other"]}, [{"a": 1}] * 500), "maxItems": ({"maxItems": 1}, [[1, 2]] * 500),
    }  # fmt: skip
    visit = max(alternative(lambda number, leaf=leaf: {"title": str(number), **leaf}, values)  # type: ignore[misc]
                for leaf, values in visits.values())  # fmt: skip
    formats = [whole(name, *texts) for name, texts in FORMATS.items()]
    international = [whole(name, *texts) for name, texts in INTERNATIONAL.items()]
    bigs = [2**64 + number for number in range(500)]
    pattern = alternative(lambda number: {"pattern": f"^x{number}[a-z]+$"}, ["abcdef"] * 500)
    patterns = [(matched, text * 500) for matched in ("(a|b|ab)*c", r"^\p{L}+$", "x[a-z]+$") for text in ("ab", "ä")]
    hard = max(judging({"items": {"pattern": matched}}, [text]) / len(text) for matched, text in patterns)
    named = {f"k{number}": 1 for number in range(50)}
    found = {
        "visit": visit,
        "const-number": alternative(lambda number: {"const": number}, SMALL),
        "mismatch": alternative(lambda number: {"type": "string", "title": str(number)}, SMALL),
        "const-wide": max(alternative(lambda number: {"const": number}, WIDE),
                          alternative(lambda number: {"const": number + 0.25}, SMALL)),
        "const-text": alternative(lambda number: {"const": f"name {number}"}, [f"value {number}" for number in SMALL]),
        "const-node": max(alternative(lambda number: {"const": {"a": 1, "b": [1, 2, number + 5]}},
                                      [{"a": 1, "b": [1, 2, 1]}] * 200) / 6,
                          alternative(lambda number: {"const": [1] * 20 + [number + 5]}, [[1] * 21] * 100) / 22),
        "enum": alternative(lambda number: {"enum": [number, -number - 1]}, SMALL),
        "limit-wide": max(alternative(lambda number: {"minimum": 1e9 + number}, WIDE),
                          alternative(lambda number: {"maximum": number}, [2**70 + number for number in SMALL])),
        "multiple": alternative(lambda number: {"multipleOf": 10**7 + number}, SMALL),
        "multiple-fraction": alternative(lambda number: {"multipleOf": 1e7 + number + 0.5}, SMALL),
        # Of a number whose length is not yet felt.
        "multiple-wide": alternative(lambda number: {"multipleOf": 1e7 + number + 0.1},
                                     [10**300 + number for number in range(200)]) * WORD / (10**300).bit_length(),
        "multiple-large": alternative(lambda number: {"multipleOf": 2**65 + number}, bigs),
        "pattern": pattern,
        "pattern-character": hard,
        "format": max(at_all for at_all, _ in formats + international),
        "format-character": max(each for _, each in formats),
        "format-idn-character": max(each for _, each in international),
        "unique-item": max(judging({"uniqueItems": True}, [{"i": n, "l": [n, 1, 2]} for n in SMALL]) / len(SMALL),
                           judging({"uniqueItems": True}, WIDE) / len(WIDE)),
        "unique-pair": judging({"uniqueItems": True}, bigs) / len(bigs) ** 2,
        "member": max(judging({"items": {"properties": {key: {"minimum": 1} for key in named}}}, [named] * 50),
                      judging({"items": {"required": list(named)}}, [named] * 50)) / 50 / 50,
        "pattern-member": judging({"patternProperties": {f"^x{n}[a-z]+$": True for n in range(10)}},
                                  {f"k{number}": 1 for number in SMALL}) / len(SMALL) / 10,
    }  # fmt: skip
    flat = {"type": "object", "properties": {"a": {"type": "array"}, "t": {"type": "string"}}}
    check = checking(flat, {"a": [1], "t": "x"})
    number, leaf = ((checking(flat, {"a": [*range(2_000), last], "t": "x"}) - check) / 2_000 for last in (1, "x"))
    named_leaf = (checking({}, {f"name{n}": 1 for n in range(501)}) - checking({}, {"name": 1})) / 500
    short, many = ({"a": [{"x": [1]}] * count, "t": "x"} for count in (1, 201))
    lists = (checking(flat, {"a": [[]] * 2_001, "t": "x"}) - check) / 2_000
    prose = "lorem ipsum dolor " * 50_000
    few, wrong = ({"properties": {"a": {"items": {"type": "string"}}}}, {"a": [1]})
    named_texts: Any = {"additionalProperties": {"type": "string"}}
    union = {"properties": {"a": {"items": {"anyOf": [{"const": number} for number in range(20)]}}}}
    known = seconds(partial(ValueSanitizer().redact, {"a": ["abc"] * 2_000})) / 2_000
    one, five = unseen(words(1)), unseen(words(5))
    letter = (five - one) / 28
    refused = {"propertyNames": {"oneOf": [{"const": f"name {number}"} for number in range(400)]}}
    large, small = (
        checking({"properties": {"a": {"items": {"maximum": 0}}}}, {"a": [10**digits + n for n in SMALL]})
        for digits in (300, 10)
    )
    found |= {
        "check": check,
        "refusal": checking(few, wrong) - check,
        "node": max(lists, ((checking(flat, many) - checking(flat, short)) / 200 - named_leaf) / 2),
        "leaf": leaf,
        "number": number,
        "name": max(0, named_leaf - leaf),
        "text": one - leaf,
        "known-text": known / 2,  # beside that of any value
        "letter": letter,
        "digit-of-text": (unseen(lambda made: f"{made.getrandbits(128):032x}") - one - 26 * letter) / 20,
        "digit-of-like": (unseen(lambda made: str(made.randrange(10**9, 10**10))) - leaf) / 10,
        "far-of-text": (unseen(words(1, "абвгдежзиклмн")) - leaf) / 6,
        "character": redacting(prose) / len(prose),
        # Of the hostile texts nine in ten take less, and so do ordinary ones, where most signs lead to no secret.
        "sign": quantiles(filter(None, (searched(make(30_000), SIGNS) for make in TEXTS.values())), n=10)[-1],
        "searched": geometric_mean(redacting(make(FEW)) / FEW for make in TEXTS.values()),
        "announced": unseen(lambda made: f"password={words(1)(made)}") - one,
        "trial": (checking(named_texts, numbered(50)) - checking(named_texts, numbered(101)) / 2) / 50**2,
        "trials": checking(named_texts, numbered(100)) - checking(named_texts, numbered(101)),
        "error": (checking(named_texts, numbered(801)) - checking(named_texts, numbered(201))) / 600,
        "step": checking(union, {"a": [5_000 + number for number in range(50)]}) / 50 / 40,
        "written": checking(refused, numbered(240)) / 240 / 400,
        "copied-word": (large - small) / len(SMALL) * WORD / (10**300).bit_length(),
        "compile-node": seconds(partial(compile_tool, {"anyOf": [{"minimum": n} for n in range(300)]})) / 300,
        "compile-pattern-step": seconds(partial(compile_tool, {"pattern": f"^({'x' * 100}){{1,100}}$"})) / (100 * 100),
    }  # fmt: skip
    return found


def yardstick() -> float:
    """Give the seconds of fixed work of three kinds: the engine's, that of Python, and the search for secrets."""
    union = {"items": {"not": {"anyOf": [{"const": number} for number in range(WIDTH)]}}}
    flat = {"properties": {"a": {"type": "array"}}}
    return geometric_mean((
        judging(union, SMALL), checking(flat, {"a": [{"x": [1]}] * 2_000}),
        redacting(TEXTS["printable"](30_000)),
    ))  # fmt: skip


def numbered(count: int) -> dict[str, int]:
    """Make an object of so many numbers."""
    return {f"k{number}": number for number in range(count)}


def searched(text: str, kind: bytes) -> float:
    """Give what the search for secrets takes for each byte of a kind, in a text that has many; else 0."""
    written = text.encode("utf-8", "surrogatepass")
    count = len(written) - len(written.translate(None, kind))
    # What is beyond ASCII is judged in texts of its own: one look decides about all of a word.
    if count < len(text) / 10 or len(written) > len(text):
        return 0
    return redacting(text) / count


def compile_tool(schema: Any) -> CompiledTool:
    """Compile a schema as a tool's."""
    return CompiledTool.of(Tool(name="tool", input_schema=json.loads(json.dumps(schema))), compiler_of)


def rounded(nanoseconds: float) -> float:
    """Keep two digits: the third differs from run to run."""
    figure = float(f"{nanoseconds:.1e}")
    return int(figure) if figure >= 1 else figure


def main() -> None:
    """Measure, show, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table")
    write = parser.parse_args().write
    pace = rounded(yardstick() * 1e9)
    print(f"{'yardstick':22} {pace:>12,} {YARDSTICK:>12,}")
    table = {
        name: rounded(max(taken, 0) * 1e9 * SHARES.get(name, SHARE_OF_ENGINE)) for name, taken in measured().items()
    }
    for name, figure in table.items():
        print(f"{name:22} {figure:>12,} {NANOSECONDS.get(name, 0):>12,}")
    if write:
        rows = "".join(f'    "{name}": {figure:_},\n' for name, figure in table.items())
        TABLE.write_text(f"{HEAD.format(pace=pace)}{rows}}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

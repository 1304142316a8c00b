"""What reasoning models think before they answer is cut off, whatever marks it and whatever it holds."""

from __future__ import annotations

import time
from itertools import product

import pytest

from retrycontract.contract.outputs.no_attempt import no_attempt
from retrycontract.contract.outputs.thoughts import without_thoughts
from tests.contract.test_no_attempt import HM, F, check


@pytest.mark.parametrize(
    ("thoughts", "rest"),
    [
        ("<thinking>hm</thinking>", "x"),
        ("<reasoning>hm\nb</reasoning>\n", "x"),
        ("<thought>hm</thought> ", "x"),
        ("<seed:think>hm</seed:think>", "x"),
        ("◁think▷hm◁/think▷", "x"),
        ("[THINK]hm[/THINK]", "x"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>", "x"),
        ("<|begin_of_thought|>hm<|end_of_thought|>", "x"),
        ("<think>hm</think>\n<think>b</think>\n", "x"),
        ("hm, without its opening\n</think>\n\n", "x"),
        ("\ufeff<think>hm</think>", "x"),
    ],
)
def test_thoughts_of_every_mark_are_cut_off(thoughts: str, rest: str) -> None:
    assert without_thoughts(thoughts + rest) == rest
    if not thoughts.startswith(HM):
        opening, _, _ = thoughts.partition(HM)
        assert no_attempt(f"{opening}{HM} never closed") == "only_thoughts"


# Opening and end of every mark, and what models think between them: fences, other marks, ends that are only mentioned.
MARKS = (
    ("<think>", "</think>"), ("<THINK >", "</think >"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"), ("<scratchpad>", "</scratchpad>"), ("<reflection>", "</reflection>"),
    ("<antThinking>", "</antThinking>"), ("<seed:think>", "</seed:think>"), ("<longcat_think>", "</longcat_think>"),
    ("<thinking_process>", "</thinking_process>"), ("<inner_monologue>", "</inner_monologue>"),
    ("<think_never_used_51bce0c7>", "</think_never_used_51bce0c7>"), ('<think type="x">', "</think>"),
    ("◁think▷", "◁/think▷"), ("[THINK]", "[/THINK]"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"), ("<unused94>thought\n", "<unused95>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<analysis>", "</analysis>"), ("<PLAN id='1'>", "</Plan>"), ("<cot>", "</cot>"), ("<rationale>", "</rationale>"),
    ("<inner-monologue>", "</inner-monologue>"), ("<scratch_pad>", "</scratch_pad>"),
    ("[REASONING]", "[/REASONING]"), ("<|begin_of_think|>", "<|end_of_think|>"), ("<ctrl94>thought\n", "<ctrl95>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|><|channel|>final <|constrain|>json<|message|>"),
)  # fmt: skip
# Marks without an end of their own kind that could stand alone: it is also somebody's XML, or Markdown's.
NEVER_ALONE = (
    "</analysis>", "</Plan>", "</rationale>", "</details>", "Here is my response:", f"\n{F}\n",
    "\n<|im_start|>answer\n",
)  # fmt: skip
FOLDED = (
    ('<details type="reasoning"><summary>Thought</summary>', "</details>"), (f"{F}thinking\n", f"\n{F}\n"),
    ("Here is my thought process:", "Here is my response:"), ("<|im_start|>think\n", "\n<|im_start|>answer\n"),
)  # fmt: skip
THOUGHTS = (
    "plan it", f"Maybe:\n{F}python\nos.remove(1)\n{F}\nno", f"{F}\nNO = 1\n{F}", "I'm sorry, I can't... or can I?",
    "outer <think>inner</think> outer", "a < b > c", "", "\n\n", 'is it "</div>"? yes', '{"path": "NO"}',
    "it ends with `</think>`, NO", "1. first\n2. second",
)  # fmt: skip
ANSWERS = (
    "x = 1\n",
    f"{F}python\nx = 1\n{F}",
    '{"a": 1}',
    "a: 1\n",
    "#!/bin/sh\nls -l\n",
    "# T\n\ntext.\n",
    "<p>x</p>\n",
)
SHAPES = ("{0}{2}{1}\n{3}", "{0}\r\n{2}\r\n{1}\r\n{3}", "{0}{2}{1}\n{0}again{1}\n\n{3}", "{2}\n{1}\n\n{3}")


@pytest.mark.parametrize(("opening", "end"), MARKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_was_thought_the_answer_is_what_follows(opening: str, end: str, shape: str) -> None:
    if end in NEVER_ALONE and not shape.startswith("{0}"):
        return
    for thought, answer in product(THOUGHTS, ANSWERS):
        assert without_thoughts(shape.format(opening, end, thought, answer)).strip() == answer.strip(), thought


@pytest.mark.parametrize(("opening", "end"), FOLDED)
def test_thoughts_that_are_folded_away_are_none_of_the_answer(opening: str, end: str) -> None:
    for thought, answer in product(THOUGHTS[:2], ANSWERS):
        assert without_thoughts(f"{opening}{thought}{end}\n{answer}").strip() == answer.strip(), thought


@pytest.mark.parametrize(("opening", "end"), MARKS + FOLDED)
def test_a_thought_that_never_ends_is_no_answer(opening: str, end: str) -> None:
    for thought, answer in product(THOUGHTS, ANSWERS):
        if end.startswith("\n") and F in thought + answer:  # the next fence ends it
            continue
        if "<think>" not in thought or "</think" not in end:  # where another one ends, it cannot be told which
            assert no_attempt(f"{opening}{thought}\n{answer}") == "only_thoughts", thought


@pytest.mark.parametrize(
    "unit",
    [
        "<think>",
        "</think> x",
        f"a\n<think>b</think>\n{F}",
        "<|channel|>",
        "<|im_end|>",
        "{ x</think>\n",
        "a\n<plan>b\n",
    ],
)
def test_many_marks_are_walked_through_once(unit: str) -> None:
    def seconds(number: int) -> float:
        started = time.process_time()
        without_thoughts(unit * number)
        return time.process_time() - started

    # A walk for each mark would take 256 times as long for 16 times the marks.
    assert seconds(80_000) < 60 * min(seconds(5_000) for _ in range(3)) + 0.1


def test_a_thought_behind_words_is_cut_with_the_fence_in_it() -> None:
    found = check("a.txt", f"Let me see.\n<think>\n{F}python\nos.remove(1)\n{F}\n</think>\n1.2.3")
    assert "os.remove" not in str(found.parsed)


@pytest.mark.parametrize(
    "text", ['{"a": "<think>b</think>"}', "x = 1  # <think>", f"{F}\n<think>\n{F}", "a < b and think"]
)
def test_text_that_mentions_a_mark_stays(text: str) -> None:
    assert without_thoughts(text) == text


# Files whose own text looks like the marks of thoughts.
OWN = (
    ("a.xml", "<plan>\n  <step/>\n</plan>\n"),
    ("a.xml", '<?xml version="1.0"?>\n<plan><analysis>x</analysis></plan>\n'),
    ("a.html", "<h1>x</h1>\n<plan>a</plan>\n<reasoning>b</reasoning>\n"),
    ("a.html", "<analysis>\n<p>x</p>\n</analysis>\n"),
    ("a.md", f"# T\n\n<plan>\nx\n</plan>\n\n{F}sh\nls\n{F}\n"),
    ("a.toml", "[thinking]\na = 1\n"),
    ("a.sh", "#!/bin/sh\ncat <<E\n<think>\nE\n"),
    ("a.tsx", "export const A = () => <plan><b/></plan>;\n"),
    ("a.py", f'P = """\n<thinking>\nplan\n</thinking>\n{F}json\n{{}}\n{F}\n"""\n'),
    ("a.py", 'P = """\nhm\n</think>\n"""\nx = 1\n'),
)


@pytest.mark.parametrize("is_fenced", [False, True])
@pytest.mark.parametrize(("name", "source"), OWN)
def test_a_file_keeps_its_own_elements_and_strings(name: str, source: str, *, is_fenced: bool) -> None:
    assert check(name, f"````\n{source}````" if is_fenced else source).parsed == source


@pytest.mark.parametrize(
    ("name", "thought", "source"),
    [
        ("a.xml", "<plan>I look first</plan>\n", "<?xml version='1.0'?>\n<a/>\n"),
        ("a.html", "<analysis>let me see</analysis>\n", "<!doctype html>\n<p>x</p>\n"),
        ("a.md", "<plan>hm</plan>\n", "# T\n"),
        ("a.txt", "<plan>Maybe so", ""),
        ("a.html", f"<plan>{F}\nno\n{F}</plan>", ""),
    ],
)
def test_markup_too_may_have_a_thought_before_it(name: str, thought: str, source: str) -> None:
    found = check(name, thought + source)
    assert found.parsed == (source or None)
    assert source or [error.keyword for error in found.errors] == ["only_thoughts"]

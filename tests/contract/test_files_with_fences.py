"""Which part of an answer is the file where fences stand: the whole that holds them, or what one of them holds."""

from __future__ import annotations

import pytest

from tests.contract.test_no_attempt import F, check

# Whole files without a fence around them, each of which holds fences: no part of one is the file.
HOLDING_FENCES = (
    ("a.yaml", f"# how\na: 1\nexample: |\n  {F}yaml\n  b: 2\n  {F}\nc: 3\n"),
    ("a.yaml", f"a:\n - >-\n   {F}\n   b: 2\n   {F}\n - c\n"),
    ("a.yaml", "a: |+ # kept\n  ~~~yaml\n  b: 2\n  ~~~\n"),
    ("a.yaml", f"a: |\n  {F}yaml\n  b: 2\n  {F}\n  and\n  {F}yaml\n  c: 2\n  {F}\n"),
    ("a.yaml", f'a: "x\n\n {F}yaml\n b: 2\n {F}"\nc: 3\n'),
    ("a.yaml", f"--- |\n  {F}yaml\n  b: 2\n  {F}\n"),
    ("a.yaml", f"# how\r\na: |\r\n  {F}yaml\r\n  b: 2\r\n  {F}\r\nc: 3\r\n"),
    ("a.sh", f"#!/bin/bash\ncat > README.md <<EOF\n# Use\n\nRun it so:\n\n{F}bash\necho hi\n{F}\nEOF\necho done\n"),
    ("a.sh", f"cat << 'END' | tee x\n{F}\necho hi\n{F}\nEND\n"),
    ("a.sh", f"set -e\ncat <<-E\n~~~sh\nls\n~~~\n\tE\ncat <<E\n{F}sh\nls\n{F}\nE\n"),
    ("a.sh", f"echo '\n{F}bash\necho hi\n{F}\n'\necho done\n"),
    ("a.rb", f"puts <<~X\n{F}ruby\nputs 1\n{F}\nX\nputs 2\n"),
    ("a.rb", f"puts 1\n=begin\n{F}ruby\nputs 1\n{F}\n=end\nputs 2\n"),
    ("a.rb", f"x = '\n{F}ruby\nputs 1\n{F}\n'\nputs x\n"),
    ("a.sql", f"INSERT INTO a VALUES ('\n{F}sql\nSELECT 2;\n{F}\n');\nSELECT 3;\n"),
    ("a.sql", f"SELECT 1;\n/*\n{F}sql\nSELECT 2;\n{F}\n*/\nSELECT 3;\n"),
    ("a.js", "const t = `\n~~~js\nf()\n~~~\n`;\nexport function f(){}\n"),
    ("a.ts", "const t: string = `\n~~~ts\nf()\n~~~\n`;\n"),
    ("a.go", "package main\n\nvar a = `\n~~~go\npackage b\n~~~\n`\n"),
    ("a.js", f"/**\n{F}js\nf()\n{F}\n*/\nexport function f(){{}}\n"),
    ("a.html", f"<html><body><pre>\n{F}html\n<b>x</b>\n{F}\n</pre></body></html>\n"),
    ("a.html", f"<!doctype html>\n<!--\n{F}html\n<b>x</b>\n{F}\n-->\n<p>y\n"),
    ("a.md", f"# Writing docs\n\nA page begins so:\n\n{F}markdown\n# Example\n{F}\n\n## Then\n\nMore of the file.\n"),
    ("a.md", f"# Title\n{F}\ncode\n{F}\n\nMore.\n"),
    ("a.md", f"# A\n\nSo:\n\n{F}md\n# B\n{F}\n\nor\n\n~~~md\n# C\n~~~\n\nEnd.\n"),
    ("a.txt", f"First line\n\n{F}\ncode\n{F}\n\nLast line\n"),
    ("a.txt", f"First line\n\n{F}text\ncode\n{F}\n\nLast line\n"),
    ("a.txt", f"First line\r\n\r\n{F}python\r\ncode\r\n{F}\r\n\r\nLast line\r\n"),
    ("a.txt", "Notes\n=====\n\nMilk\n\n~~~\ncode\n~~~\n"),
    ("a.txt", f"First line\n\n{F}\na\n{F}\n\nthen\n\n{F}\nb\n{F}\n\nLast line\n"),
    ("LICENSE", f"Terms\n\n{F}\na\n{F}\n\nLast line\n"),
    ("a.php", f"<?php\n$a = <<<EOT\n{F}php\nx();\n{F}\nEOT;\ny();\n"),
    ("main.tf", f"a = <<EOT\n{F}hcl\nb = 1\n{F}\nEOT\nc = 2\n"),
    ("Dockerfile", f"FROM a\nCOPY <<EOF /x\n{F}dockerfile\nFROM b\n{F}\nEOF\n"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), HOLDING_FENCES)
def test_a_whole_file_that_holds_fences_is_not_cut_down_to_what_stands_in_one(name: str, answer: str) -> None:
    found = check(name, answer)
    assert (found.is_valid, found.parsed) == (True, answer), found.errors


@pytest.mark.parametrize(("name", "answer"), [
    ("a.yaml", f"a: b: c\nexample: |\n  {F}yaml\n  b: 2\n  {F}\n"),
    ("a.js", f"const t = `\n{F}js\nf()\n{F}\n`;\n"),
    ("a.go", f"package main\n\nvar a = `\n{F}go\npackage b\n{F}\n`\n"),
    ("a.sh", f"if\ncat <<EOF\n{F}bash\nls\n{F}\nEOF\n"),
])  # fmt: skip
def test_a_broken_file_does_not_pass_for_what_stands_in_its_fence(name: str, answer: str) -> None:
    assert not check(name, answer).is_valid


def test_a_long_line_before_a_fence_is_judged_in_one_walk() -> None:
    # Where each sign begins a walk to the line's end, this takes hours.
    assert check("a.yaml", "- " + "!- " * 500_000 + f"\n  {F}\n  x\n  {F}\n").parsed == "x\n"


# Each way of handing a file over, with what the fence holds; `{}` is the fenced file.
ANNOUNCED = (
    "Here is the file:\n\n{}", "{}\n\nLet me know!", "The file:\n{}\nIt's done.", "Here's it\n\n{}\n\nThat's all.",
    "make sure that you don't forget it:\n{}\nIt's ok", "I fixed two.\n\n- one\n- two\n\nHere is the file:\n{}\n",
    "Sure!\n\n{}\n\nNote: it's `x`.", "<answer>\n{}\n</answer>", "Use `a` and `b`.\n\n{}\n\n- one\n",
    "It takes <<EOF as it stands:\n{}\n", "# config\n{}", "config:\n{}", "1. Save it:\n\n{}\n\n2. Run it.\n",
)  # fmt: skip
SNIPPETS = {
    "a.yaml": ("yaml", "a: 1\n"), "a.sh": ("bash", "echo 'x'\n"), "a.rb": ("ruby", "puts 'x'\n"),
    "b.sh": ("sh", "cat <<EOF\nx\nEOF\n"),
    "a.sql": ("sql", "SELECT 'x';\n"), "a.html": ("html", "<p>x</p>\n"), "a.js": ("js", "f('x');\n"),
    "a.md": ("markdown", "# x\n"), "a.txt": ("text", "x y\n"), "a.go": ("go", "package main\n"),
    "app.lua": ("lua", "print('x')\n"), "a.py": ("python", "x = 'x'\n"),
}  # fmt: skip


@pytest.mark.parametrize("said", ANNOUNCED)
@pytest.mark.parametrize("name", SNIPPETS)
def test_a_fence_among_words_holds_the_file(name: str, said: str) -> None:
    tag, source = SNIPPETS[name]
    for fence in (F, "~~~"):
        found = check(name, said.format(f"{fence}{tag}\n{source}{fence}"))
        assert (found.is_valid, found.parsed) == (True, source), found.errors


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.yaml", f"example: |\n  {F}yaml\n  b: 2\n  {F}\nc: 3\n"),
        ("a.yaml", f"example: |\n  {F}\n  b: 2\n  {F}\nc: 3\n"),
        ("a.sh", f"cat <<EOF\n{F}bash\nls\n{F}\nEOF\nls\n"),
        ("a.html", f"<pre>\n{F}html\n<b>\n{F}\n</pre>\n"),
        ("a.txt", f"First\n\n{F}text\na\n{F}\n\nLast\n"),
    ],
)
def test_a_fenced_file_that_holds_fences_ends_with_its_own(name: str, source: str) -> None:
    tag = SNIPPETS[name][0]
    for opening, end in ((F, F), (f"{F}`", f"{F}`")):
        found = check(name, f"Here is the file:\n\n{opening}{tag}\n{source}{end}\n\nThat's all.")
        assert (found.is_valid, found.parsed) == (True, source), found.errors


@pytest.mark.parametrize(
    ("name", "tag", "source"),
    [
        ("a.yaml", "yaml", 'error: "I cannot help with that"\n'),
        ("a.yaml", "yml", "# said\n---\n'I cannot help with that'\n"),
        ("a.yaml", "yaml", "- I'm sorry, but I can't help with that.\n"),
        ("a.json", "json", '"I cannot help with that."\n'),
        ("a.json", "json", '{"error": "I cannot help with that."}\n'),
        ("a.txt", "text", "I can't help falling in love with you\n"),
        ("a.txt", "", "I'm sorry, but I can't help with that.\n"),
        ("a.py", "python", '"""I am sorry, but I cannot do that."""\n'),
        ("a.js", "js", '"I am sorry, but I cannot do that.";\n'),
        ("a.toml", "toml", 'error = "I cannot help with that"\n'),
    ],
)
def test_a_fenced_file_may_say_what_a_refusal_says(name: str, tag: str, source: str) -> None:
    found = check(name, f"{F}{tag}\n{source}{F}")
    assert (found.is_valid, found.parsed) == (True, source), found.errors


LISTED = (
    ("a.py", f"  {F}python\n  def f():\n      return 1\n  {F}\n", "def f():\n    return 1\n"),
    ("a.py", f"1. Here:\n\n   {F}python\n   x = 1\n   {F}\n", "x = 1\n"),
    (
        "a.py", f"- item\n\n    {F}python\n    x = 1\n\n    if x:\n        x = 2\n    {F}\n",
        "x = 1\n\nif x:\n    x = 2\n",
    ),
    ("a.py", f"- item\n    {F}python\n    x = 1\n    {F}\n\nThat is it.\n", "x = 1\n"),
    ("a.py", "- a\n  - b:\n      ~~~py\n      x = 1\n      ~~~\n", "x = 1\n"),
    ("a.yaml", f"  {F}yaml\n  a:\n    - b\n  {F}\n", "a:\n  - b\n"),
    ("a.json", f"10. So:\n\n    {F}json\n    {{\n      \"a\": 1\n    }}\n    {F}\n", '{\n  "a": 1\n}\n'),
    ("a.go", f"* this\n* then\n\n    {F}go\n    package main\n    {F}\n", "package main\n"),
    ("a.py", f"   {F}python\n   x = 1\n y = 2\n   {F}\n", "x = 1\ny = 2\n"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "file"), LISTED)
def test_a_fence_that_is_indented_indents_no_file(name: str, answer: str, file: str) -> None:
    found = check(name, answer)
    assert (found.is_valid, found.parsed) == (True, file), found.errors

"""Right files are taken however odd they look; of what words alone could be, the model reads that a fence is needed."""

from __future__ import annotations

import pytest

from tests.contract.test_no_attempt import F, check

RIGHT = (
    ("Dockerfile", f"{F}dockerfile\n# Unfortunately alpine lacks glibc, so debian.\nFROM debian:12\nRUN true\n{F}"),
    ("a.py", f"{F}python\n# Sorry\nimport a\n{F}"),
    ("a.yaml", f"{F}yaml\n# Sorry, generated\na: 1\n{F}"),
    ("a.yaml", "sorry: true\n"),
    ("a.rb", f"{F}ruby\n# Sorry for this one\nputs 1\n{F}"),
    ("a.txt", f"{F}text\nSorry, we are closed today.\n{F}"),
    ("a.py", "Thinking...\nMaybe:\n" + F + "python\nimport os\n" + F + "\nwrong\n...done thinking.\n\nx = 1\n"),
    ("a.py", f"<think>hm</thinking>\n{F}python\nx = 1\n{F}"),
    ("a.py", f"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{F}python\nx = 1\n{F}<|END_RESPONSE|>"),
    ("a.py", f"<details>\n<summary>Thinking</summary>\n\n{F}python\nx = 'no'\n{F}\n\n</details>\n\nx = 1\n"),
    ("a.py", "x = 1\n<|im_end|>"),
    ("a.yaml", "name: x\nport: 80\n"),
    ("a.yaml", "done: true\n"),
    ("a.yaml", "- one\n- two\n"),
    ("a.yaml", "---\nkind: List\n"),
    ("a.yaml", "title: I cannot log in\nbody: x\n"),
    ("a.yaml", "# about\nkey: value\n"),
    ("a.yaml", "{a: 1}"),
    ("a.yaml", "[one, two]"),
    ("a.yaml", "[one]"),
    ("a.toml", "[table]\n"),
    ("a.html", "<p>[the table of contents]</p>\n"),
    ("a.js", "(setup)();\n"),
    ("a.yaml", "status: active\nmessage: all is well\n"),
    ("a.yaml", "errors:\n  refused: The offer was refused.\n"),
    ("a.yaml", f'{F}yaml\nreason: "I cannot help with that"\nstatus: declined\n{F}'),
    ("a.yaml", f"{F}yaml\n[File content omitted for brevity]\n{F}"),
    ("a.json", '{"status": "ok", "message": "saved"}'),
    ("a.json", '{"order": 7, "status": "refused"}'),
    ("a.py", "status: str\n"),
    ("a.md", "[the list of rules](rules.md)\n"),
    ("a.yaml", '"quoted key": 1\n'),
    ("a.yaml", f"{F}yaml\nplain words\n{F}"),
    ("a.yaml", f"{F}yaml\ntitle: I cannot log in\n{F}"),
    ("a.sh", "ls -l"),
    ("a.sh", "make build"),
    ("a.sh", "./run.sh"),
    ("a.sh", "FOO=1 python app.py\n"),
    ("a.sh", '#!/bin/sh\necho "I am sorry, I cannot"\n'),
    ("a.sh", "echo I am sorry.\n"),
    ("a.sh", "set -eu\nfor f in *; do\n  wc $f\ndone\n"),
    ("a.sh", f"{F}bash\nwhoami\n{F}"),
    ("a.py", "import os\n"),
    ("a.py", "print('Done')\n"),
    ("a.py", '"""Say what the package is for."""\n'),
    ("a.py", "pass\n"),
    ("a.py", "done = True\n"),
    ("a.py", "sorry = 'I cannot help'\n"),
    ("a.py", "# I'm sorry, this is ugly\nx = 1\n"),
    ("a.py", f"Sorry about that! Here it is:\n\n{F}python\nx = 1\n{F}"),
    ("a.py", f"I cannot test it here, but:\n{F}py\nx = 1\n{F}\nGood luck!"),
    ("a.py", f"<think>\n{F}python\nos.remove(1)\n{F}\nno\n</think>\n{F}python\nx = 1\n{F}"),
    ("a.py", "<think>plan</think>\nx = 1\n"),
    ("a.py", "plan it\n</think>\n\nx = 1\n"),
    ("a.py", 'MARK = "<think>"\n'),
    ("__init__.py", "# Copyright\n"),
    ("pkg/__init__.py", f"{F}python\n{F}"),
    ("a.js", "done();\n"),
    ("a.js", "'use strict';\n"),
    ("a.js", "'use strict';\nexport {};\n"),
    ("a.json", "true"),
    ("a.json", '"hello"'),
    ("a.json", "[]"),
    ("a.toml", "a = 1\n"),
    ("a.go", "package main\n"),
    ("a.css", "a { color: red; }\n"),
    ("a.css", ":root { --x: 1px; }\n"),
    ("a.sql", "SELECT 1;\n"),
    ("a.sql", "select name from users where note is null"),
    ("a.sql", "PRAGMA foreign_keys = ON;\n"),
    ("a.html", "<p>Sorry, I cannot come.</p>\n"),
    ("a.html", "<h1>Sorry</h1>\n<p>We can't find that page.</p>\n"),
    ("a.md", "# I can't create an account\n\nAsk an administrator to add you.\n"),
    ("a.html", "<title>Sorry</title>\n<p>Your account could not be created.</p>\n"),
    ("a.md", "# I'm sorry\n\nThe last letter that he wrote.\n"),
    ("a.html", "<!doctype html>\n<p>one<br>two</p>\n"),
    ("a.rs", "fn main() {}\n"),
    ("A.java", "class A {}\n"),
    ("a.c", "int x;\n"),
    ("a.cs", "class A {}\n"),
    ("a.rb", "puts 'hi'\n"),
    ("a.rb", "def f\n  1\nend\n"),
    ("Dockerfile", "FROM scratch\n"),
    ("web.dockerfile", "FROM scratch\n"),
    ("a.md", f"# Title\n\n{F}bash\npip install x\n{F}\n\nMore.\n"),
    ("a.md", f"{F}markdown\n# Title\n\n{F}bash\nls\n{F}\n\nMore.\n{F}"),
    ("a.md", "- one\n- two\n"),
    ("a.yaml", "- ok\n"),
    ("a.sh", "/usr/bin/true\n"),
    ("a.sh", "./run.sh --all\n"),
    ("a.md", f"{F}markdown\n# Sorry, we are closed\n\nTry again.\n{F}"),
    ("a.sql", "/* who */ select 1;\n"),
    ("a.txt", "1.2.3"),
    ("a.txt", "Dear team,\n\nwe meet at noon.\n\nAnn\n"),
    ("requirements.txt", "django>=5\nredis\n"),
    ("Makefile", "all:\n\tcc a.c\n"),
    ("a.js", f"Here:\n\n{F}\ndone();\n{F}"),
    ("a.ts", f"Here:\r\n\r\n{F}\r\ndone();\r\n{F}\r\n"),
    ("a.yaml", f"\ufeff{F}yaml\nplain words\n{F}"),
    ("a.sh", f"\u200b{F}bash\nwhoami\n{F}"),
    ("a.toml", "\ufeffa = 1\n"),
    ("app.lua", f'{F}lua\nprint("x")\n{F}'),
)


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_file_passes_however_odd_it_looks(name: str, answer: str) -> None:
    found = check(name, answer)
    assert (found.is_valid, found.is_parsed) == (True, True), found.errors
    assert name == "a.md" or not {F, "<think>", "\ufeff"} & {found.parsed[:3], found.parsed[:7], found.parsed[:1]}
    assert not found.parsed.startswith("Here")


# Right, but nothing tells them from talk: without a fence such a file costs an attempt, and the model is told why.
NEEDS_A_FENCE = (
    ("a.sh", "deploy.sh staging", "Bash"),
    ("a.sh", "restart everything", "Bash"),
    ("a.yaml", "production", "YAML"),
    ("a.yaml", "just some words", "YAML"),
    ("a.yaml", "42", "YAML"),
)


@pytest.mark.parametrize(("name", "source", "language"), NEEDS_A_FENCE)
def test_a_file_like_words_needs_a_fence_and_the_model_is_told_so(name: str, source: str, language: str) -> None:
    (error,) = check(name, source).errors
    assert (error.keyword, error.message, error.hint) == (
        "fenced",
        f"Invalid {language}: nothing marks these words as the file; the same words in a fence pass",
        f"send the whole file as one fenced block of {language} and nothing else in a fence",
    )
    found = check(name, f"{F}\n{source}\n{F}")
    assert (found.is_valid, found.parsed) == (True, f"{source}\n")


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(RIGHT) >= 60

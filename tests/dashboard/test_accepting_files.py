"""A file that a grammar refuses may be accepted as it is; what the language's own parser refuses may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.grammars import GRAMMARS
from retrycontract.store.models import Call, Guidance
from tests.dashboard.conftest import text_of
from tests.dashboard.test_answer import send
from tests.factories import answer, make_agent, make_tool, make_user, submit
from tests.usecases.conftest import judge_all

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db

ACCEPT = "Accept the output as it is"


def blocked(language: str, output: str) -> Call:
    """Make a call that is Blocked by three files."""
    pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")
    agent = make_agent()
    make_tool(agent, "write", {"type": "string", "x-language": language}, kind="source_file")
    call = None
    for _ in range(3):
        call = submit(agent, output, tool="write", call=call, kind="source_file").call
        judge_all()
    assert call is not None
    call.refresh_from_db()
    assert call.state == "blocked"
    return call


def summary(call: Call) -> str:
    return call.escalations.open().get().text


@pytest.mark.parametrize(
    ("language", "output"),
    [
        ("javascript", "```javascript\nlet a = = 1;\n```"),
        ("go", "```go\npackage main\n\nfunc main() {\n\tif a {\n\t\tf()\n}\n\nfunc f() {}\n```"),
        ("c", "int f(void)\n{\n  if (x) {\n    g();\n  return 0;\n}\n\nint main(void)\n{\n  return f();\n}\n"),
        ("rust", "fn main() { let = 1; }\n"),
    ],
)
def test_what_a_grammar_refuses_may_be_accepted(desk: Client, language: str, output: str) -> None:
    call = blocked(language, output)
    assert ACCEPT in summary(call)
    assert "Not possible" not in text_of(desk.get(f"/calls/{call.public_id}/"))
    assert send(desk, call, decision="accept", text="It compiles here.").status_code == 302
    assert Guidance.objects.get(call=call).decision == Decision.ACCEPT


@pytest.mark.parametrize(
    ("language", "output"),
    [
        ("python", "x = = 1\n"),
        ("json", '{"a": }'),
        ("toml", "a = \n"),
        ("yaml", "a: b: c\n"),
        ("javascript", "I'm sorry, but I can't write that file."),
        ("javascript", "```javascript\nlet a = 1;\n"),
        ("javascript", "function f() {\n  return g("),
        ("go", "```go\npackage main\nfunc main() {\n```"),
        ("c", "int main(void)\n{\n  return 0;\n"),
        ("css", "a {\n  color: red;\n"),
        ("sql", "CREATE TABLE a (\n  b int,\n"),
        ("c", "int a;\n<<<<<<< HEAD\nint b;\n=======\nint c;\n>>>>>>> main\n"),
        ("javascript", "Which port should it listen on?"),
    ],
)
def test_what_holds_no_file_may_not_be_accepted_and_nobody_recommends_it(
    desk: Client, language: str, output: str
) -> None:
    call = blocked(language, output)
    assert ACCEPT not in summary(call)
    assert "orrected arguments" not in summary(call)
    assert "\n4. " in summary(call)
    reason = "the output holds no whole file that compiles"
    assert f"Not possible: {reason}." in text_of(desk.get(f"/calls/{call.public_id}/"))
    page = text_of(send(desk, call, decision="accept", text="Fine."))
    assert f"T{reason[1:]}, so it cannot be accepted as it is." in page
    assert not Guidance.objects.exists()


def test_an_accepted_file_is_valid_to_its_agent() -> None:
    call = blocked("css", "a { color red }}\n")
    answer(call, make_user(), Decision.ACCEPT, text="The browser reads it.")
    call.refresh_from_db()
    assert call.state == "accepted"


def test_every_language_is_judged_by_a_grammar_or_by_its_own_parser() -> None:
    assert {language for language in Language if not language.has_own_parser} == set(GRAMMARS)

"""Which answers are no attempt: refusals, talk, nothing and thoughts are never taken for the output, files are."""

from __future__ import annotations

import functools
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryContract, Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.code_blocks import doubt
from retrycontract.contract.outputs.no_attempt import no_attempt
from retrycontract.contract.outputs.source_code import Language
from retrycontract.contract.tool import CompiledTool
from retrycontract.languages import compiler_of

pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")

F = "```"
HM = "hm"


@functools.cache
def _tool(name: str) -> CompiledTool:
    return CompiledTool.of(Tool(name=name, input_schema={"type": "string"}, kind=Kind.SOURCE_FILE), compiler_of)


def check(name: str, answer: str) -> Findings:
    return examine(answer, _tool(name), ValueSanitizer(), tool_name=name)


EVERY_LANGUAGE = (
    "a.py", "a.json", "a.toml", "a.yaml", "a.js", "a.ts", "a.tsx", "a.go", "a.sh", "a.html", "a.css", "a.sql", "a.rs",
    "A.java", "a.c", "a.cs", "a.rb", "Dockerfile", "a.md", "a.txt", "notes.unknown",
)  # fmt: skip

REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t help with that.",
    "I cannot help with that request",
    "Sorry, I cannot do that.",
    "I apologize, but I'm unable to create this file.",
    "My apologies! I won't be able to write this.",
    "**I'm sorry**, but this isn't something I can do.",
    "Unfortunately, I am not able to provide that file.",
    "As an AI language model, I cannot access your repository.",
    "I must decline to generate this content.",
    "Thank you for your message. Unfortunately, I can't comply with it.",
    "Note: I cannot access files.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "No puedo crear ese archivo.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Désolée, je ne peux pas écrire ce fichier.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Ich kann diese Datei leider nicht erstellen.",
    "Leider kann ich das nicht tun.",
    "Mi dispiace, ma non posso aiutarti.",
    "Desculpe, mas não posso ajudar com isso.",
    "Het spijt me, maar ik kan dat niet doen.",
    "Przepraszam, nie mogę w tym pomóc.",
    "Извините, но я не могу с этим помочь.",
    "К сожалению, я не могу создать этот файл.",
    "На жаль, я не можу допомогти.",
    "抱歉，我无法协助完成这个请求。",
    "很抱歉，我不能生成该文件。",
    "申し訳ありませんが、そのファイルは作成できません。",
    "죄송하지만 도와드릴 수 없습니다.",
    "عذرًا، لا أستطيع المساعدة في ذلك.",
    "מצטער, אני לא יכול לעזור בזה.",
    "क्षमा करें, मैं इसमें मदद नहीं कर सकता।",
    "Üzgünüm, bu konuda yardımcı olamam.",
    "Tyvärr kan jag inte hjälpa till med det.",
    "Omlouvám se, ale s tím nemohu pomoci.",
    "Λυπάμαι, αλλά δεν μπορώ να βοηθήσω.",
    "Xin lỗi, tôi không thể giúp việc đó.",
    "Maaf, saya tidak bisa membantu.",
    "ขออภัย ฉันไม่สามารถช่วยได้",
)
# How people of many languages say no: each beginning goes with each denial behind the arrow.
SAYING_NO = dict(
    line.split(": ", 1) for line in Path(__file__).with_name("saying_no.txt").read_text(encoding="utf-8").splitlines()
)
TALK = (
    "Done.",
    "Done",
    "OK",
    "Sure, here you go: I have written the file.",
    "Sure! I will write the file now.",
    "I have created the file as you asked.",
    "Here is the file you asked for.",
    "The file is ready.",
    "Let me know if you need anything else!",
    "What should the file contain?",
    "Could you share more details about the project?",
    "Of course! Which version do you use?",
    "Hecho. El archivo está listo.",
    "Voici le fichier demandé.",
    "Gerne! Hier ist die Datei.",
    "Ecco il file richiesto.",
    "Готово. Файл создан.",
    "好的，文件已经创建。",
    "はい、ファイルを作成しました。",
    "네, 파일을 만들었습니다.",
)

# As data, or as a place-holder: many languages would take them.
INSTEAD = (
    'reason: "I cannot help with that"\nstatus: declined', "status: refused", "error: cannot comply", "Refused: policy",
    '{"error": "I cannot help with that"}', '{"status": "declined", "reason": "Not allowed, by policy."}',
    'error = "I cannot help with that"', "Error: context length exceeded", "[File content omitted for brevity]",
    "<content of the file>", "{{ file contents here }}", "<tool_call>write_file</tool_call>", "<function_calls>",
    'motivo: "Lo siento, no puedo ayudarte con eso."\nestado: rechazado', "статус: отклонено", '{"状态": "拒绝"}',
    '[{"error": "I cannot help with that"}]', "- status: refused",
    "---\nerror: |\n  Lo siento, no puedo ayudar.\n",
    "# Error\nCannot comply", "**Error:** refused", "<error>I cannot help with that</error>", "... (truncated)",
    "[...]", "[此处省略文件内容]", "（内容省略）", "<FILE_CONTENT>", '"[content omitted]"', "`[content omitted]`",
    "[content omitted]\n[end]", "// ... existing code ...", '{"error": "Refused.",\n "code": 403}',
    '{"grund": "Ich kann diese Datei leider nicht erstellen."}', "状態: 拒否", "[Inhalt der Datei ausgelassen]",
)  # fmt: skip


@pytest.mark.parametrize("name", EVERY_LANGUAGE)
@pytest.mark.parametrize("answer", REFUSALS[:4] + TALK[:4])
def test_no_language_takes_a_refusal_or_small_talk_for_a_file(name: str, answer: str) -> None:
    found = check(name, answer)
    (error,) = found.errors
    assert (error.error_code, error.field_path, found.is_parsed) == (ErrorCode.INVALID_JSON_SYNTAX, "", False)
    assert error.keyword == ("refused" if answer in REFUSALS else "only_talk")


@pytest.mark.parametrize("answer", INSTEAD)
def test_no_language_takes_what_stands_in_a_files_place(answer: str) -> None:
    assert [name for name in EVERY_LANGUAGE if check(name, answer).is_valid] == []


@pytest.mark.parametrize("name", ["a.yaml", "a.sh", "a.py", "a.md", "a.txt", "a.rb"])
@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_known_in_the_languages_that_people_speak(name: str, answer: str) -> None:
    assert [error.keyword for error in check(name, answer).errors] == ["refused"]


@pytest.mark.parametrize("language", SAYING_NO)
def test_however_a_no_is_put_together_it_is_one(language: str) -> None:
    beginnings, denials = (words.split("|") for words in SAYING_NO[language].split(" -> "))
    for beginning, denial, shape in product(
        ["", *beginnings], denials, ["{}.", "**{}**", "> {}!", "{}\n\nLet me know."]
    ):
        said = f"{beginning} {denial}".strip()
        assert no_attempt(shape.format(said[0].upper() + said[1:])) == "refused", said


@pytest.mark.parametrize("language", SAYING_NO)
def test_a_no_stays_one_in_a_heading_or_in_tags(language: str) -> None:
    beginnings, denials = (words.split("|") for words in SAYING_NO[language].split(" -> "))
    dresses = (
        (Language.MARKDOWN, "# {}"), (Language.MARKDOWN, "{}\n=====\n"), (Language.HTML, "<p>{}</p>"),
        (Language.HTML, "<!doctype html><html><head><title>No</title></head>\n<body>\n<p>{}</p>\n</body></html>\n"),
        (Language.TSX, "<div>{}</div>"), (Language.TEXT, "<error>{}</error>"),
    )  # fmt: skip
    for beginning, denial, (suffix, dress) in product(["", *beginnings], denials, dresses):
        said = f"{beginning} {denial}.".strip()
        for is_fenced in (True, False):
            assert doubt(dress.format(said[0].upper() + said[1:]), suffix, is_fenced=is_fenced) == "refused", said


@pytest.mark.parametrize("name", ["a.yaml", "a.sh", "a.py", "a.md", "a.txt", "a.rb"])
@pytest.mark.parametrize("answer", TALK)
def test_small_talk_is_no_file(name: str, answer: str) -> None:
    assert [error.keyword for error in check(name, answer).errors] == ["only_talk"]


@pytest.mark.parametrize(
    ("name", "answer", "keyword"),
    [
        ("a.yaml", "Here is the YAML:\n\nname: x\nport: 80\n", "only_talk"),
        ("a.yaml", "just some words", "fenced"),
        ("a.yaml", f"{F}yaml\nI'm sorry, I cannot do that.\n{F}", "refused"),
        ("a.yaml", "# nothing yet\n", "placeholder"),
        ("a.yaml", "~", "placeholder"),
        ("a.yaml", f"{F}yaml\n---\n{F}", "placeholder"),
        ("a.sh", "Sure! Here is the script:\n\nls -l", "only_talk"),
        ("a.sh", "find out why it fails and tell me.", "only_talk"),
        ("a.sh", "#!/bin/sh\n", "placeholder"),
        ("a.sh", f"{F}bash\nI'm sorry, I can't.\n{F}", "refused"),
        ("a.py", "# TODO: implement", "placeholder"),
        ("a.py", "...", "placeholder"),
        ("a.py", '"""Do it."""\n...\n', "placeholder"),
        ("a.py", f"{F}python\n\n{F}", "empty"),
        ("a.py", f"{F}python\nDone\n{F}", "placeholder"),
        ("a.py", "this is impossible", "only_talk"),
        ("a.py", '"""I cannot help with that."""', "refused"),
        ("a.py", "", "empty"),
        ("a.py", " \n\t\n", "empty"),
        ("a.py", "<think>\nhm\n</think>\n", "only_thoughts"),
        ("a.py", f"<think>\nMaybe:\n{F}python\nos.remove(1)\n{F}\n", "only_thoughts"),
        ("a.py", f"<think>\n{F}python\nx = 1\n{F}\n</think>\nI'm sorry, I can't.", "refused"),
        ("a.py", f"{F}python\nx = 1\n{F}\nor\n{F}python\ny = 2\n{F}", "fenced"),
        ("a.js", "// later", "placeholder"),
        ("a.js", f"{F}js\nfoo;\n{F}", "placeholder"),
        ("a.ts", "/* license */", "placeholder"),
        ("a.json", "null", "placeholder"),
        ("a.toml", "# empty\n", "placeholder"),
        ("a.css", "/* styles */\n", "placeholder"),
        ("a.sql", "-- later\n", "placeholder"),
        ("a.sql", "Select the rows that you want.", "only_talk"),
        ("a.rs", f"{F}rust\ndone;\n{F}", "placeholder"),
        ("A.java", "// Copyright\n", "placeholder"),
        ("a.c", f"{F}c\nok;\n{F}", "placeholder"),
        ("a.rb", "# later\n", "placeholder"),
        ("Dockerfile", "# syntax=docker/dockerfile:1\n", "placeholder"),
        ("a.html", "Hi there, this is your page", "only_talk"),
        ("a.html", f"{F}html\n<!-- later -->\n{F}", "placeholder"),
        ("a.md", "Sure! Here is the README.", "only_talk"),
        ("a.md", "> I'm sorry, but I can't write that.", "refused"),
        ("a.txt", "**I'm sorry, but I can't write that.**", "refused"),
        ("a.txt", "ok", "only_talk"),
        ("a.txt", "\ufeff**Done.**", "only_talk"),
        ("a.txt", "- I'm sorry, but I can't help with that.", "refused"),
        ("a.md", "* Lo siento, pero no puedo ayudarte.", "refused"),
        ("a.yaml", "Answer: Het spijt me, maar ik kan dat niet doen.", "refused"),
        ("a.sh", "// I'm sorry, I can't do that", "refused"),
        ("a.sh", "/* Sorry, no */", "refused"),
        ("a.yaml", "- Done.", "only_talk"),
        ("a.md", "# Done!", "only_talk"),
        ("a.md", "# I'm sorry, but I can't help with that.", "refused"),
        ("a.md", "# Request declined\n\nI'm sorry, but I can't help with that request.\n", "refused"),
        ("a.md", f"{F}markdown\n## Sorry\n\nI cannot create this file.\n{F}", "refused"),
        ("a.md", "Lo siento\n=========\n\n## No puedo ayudarte con eso\n", "refused"),
        ("a.md", "# 很抱歉，我无法协助您完成这个请求。", "refused"),
        ("a.html", "<p>I'm sorry, but I can't assist with that.</p>", "refused"),
        (
            "a.html",
            f"{F}html\n<!doctype html>\n<title>No</title>\n<p>Sorry, I'm unable to write <b>this</b>.</p>\n{F}",
            "refused",
        ),
        ("a.tsx", "<p>I'm sorry, but I can't help with that.</p>", "refused"),
        ("a.txt", "<error>Entschuldigung, ich kann dabei nicht helfen.</error>", "refused"),
        ("a.js", "\"I'm sorry, I can't do that.\"", "refused"),
        ("a.ts", '"Done."', "only_talk"),
        ("a.yaml", "---\nI'm sorry, but I can't help with that.\n---", "refused"),
        ("a.txt", "- I'm sorry, but I can't help with that.\n- Please ask something else.", "refused"),
        ("a.sh", "1. Je suis désolé, mais je ne peux pas vous aider.", "refused"),
        ("a.sql", "\\boxed{I'm sorry, but I can't help with that.}", "refused"),
        ("a.py", "\u200b\u2060", "empty"),
        ("a.md", "...", "placeholder"),
        ("a.sh", "---", "only_talk"),
        ("a.ts", "Claro, listo!", "only_talk"),
        ("a.txt", "Certainly!", "only_talk"),
        ("a.txt", "Understood.", "only_talk"),
        ("a.js", "`No puedo crear ese archivo.`", "refused"),
        ("a.py", "I'm so\u00adrry, I\u200b can't.", "refused"),
    ],
)
def test_what_only_looks_like_a_file_is_none(name: str, answer: str, keyword: str) -> None:
    found = check(name, answer)
    assert [error.keyword for error in found.errors if error.severity.name == "ERROR"] == [keyword]


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(REFUSALS) + len(TALK) >= 60


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def outcome(answer: Any, kind: Kind = Kind.TOOL_CALL, **options: Any) -> Any:
    return RetryContract([Tool(name="t", input_schema=SCHEMA, kind=kind)]).check("t", "1", answer, **options)


@pytest.mark.parametrize("kind", [Kind.TOOL_CALL, Kind.EXTRACTION, Kind.AGENT_RESPONSE])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I'm sorry, but I can't do that.", "refused"),
        (b"Lo siento, no puedo.", "refused"),
        ("\"I'm sorry, but I can't do that.\"", "refused"),
        ("I can't read {path}, since it is gone.", "refused"),
        (f"{F}json\nI'm sorry, but I can't do that.\n{F}", "refused"),
        (f"{F}\nMi dispiace, ma non posso aiutarti.\n{F}\n", "refused"),
        ("Let me think about which file you mean.", "only_talk"),
        ("<think>the path is a</think>", "only_thoughts"),
    ],
)
def test_a_reply_in_words_where_data_was_due_has_a_finding_of_its_own(kind: Kind, answer: Any, reason: str) -> None:
    found = outcome(answer, kind)
    assert found.tool_result.metadata["no_attempt"] == reason
    assert [error.error_code for error in found.errors] == [ErrorCode.INVALID_JSON_SYNTAX]
    assert len(found.tool_result.content) < 260


@pytest.mark.parametrize(
    "answer", ['{"path": 5}', '{"path": "I cannot help with that"}', '{"path": ', "path=/tmp/x", '{"pa', "[1, 2", "x"]
)
def test_an_attempt_with_mistakes_is_an_attempt(answer: str) -> None:
    found = outcome(answer)
    assert "no_attempt" not in (found.tool_result.metadata if found.tool_result else {})


@pytest.mark.parametrize("name", ["a.py", "a.ts"])
@pytest.mark.parametrize(
    ("answer", "is_attempt"),
    [
        ("with a as b\n", True),
        ("for it in the_list\n  pass\n", True),
        ("if this is not that\n  pass\n", True),
        ("If you want this I need the file", False),
        ("with this I am done.", False),
        ("for that I will need your file!\n", False),
    ],
)
def test_a_statement_with_a_mistake_is_no_talk(name: str, answer: str, is_attempt: bool) -> None:
    tool = Tool(name=name, input_schema=True, kind=Kind.SOURCE_FILE)
    found = RetryContract([tool]).check(name, "1", answer)
    assert found.errors
    assert ("no_attempt" not in found.tool_result.metadata) is is_attempt


def test_thoughts_before_arguments_are_no_mistake() -> None:
    assert outcome('<think>{"path": 1}</think>{"path": "a"}').arguments == {"path": "a"}


def test_why_there_is_no_output_may_say_what_to_do() -> None:
    large = ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "it is too large", hint="send less")
    told = outcome(None, callback_error=[large]).tool_result.content
    assert "There is no output: it is too large" in told
    assert "Please send less." in told


def test_words_that_hold_the_output_are_told_so() -> None:
    right = outcome(None, Kind.EXTRACTION, callback_error="Nothing was submitted.", said='Here: {"path": "a"}')
    assert "Please send the JSON of your text, which conforms, where the output is due." in right.tool_result.content
    wrong = outcome(None, Kind.EXTRACTION, callback_error="Nothing was submitted.", said=json.dumps({"path": 1}))
    assert [error.field_path for error in wrong.errors] == ["", "/path"]
    declined = outcome(
        None, Kind.EXTRACTION, callback_error="Nothing was submitted.", said="I'm sorry, page 2 is torn."
    )
    assert declined.tool_result.metadata["no_attempt"] == "refused"
    assert "Nothing was submitted" in declined.tool_result.content

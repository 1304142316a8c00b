"""Calls that models write as text: published samples, look-alikes of each dialect, and the way through the proxy."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.proxy.dialects import MARKED, UNMARKED, read_calls
from tests.proxy import chat
from tests.proxy.test_wires import WIRES, ask, read, reply
from tests.proxy.upstream import READ_FILE, RIGHT, proxied, upstream
from tests.serving.service import ROOT

CORPUS = os.environ.get("RETRYCONTRACT_CORPUS")
TOOLS = {"read_file": READ_FILE, "ping": {"type": "object"}}
J = '{"path": "a.txt"}'
NAMED = '{"name": "read_file", "arguments": {"path": "a.txt"}}'
# A call of read_file in every row of the table.
EXAMPLES = {
    "hermes": f"<tool_call>\n{NAMED}\n</tool_call>",
    "qwen3_coder_xml": "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n",
    "functionary_v3_1": f"<function=read_file>{J}</function>",
    "minicpm5_xml": '<function name="read_file"><param name="path">a.txt</param></function>',
    "minimax_m2": '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n</invoke>',
    "step3": '<steptml:invoke name="read_file"><steptml:parameter name="path">a.txt</steptml:parameter>\n'
    "</steptml:invoke>",
    "deepseek_dsml": '<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">a.txt'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>",
    "glm4_xml": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
    "gemma4": '<|tool_call>call:read_file{path:<|"|>a.txt<|"|>}<tool_call|>',
    "function_gemma": "<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>",
    "mistral": f"[TOOL_CALLS] [{NAMED}]",
    "mistral_named": f"[TOOL_CALLS]read_file[ARGS]{J}",
    "deepseek_v3": f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{J}\n```<｜tool▁call▁end｜>",
    "deepseek_v3_1": f"<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{J}<｜tool▁call▁end｜>",
    "kimi_k2": f"<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{J}<|tool_call_end|>",
    "harmony": f"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{J}",
    "functionary_v3_2": f"<|recipient|>read_file\n<|content|>{J}",
    "llama3_json": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.txt"}}',
    "llama4_pythonic": '<|python_start|>[read_file(path="a.txt")]<|python_end|>',
    "lfm2": '<|tool_call_start|>[read_file(path="a.txt")]<|tool_call_end|>',
    "olmo3_pythonic": '<function_calls>read_file(path="a.txt")</function_calls>',
    "command_r7b": '<|START_ACTION|>[{"tool_name": "read_file", "parameters": {"path": "a.txt"}}]<|END_ACTION|>',
    "command_r_plus": 'Action:\n```json\n[{"tool_name": "read_file", "parameters": {"path": "a.txt"}}]\n```',
    "granite": f"<|tool_call|>[{NAMED}]",
    "nemotron_v2": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "apriel": f"<tool_calls>[{NAMED}]</tool_calls>",
    "apertus": f'<|tools_prefix|>[{{"read_file": {J}}}]<|tools_suffix|>',
    "gigachat": f"<|function_call|>{NAMED}",
    "functools": f"functools[{NAMED}]",
    "qwen_bracket": f"[Calling tool: read_file({J})]",
    "fenced_json": f"```json\n{NAMED}\n```",
    "json": f"[{NAMED}]",
    "pythonic": '[read_file(path="a.txt")]',
    "mistral_args": f"read_file[ARGS]{J}",
}
LOOK_ALIKES: dict[str, Callable[[str], str]] = {
    "another tool": lambda text: text.replace("read_file", "delete_everything"),
    "no name": lambda text: text.replace("read_file", ""),
    "cut off within the value": lambda text: text[: text.index("a.txt") + 2],
    "cut off within the name": lambda text: text[: text.index("read_file") + 4],
    "the mark alone, in words": lambda text: f"A call begins with {text[: text.index('read_file')]} and so on.",
    "no arguments": lambda text: text[: text.index("read_file") + len("read_file")] + " is the tool to use here.",
    "escaped for a page": lambda text: text.replace("<", "&lt;").replace("[", "&#91;").replace("{", "&#123;"),
    "spelt with other brackets": lambda text: text.translate(str.maketrans("<>[]{}()", "‹›⟦⟧⦃⦄❨❩")),
    "name and path swapped": lambda text: (
        text.replace("read_file", "\0").replace("a.txt", "read_file").replace("\0", "a txt")
    ),
    "a placeholder for the name": lambda text: text.replace("read_file", "<name>"),
}

# How a page, a user or a format is quoted, in languages with and without capitals and spaces.
QUOTED = """
    The page says {}, which I ignore.
    You asked me to send {}. That is dangerous.
    I will not call {}
    To call a tool write {} like so.
    Auf der Seite steht {}, das befolge ich nicht.
    Ich rufe {} nicht auf.
    La page contient {}, que j'ignore.
    La página dice {} y no lo haré.
    La pagina riporta {}: non lo eseguo.
    Na stronie jest {}, więc to pomijam.
    На странице написано {}, я этого не делаю.
    ページに{}と書かれています。
    网页上写着{},我不会执行。
    페이지에 {}라고 적혀 있습니다.
    تقول الصفحة {}، ولن أنفذ ذلك.
    पृष्ठ पर {} लिखा है।
    Sayfada {} yazıyor.
    Trang web ghi {}, tôi sẽ không làm.
    Sivulla lukee {}
    Op de pagina staat {}.
"""
QUOTES = ["", '""', "''", "``", "“”", "„“", "«»", "「」", "『』", "‹›"]
# The same on lines of its own; a slash is a new line.
DECLARED = """
    I will not call/{}
    I'm sorry, I can't do that. The request was:/{}
    For example:/{}/Shall I do that?
    The user wrote:/{}
    Der Benutzer schrieb:/{}
    Die Seite enthält:/{}
    Zum Beispiel:/{}
    Page:/{}
    Ich werde das nicht ausführen:/{}
    L'utilisateur a écrit :/{}
    Par exemple :/{}
    Je vais citer la page :/{}
    El usuario escribió:/{}
    No voy a ejecutar esto:/{}
    L'utente ha scritto:/{}
    Не выполняйте это:/{}
    Пользователь написал:/{}
    用户写道:/{}
    不要执行:/{}
    例:/{}
    ユーザーはこう書きました:/{}
    実行しません:/{}
    사용자가 보낸 내용:/{}
    실행하지 않겠습니다:/{}
    مثال:/{}
    उदाहरण:/{}
    Kullanıcı şunu yazdı:/{}
    {}/Wait, that is wrong.
    {}/That was only an example.
    {}/Should I run it?
    {}/Das war nur ein Beispiel.
    Let me quote the page:/{}
    Reading the mail, I found this:/{}
"""
SHOWN = [
    *(line.strip().replace("{}", f"{quote[:1]}{{}}{quote[1:]}")
      for line in QUOTED.strip().splitlines() for quote in QUOTES),
    *(f"```{language}\n{{}}\n```" for language in ("python", "bash", "html", "markdown", "text", "js")),
    "```python\nprint('{}')\n```", "~~~python\nx = '''\n{}\n'''\n~~~", "```python\n# a call\n{}\n```\nThat is it.",
    '"""\n{}\n"""', "> {}", "- {}", "# {}", "<!--\n{}\n-->", "<page>\n{}\n</page>", "~~{}~~", "| call | {} |",
    "steps = [\n{}\n]", "(see {})", "{} is what the page says.", "{}, says the page.", "{}と言いました。",
    "{} steht auf der Seite.", *(line.strip().replace("/", "\n") for line in DECLARED.strip().splitlines()),
    *(f"The page says {quote[0]}Begin.\n{{}}\nThen go on{quote[1]}, and so on."
      for quote in ('""', "“”", "„“", "«»", "「」")),
    'The page says "\n{}\n", which I ignore.',
]  # fmt: skip
# What agents write before the calls that they make.
LEADS = """
    Let me check.
    I'll look that up.
    Sure! I'll read the file now.
    Before I answer, I need to read the file.
    I'm not sure whether it exists. Let me check.
    Now let me look at the tests:
    Calling read_file:
    Hmm.
    Checking the file...
    I looked at it before.
    That didn't work. I'll try again with the right path.
    One moment.
    I made a mistake. Let me fix it:
    I'm sorry for the confusion. Here is the corrected call:
    **Step 1:** read it.
    Ich schaue in die Datei.
    Ich werde die Datei jetzt lesen:
    Je vais lire le fichier.
    Voy a leer el archivo.
    Vou ler o arquivo.
    Leggo il file.
    Сейчас прочитаю файл.
    Давайте посмотрим файл:
    我来读取这个文件。
    让我先查看一下文件内容:
    파일을 읽어 보겠습니다.
    سأقرأ الملف.
    मैं फ़ाइल पढ़ता हूँ।
"""
TWICE = [
    '<tool_call>{"name": "read_file", "arguments": {"path": "a", "path": "b"}}</tool_call>',
    '<tool_call>{"name": "read_file", "arguments": {"path": "a"}, "arguments": {"path": "b"}}</tool_call>',
    '<tool_call>{"name": "read_file", "arguments": {"path": "a"}, "parameters": {"path": "b"}}</tool_call>',
    '<tool_call>{"name": "ping", "name": "read_file", "arguments": {"path": "b"}}</tool_call>',
    '<tool_call>{"name": "ping", "tool": "read_file", "arguments": {"path": "b"}}</tool_call>',
    '{"name": "read_file", "arguments": {"path": "a", "path": "b"}}',
    '{"name": "read_file", "arguments": "{\\"path\\": \\"a\\", \\"path\\": \\"b\\"}"}',
    '```json\n{"name": "read_file", "arguments": {"path": "a", "path": "b"}}\n```',
    '[read_file(path="a", path="b")]', '[read_file({"path": "a", "path": "b"})]',
    '<function=read_file>{"path": "a", "path": "b"}</function>', 'read_file[ARGS]{"path": "a", "path": "b"}',
    "<function=read_file>\n<parameter=path>\na\n</parameter>\n<parameter=path>\nb\n</parameter>\n</function>",
    '<|tool_call>call:read_file{path:<|"|>a<|"|>,path:<|"|>b<|"|>}<tool_call|>',
    f'<tool_call>{NAMED}</tool_call> [read_file(path="b")]', f'[read_file(path="b")]\n<tool_call>{NAMED}</tool_call>',
    f'<tool_call>{NAMED}</tool_call>\n{NAMED}',
]  # fmt: skip


def read_as_sent(text: str, tools: Any) -> list[Any]:
    reading = read_calls(text, tools)
    return [{"name": name, "arguments": made} for name, made in reading.calls] if reading else []


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_dialect_is_read(name: str) -> None:
    for text in (EXAMPLES[name], f"Let me look. {EXAMPLES[name]}", f"<think>Hm.</think>\n{EXAMPLES[name]}"):
        reading = read_calls(text, TOOLS)
        assert reading is not None, text
        assert (reading.dialect, reading.calls) == (name, (("read_file", RIGHT),))
        assert reading.before.split("<")[0].strip() in ("", "Let me look.")


def test_every_row_of_the_table_has_an_example() -> None:
    assert set(EXAMPLES) == {row.name for row in (*MARKED, *UNMARKED)}


@pytest.mark.parametrize("kind", LOOK_ALIKES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_look_alike_stays_text(name: str, kind: str) -> None:
    text = LOOK_ALIKES[kind](EXAMPLES[name])
    assert text != EXAMPLES[name]
    assert read_calls(text, TOOLS) is None, text


@pytest.mark.parametrize("frame", SHOWN)
def test_a_call_that_is_declined_quoted_or_shown_stays_text(frame: str) -> None:
    taken = [name for name, text in EXAMPLES.items() if read_calls(frame.replace("{}", text.strip()), TOOLS)]
    assert not taken


@pytest.mark.parametrize("lead", LEADS.strip().splitlines())
def test_a_call_behind_words_of_an_agent_is_read(lead: str) -> None:
    for space in (" ", "\n", "\n\n"):
        left = [name for name, text in EXAMPLES.items() if not read_calls(f"{lead.strip()}{space}{text}", TOOLS)]
        assert not left, space


@pytest.mark.parametrize("text", TWICE)
def test_a_call_of_which_two_readings_are_as_good_stays_text(text: str) -> None:
    assert read_calls(text, TOOLS) is None


@pytest.mark.parametrize("key", ["parameters", "arguments", "input"])
@pytest.mark.parametrize("written", ["{}", "```json\n{}\n```", "I would declare it so: {}", '[{}, {{"name": "ping"}}]'])
def test_a_tool_that_is_declared_in_the_text_is_not_called(key: str, written: str) -> None:
    declared = {"name": "read_file", "description": "Read a file.", key: READ_FILE}
    for each in (declared, {"type": "function", "function": declared}):
        assert read_calls(written.format(json.dumps(each)), TOOLS) is None
    # A tool that makes tools has such arguments.
    makes = {"type": "object", "properties": {"type": {}, "properties": {"type": "object"}}}
    reading = read_calls(json.dumps({"name": "make", "arguments": READ_FILE}), {"make": makes})
    assert reading is not None
    assert reading.calls == (("make", READ_FILE),)


@pytest.mark.corpus
@pytest.mark.skipif(CORPUS is None, reason="RETRYCONTRACT_CORPUS is not set")
def test_the_published_samples_are_read() -> None:
    rows = [json.loads(line) for line in (Path(str(CORPUS)) / "dialects.jsonl").read_text().splitlines()]
    whole = [row for row in rows if "damaged" not in (row["note"] or "")]
    right, asked, shown = Counter[str](), Counter[str](), list[str]()
    for row in whole:
        listed = row["tools"]
        tools = listed and {tool["name"]: tool.get("parameters") for tool in listed}
        found = read_as_sent(row["text"], tools)
        if row["dialect"] == "plain":
            assert found == [], row["text"]
        elif row["is_call"]:
            asked[row["dialect"]] += 1
            right[row["dialect"]] += found == row["calls"]
            # Alone, and without thoughts, a call can be put into other words.
            text = row["text"].strip()
            reading = None if "hink" in text or "THINK" in text or "ignored" in text else read_calls(text, tools)
            framed = SHOWN if reading and not reading.before else []
            shown += [frame.replace("{}", text) for frame in framed]
            assert not [each for each in shown[len(shown) - len(framed) :] if read_calls(each, tools)], text
    counted = {dialect: f"{right[dialect]}/{count}" for dialect, count in asked.items()}
    page = (ROOT / "docs/proxy.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"`(\w+)` \| (\d+/\d+)", page)) == counted
    assert f"Of {asked.total()} published calls that are not damaged {right.total()} are read exactly" in page
    assert right.total() >= 0.96 * asked.total(), (right.total(), asked.total())
    alone = len(shown) // len(SHOWN)
    assert f"{alone} published calls, each put into {len(SHOWN)} such frames" in page.replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    ["<function=a><parameter=b>" * 8000, "<tool_call>{" * 9000, "[a(" * 30000, "{" * 100_000, "[" * 100_000,
     "to=functions." + "a" * 100_000, "a" * 100_000, " " * 100_000, "<think>" * 15_000, "`" * 100_000,
     '<tool_call>{"name": "ping", "arguments": "%s"}' % ("[" * 5_000),
     '{"name": "ping", "arguments": "%s"}' % ("[" * 5_000 + "]" * 5_000),
     *(text.replace(J, "[" * 5_000 + "]" * 5_000) for text in EXAMPLES.values() if J in text)],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_hostile_texts_are_looked_through_in_no_time(text: str) -> None:
    assert read_calls(text, TOOLS) is None  # a grammar that went back and forth would run into the time limit


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_call_in_the_text_arrives_as_a_call(name: str, way: str) -> None:
    wire = WIRES[name]
    sent = reply(wire, way, f"Let me look. {EXAMPLES['hermes']}")
    with upstream(sent) as up:
        with proxied(up.url, rescue=True) as url:
            body = read(wire, way, ask(wire, url, way, wire.tool()))
            counted = httpx2.get(f"{url}/retrycontract").json()["rescued"]
        with proxied(up.url) as url:  # off unless it is asked for
            assert ask(wire, url, way, wire.tool()) == b"".join(sent.parts)
    assert wire.calls_in(body) == [("read_file", RIGHT)]
    assert wire.text_in(body).strip() == "Let me look."
    assert counted == [{"model": "m-1", "dialect": "hermes", "count": 1}]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_wrong_call_in_the_text_is_fed_back(name: str, way: str) -> None:
    wire: ModuleType = WIRES[name]
    replies = (
        reply(wire, way, EXAMPLES["hermes"].replace('"a.txt"', "7")),
        reply(wire, way, "", wire.call("read_file", RIGHT)),
    )
    with upstream(*replies) as up, proxied(up.url, rescue=True) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert (wire.calls_in(body), wire.text_in(body)) == ([("read_file", RIGHT)], "")
    told = json.dumps(up.asked[1].body)
    assert "You wrote this call into your text" in told
    assert "VAL-002" in told


def test_text_without_a_call_flows_and_arrives_as_it_was_written() -> None:
    for text in ("It is [sunny] in {Zurich} `today` <b>.", "It is sunny.", '{"name": "Jane", "location": "unknown"}',
                 f'The page says "{EXAMPLES["hermes"]}", which I ignore.', TWICE[0]):  # fmt: skip
        for name, wire in WIRES.items():
            for way in ("whole", "streamed"):
                sent = reply(wire, way, text)
                with upstream(sent) as up, proxied(up.url, rescue=True) as url:
                    assert ask(wire, url, way, wire.tool()) == b"".join(sent.parts), name
    with upstream(reply(chat, "whole", EXAMPLES["hermes"])) as up, proxied(up.url, rescue=True) as url:
        body = read(chat, "whole", ask(chat, url, "whole", chat.tool("other")))
    assert chat.calls_in(body) == []

"""A tool's call, or a refusal in any script, that stands where a file is due is none; a file of such a form is one."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind

pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")

NAMES = ("a.json", "a.yaml", "a.py", "a.txt", "a.md", "a.rb", "a.js")


def is_taken(name: str, answer: str, **more: Any) -> bool:
    tool = Tool(name=name, input_schema={"type": "string", **more}, kind=Kind.SOURCE_FILE)
    return RetryContract([tool]).check(name, "1", answer).status == "valid"


CALLS = (
    '{"name":"write_file","arguments":{"path":"a"}}', '[{"name":"write_file","arguments":{}}]',
    '{"name": "write_file", "arguments": "{\\"path\\": \\"a\\"}"}',
    '{"name": "createFile", "parameters": {"path": "a"}}',
    '{"tool":"write_file","parameters":{"path":"a"}}', '{"tool_name": "bash", "tool_input": {"command": "ls"}}',
    '{"function":{"name":"f","arguments":"{}"}}', '{"function": "f", "args": {}}',
    '{"type":"function","function":{"name":"write_file","arguments":"{}"}}',
    '{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}',
    '{"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]}',
    '{"functionCall": {"name": "f", "args": {}}}',
    '{"type":"tool_use","id":"toolu_1","name":"write_file","input":{"path":"a"}}',
    '{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}',
    '{"action":"write_file","action_input":{"path":"x"}}', '{"thought": "hm", "action": "read", "action_input": {}}',
    '{"recipient_name":"functions.write","parameters":{}}',
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {}}}',
    '{"name": "write_file", "arguments": {"content": "' + "x" * 30_000 + '"}}',
    'write_file(path="a")', 'default_api.write_file(path="a", content="b")',
    '[write_file(path="a"), run_tests(fast=True)]',
    'print(default_api.create_file(path="a"))', 'str_replace(old="a", new="b")', 'bash(command="ls")',
    "name: write_file\narguments:\n  path: a\n", "tool: write_file\nparameters:\n  path: a",
    "Action: write_file\nAction Input: {\"path\": \"a\"}", "<function=write_file>{}</function>",
    '<invoke name="write_file"></invoke>', '[TOOL_CALLS][{"name": "f", "arguments": {}}]',
)  # fmt: skip


@pytest.mark.parametrize("answer", CALLS)
def test_a_call_is_no_file_where_no_fence_marks_it(answer: str) -> None:
    assert [name for name in NAMES if is_taken(name, answer)] == []


FILES = (
    ("package.json", '{"name": "app", "version": "1.0.0", "scripts": {"test": "jest"}}'),
    ("stack.json", '{"name": "prod", "parameters": {"size": 3}}'),
    ("mcp.json", '{"name": "f", "arguments": {}}'),
    ("server.json", '{"command": "node", "args": ["server.js"]}'),
    ("launch.json", '{"name": "debug", "type": "node", "args": ["x"]}'),
    ("prompt.json", '{"name": "review", "arguments": [{"name": "code", "required": true}]}'),
    ("weather.json", '{"name": "get_weather", "parameters": {"type": "object", "properties": {}}}'),
    ("weather.json", '{"name": "get_weather", "description": "now", "parameters": {"city": {"type": "string"}}}'),
    ("fixtures/first.json", '{"name": "write_file", "arguments": {"path": "a"}}'),
    ("tool_call.json", '{"name": "write_file", "arguments": {"path": "a"}}'),
    ("chat.json", '[{"role": "user", "content": "hi"}]'),
    ("rule.json", '{"action": "deny", "input": "x"}'),
    ("job.yaml", "name: build\nparameters:\n  size: 3\n"), ("job.yaml", "name: deploy app\narguments:\n  size: 3\n"),
    ("job.yaml", "function: f\nruntime: go\nargs:\n  a: 1\n"), ("job.yaml", "name: write_file\nsteps:\n  - a\n"),
    ("setup.py", 'from setuptools import setup\n\nsetup(name="x")\n'), ("setup.py", 'setup(name="x")'),
    ("run.py", "main()"), ("run.py", 'run_server("a")'), ("run.py", 'print("a")'), ("run.py",
    "x = write_file(path=1)"),
    ("BUILD", 'cc_binary(name="x")'), ("notes.txt", "f(x)"), ("a.rb", "run_app(port)"), ("a.js", 'start({port: 1});'),
    ("a.md", "# How to\n\nCall `write_file(path=\"a\")`."), ("a.json", '[{"name": "a"}]'), ("a.json", "[]"),
    ("a.json", '{"type": "function", "name": "f"}'), ("a.yaml", "名前: テスト"), ("a.yaml", "- りんご\n- みかん"),
    ("a.yaml", "タイトル: どこへ行く？\n番号: 1"), ("a.yaml", "标题: 你好\n端口: 80"), ("a.yaml", "الاسم: خادم"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "source"), FILES)
def test_a_file_that_is_like_a_call_or_a_question_is_one(name: str, source: str) -> None:
    assert is_taken(name, source)


@pytest.mark.parametrize("answer", CALLS[:5])
def test_a_call_that_a_fence_marks_or_a_schema_asks_for_is_the_file(answer: str) -> None:
    assert is_taken("a.json", f"```json\n{answer}\n```")
    assert is_taken("a.json", answer, pattern='"(name|tool|arguments|parameters)"', description='has "arguments"')


@pytest.mark.parametrize(
    "answer",
    [
        "すみません: できません", "申し訳ありません: できません", "抱歉: 我不能这样做", "对不起: 我无法完成",
        "آسف: لا أستطيع", "- すみません",
        "質問: ポートはどれ？", "问题: 哪个端口？", "問題: 哪個埠？", "죄송합니다: 할 수 없습니다",
        "ขออภัย: ทำไม่ได้", "מצטער: לא יכול",
        "माफ़ करें: नहीं कर सकता", "질문: 어느 포트입니까?", "سؤال: أي منفذ؟", "שאלה: איזה פורט?",
        "प्रश्न: कौन सा पोर्ट?",
        "- 对不起", "- 申し訳ありません", "- 죄송합니다", "「すみません」: できません", "- どのポート？",
        "请问: 用哪个端口？",
    ],
)  # fmt: skip
def test_a_refusal_or_a_question_in_any_script_is_no_yaml(answer: str) -> None:
    assert not is_taken("a.yaml", answer)

"""What commands, expressions and calls of tools show: on the next line of a console, in a member, in a message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
SECRETS = ("q7Kd" + "Zp2mXw", "Sommer" + "2024!", "q8Zr1LxW0uTn" + "5VbYc3KdPmAs")

COMMANDS = [
    "echo $DB_PASSWORD", 'echo "${DB_PASSWORD}"', "printenv DB_PASSWORD", "cat /run/secrets/db_password",
    "cat ~/.vault_pass", "cd /app && cat secret.txt", "docker exec db printenv POSTGRES_PASSWORD", "pass show db/prod",
    "op read op://Prod/db/password", "vault kv get -field=password secret/app", "heroku config:get SECRET_KEY",
    "kubectl get secret db -o jsonpath={.data.password} | base64 -d", "openssl rand -hex 20", "pwgen 16 1",
    "gcloud secrets versions access latest --secret=db", "terraform output -raw db_password", "jq -r .password c.json",
    "aws ssm get-parameter --name /db/pw --with-decryption --query Parameter.Value --output text",
    "az keyvault secret show --name db --vault-name v --query value -o tsv", "pulumi config get dbPassword",
    "npm config get //npm.example.org/:_authToken", "grep DB_PASSWORD .env | cut -d= -f2",
]  # fmt: skip
CONSOLES = [
    ">>> settings.SECRET_KEY\n'§'", ">>> print(api_key)\n§", "In [3]: os.environ['DB_PASSWORD']\nOut[3]: '§'",
    "irb(main):001:0> ENV['SECRET_KEY']\n=> \"§\"", "php > echo $password;\n§", '(gdb) p password\n$1 = 0x5555 "§"',
    "(Pdb) p self.password\n'§'", "PS> $env:API_KEY\n§", "> process.env.API_TOKEN\n'§'",
    '127.0.0.1:6379> CONFIG GET requirepass\n1) "requirepass"\n2) "§"', "root@h:~# cat /run/secrets/db_password\n§",
    "sqlite> select password from users where id=1;\n§", "app=> select api_key from users limit 1;\n§",
]  # fmt: skip
ARGUMENTS = json.dumps({"command": "echo $DB_PASSWORD"})
CALLS: list[Any] = [
    {"tool": "get_password", "result": "§"}, {"output": "§", "command": "printenv DB_PASSWORD"},
    {"tool": "bash", "input": {"command": "printenv API_KEY"}, "output": "§\n"},
    {"name": "get_secret", "arguments": {"id": "db"}, "result": "§"}, {"code": "print(api_key)", "output": "§\n"},
    {"expression": "os.environ['DB_PASSWORD']", "value": "§"},
    {"cmd": ["bash", "-lc", "echo $DB_PASSWORD"], "stdout": "§"},
    {"tool": "read_file", "input": {"path": "/run/secrets/db_password"}, "output": "§"},
    {"tool": "get_env", "args": {"name": "DB_PASSWORD"}, "result": "§"},
    {"command": "echo $DB_PASSWORD", "result": {"stdout": "§", "exit_code": 0}},
    {"command": "echo $DB_PASSWORD", "output": "Loading ...\n§\ndone"},
    {"tool_call": {"function": {"name": "bash", "arguments": ARGUMENTS}}, "result": "§"},
    [{"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "bash", "arguments": ARGUMENTS}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": "§"}],
    [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "get_secret", "input": {"id": "db"}}]},
     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"text": "§"}]}]}],
    [{"type": "function_call", "call_id": "c9", "name": "shell", "arguments": ARGUMENTS},
     {"type": "function_call_output", "call_id": "c9", "output": "§"}],
]  # fmt: skip
HARMLESS: list[Any] = [
    {"command": "grep -rn password src/", "output": "src/a.py:3: def password_reset(user):"},
    {"command": "cat README.md", "output": "Hello2you"}, {"command": "test -n $DB_PASSWORD", "output": "0"},
    {"command": "echo $DB_PASSWORD", "output": "true"}, {"command": "ls secrets", "output": "db_password2"},
    {"command": "cat secret.txt", "output": "cat: secret.txt: No such file or directory"},
    {"command": "cat secret.txt", "output": "bash: cat: command not found"},
    {"command": "cat password.txt | wc -c", "output": "170000"}, {"command": "pass --version", "output": "1.7.4"},
    {"command": "which pass", "output": "/usr/bin/pass2"}, {"command": "cat password.txt > b", "output": "abc123x"},
    {"command": "vault kv get -field=username secret/app", "output": "app_user2"},
    {"command": "git log --oneline -- secrets.py", "output": "3f2a1b9 Add secrets"},
    {"tool": "get_token_count", "result": "123456"}, {"tool": "set_password", "result": "req1a2b3"},
    {"tool": "list_secrets", "result": ["db_password", "api_key"]}, {"tool": "get_secret", "result": "not found"},
    {"tool": "get_secret", "result": "NotFound"}, {"tool": "get_password", "result": "ERR_404"},
    {"name": "get_token", "response": "TokenResponse"}, {"input": "password", "output": "wachtwoord"},
    {"query": "password", "results": ["Reset your password", "password-manager"]},
    {"code": "len(password)", "output": "12"}, {"code": "password in users", "output": "False"},
    {"tool": "read_file", "input": {"path": "docs/password.md"}, "output": "Passwords2"},
    {"command": "pip show keyring", "output": "Name: keyring\nVersion: 24.3.0"},
    [{"id": "call_1", "function": {"name": "bash", "arguments": ARGUMENTS}},
     {"tool_call_id": "call_2", "content": "q7KdZp"}],
]  # fmt: skip
PLAIN = [
    "# Reset simple keys.\nself.reset2()", ">>> tok('String.Double')\nToken.Literal.Double",
    "$ ls secrets\ndb2", "> a quoted password\nline2", ">>> len(password)\n123456",
    "$ cat password.txt\ncat: password.txt: No such file", ">>> token.is_valid\nTrue",
]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_shows_is_hidden(command: str, secret: str) -> None:
    value = {"command": command, "stdout": f"{secret}\n"}
    assert secret not in SANITIZER.redact_text(f"$ {command}\n{secret}\n")
    assert secret not in SANITIZER.redact_text(json.dumps(value))
    assert secret not in json.dumps(SANITIZER.redact(value))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("text", CONSOLES)
def test_what_a_console_answers_is_hidden(text: str, secret: str) -> None:
    assert secret not in SANITIZER.redact_text(text.replace("§", secret))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("value", CALLS, ids=json.dumps)
def test_what_a_call_of_a_tool_answers_is_hidden(value: Any, secret: str) -> None:
    text = json.dumps(value).replace("§", secret).replace("\\u00a7", secret)
    assert secret not in SANITIZER.redact_text(text)
    assert secret not in json.dumps(SANITIZER.redact(json.loads(text)))


@pytest.mark.parametrize("value", HARMLESS, ids=json.dumps)
def test_what_shows_no_secret_stays(value: Any) -> None:
    assert SANITIZER.redact(value) == value
    assert SANITIZER.redact_text(json.dumps(value)) == json.dumps(value)


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_looks_like_a_console_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text

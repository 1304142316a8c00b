"""The gateway as a process: how it starts, how it ends, and that its upstream ends with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.connections import INITIALIZE, ROOT, SERVER, told
from tests.serving.threads import eventually

INITIALIZED = json.dumps({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": INITIALIZE}) + "\n"
# Started anew, as nobody forks them elsewhere.
GATEWAY = (sys.executable, "-m", "retrycontract", "mcp-gateway")
READY = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"
PING = json.dumps({"jsonrpc": "2.0", "id": "ping", "method": "ping"}) + "\n"


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GATEWAY, "--", sys.executable, SERVER, str(folder)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def upstream_of(gateway: subprocess.Popen[str], folder: Path) -> int:
    """Wait until both processes are up, and give the upstream's id."""
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    gateway.stdin.write(PING)
    gateway.stdin.flush()
    assert json.loads(gateway.stdout.readline())["id"] == "ping"
    (process_id,) = told(folder, "process")
    return int(process_id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_gateway_and_its_upstream(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path) as gateway:
        upstream = upstream_of(gateway, tmp_path)
        gateway.send_signal(number)
        assert gateway.wait(30) == 128 + number
        eventually(lambda: not is_running(upstream))


def test_a_client_that_leaves_ends_both(tmp_path: Path) -> None:
    with start(tmp_path) as gateway:
        upstream = upstream_of(gateway, tmp_path)
        assert gateway.stdin is not None
        gateway.stdin.close()
        assert gateway.wait(30) == 0
        eventually(lambda: not is_running(upstream))


def test_a_script_that_sends_all_and_closes_its_end_is_answered(tmp_path: Path) -> None:
    sent = [
        call(1, '{"name": "read_file", "arguments": {}}'),
        call(2, '{"name": "read_file", "arguments": {"path": "/a"}}'),
    ]
    with start(tmp_path) as gateway:
        out, _ = gateway.communicate(INITIALIZED + READY + "".join(sent), timeout=30)
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines()) if "id" in answer}
    assert {1, 2} <= answers.keys(), answers
    assert [answers[number]["result"].get("isError", False) for number in (1, 2)] == [True, False]
    assert told(tmp_path, "calls") != []


def test_what_is_no_message_is_answered_as_such(tmp_path: Path) -> None:
    with start(tmp_path) as gateway:
        out, _ = gateway.communicate("no JSON\n" + PING, timeout=30)
    answers = [json.loads(line) for line in out.splitlines()]
    assert answers[0]["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--", "no-such-command"], "no-such-command: there is no such command", id="command"),
        pytest.param(["--max-attempts", "99", "--", "cat"], "max_attempts: must be a whole number", id="attempts"),
        pytest.param(["--config", "no.yml", "--", "cat"], "no.yml: No such file", id="configuration"),
        pytest.param(
            ["--url", "localhost:8000", "--", "cat"], "the service's address is http:// or https://", id="address"
        ),
        pytest.param(["--url", "http://localhost:1", "--", "cat"], "--url needs the agent's key", id="key"),
        pytest.param([], "say what stands behind", id="nothing"),
        pytest.param(["--servers", "no.json"], "no.json: No such file", id="servers"),
        pytest.param(["--servers", "pyproject.toml"], "pyproject.toml is not JSON", id="servers-format"),
        pytest.param(["--upstream", "http://a/mcp", "--", "cat"], "say what stands behind", id="two"),
        pytest.param(["--upstream", "ftp://a/mcp"], "a server's address is http:// or https://", id="upstream"),
        pytest.param(["--upstream", "http://me:pw@a/mcp"], "a server's address is http:// or https://", id="user"),
        pytest.param(["--upstream", "http://[::1"], "a server's address is http:// or https://", id="half-an-address"),
        pytest.param(["--url", "http://[::1", "--", "cat"], "the service's address is http://", id="half-a-service"),
        pytest.param(["--upstream", "http://a", "--header", "A b: c"], "the header 'A b' cannot be sent", id="header"),
        pytest.param(["--upstream", "http://a", "--header", "A"], "the header 'A' cannot be sent", id="half-a-header"),
        pytest.param(["--header", "A: b", "--", "cat"], "--header goes along with --upstream", id="header-alone"),
        pytest.param(["--listen", "8500", "--", "cat"], "--listen takes host:port", id="listen"),
        pytest.param(["--listen", "127.0.0.1:99999", "--", "cat"], "--listen takes host:port", id="port"),
        pytest.param(["--listen", "192.0.2.1:8500", "--", "cat"], "cannot be used", id="address-of-others"),
        pytest.param(["--listen", "0.0.0.0:0", "--", "cat"], "RETRYCONTRACT_GATEWAY_TOKEN", id="open"),
    ],
)
def test_wrong_use_ends_with_two_and_the_reason(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "retrycontract", "mcp-gateway", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.startswith("retrycontract: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "double", "inputSchema": {}}]')
    for missing, command in {"mcp": ["mcp", "--tools", str(tools)], "anyio": ["mcp-gateway", "--", "cat"]}.items():
        folder = tmp_path / missing
        folder.mkdir()
        (folder / f"{missing}.py").write_text(f"raise ModuleNotFoundError(name='{missing}')")
        run = subprocess.run(
            [sys.executable, "-m", "retrycontract", *command],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert run.returncode == 2
        assert run.stderr == 'retrycontract: this needs the package mcp: pip install "retrycontract[mcp]"\n'


HEAVY = "('mcp', 'mcp_types', 'pydantic', 'httpx2', 'starlette', 'yaml', 'jsonschema_specifications', 'referencing')"


def test_a_gateway_that_judges_loads_nothing_heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETRYCONTRACT_CONFIG_FILE", raising=False)  # a file that is named is read, which takes yaml
    seen = tmp_path / "seen"
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, pathlib, sys\n"
        "if 'mcp-gateway' in getattr(sys, 'orig_argv', ()):\n"
        f"    atexit.register(lambda: pathlib.Path({str(seen)!r}).write_text("
        f"repr([name for name in (*{HEAVY}, 'retrycontract.mcp.gateway') if name in sys.modules])))\n"
    )
    run = subprocess.run(
        [*GATEWAY, "--", sys.executable, SERVER],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)}, text=True, capture_output=True,
        input=INITIALIZED + call(1, '{"name": "read_file", "arguments": {}}'), check=False, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert seen.read_text() == "['retrycontract.mcp.gateway']"


def test_the_gateway_loads_no_server_package_and_no_other_command_loads_the_sdk() -> None:
    look = (
        "import sys, retrycontract.mcp.commands\n"
        "print(*sorted({'django', 'ninja', 'celery', 'kombu', 'redis', 'structlog', 'psycopg'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr
    look = "import sys, retrycontract.cli.program\nprint(*sorted({'mcp', 'httpx2', 'anyio'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr


def call(number: int, params: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}\n'


STRANGE = [
    '{"name": "read_file", "arguments": {"path": NaN}}',
    '{"name": "read_file", "arguments": {"path": 1e400}}',
    '{"name": "read_file", "arguments": ' + "[" * 150 + "]" * 150 + "}",
    '{"name": "read_file", "arguments": [1]}',
    '{"name": "read_file", "arguments": "{\\"path\\": \\"/a\\"}"}',
    '{"name": "read_file", "arguments": null}',
    '{"name": "read_file"}',
    '{"name": ""}',
]
STRANGE_REQUESTS = ['{"name": 5}', "{}", '{"name": "read_file", "arguments": {"path": "/a"}, "_meta": 3}']
STRANGE_MESSAGES = [
    "[]",
    '{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
    '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    '{"jsonrpc": "2.0", "id": "nobody asked", "result": {}}',
]


def test_strange_calls_are_answered_and_end_nothing(tmp_path: Path) -> None:
    calls = [call(number, params) for number, params in enumerate(STRANGE + STRANGE_REQUESTS)]
    lines = [INITIALIZED, *calls, *(message + "\n" for message in STRANGE_MESSAGES), PING]
    answers: dict[int, dict[str, Any]] = {}
    with start(tmp_path) as gateway:
        assert gateway.stdin is not None
        assert gateway.stdout is not None
        gateway.stdin.write("".join(lines))
        gateway.stdin.flush()
        while len(answers) < len(calls) + 3:  # initialize, ping, and the batch that has no id
            answer = json.loads(gateway.stdout.readline())
            answers[answer["id"]] = answer
        gateway.stdin.close()
    assert [answers[number]["result"]["isError"] for number in range(len(STRANGE))] == [True] * len(STRANGE)
    assert {answers[len(STRANGE) + number]["error"]["code"] for number in range(len(STRANGE_REQUESTS))} <= {
        -32602,
        -32600,
    }
    assert told(tmp_path, "calls") == []

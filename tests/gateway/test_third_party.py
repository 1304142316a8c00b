"""The gateway in front of servers that others wrote, from the package registry, in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.conftest import require
from tests.gateway.blocking import answered_with, third_failure_while, two_failures
from tests.gateway.connections import gateway_command, raw_answers, run, text_of
from tests.gateway.listening import gateway, request
from tests.serving.desk import Desk
from tests.serving.service import Service

LIST = [("tools/list", {})]
pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the servers and give the folder of their programs."""
    return installed("upstream.lock", tmp_path_factory.mktemp("servers"))


def installed(lock: str, folder: Path) -> Path:
    """Make an environment with what a file pins, and give the folder of its programs."""
    environment = folder / "venv"
    uv = Path(sys.executable).with_name("uv")
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
        [
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            python,
            "--require-hashes",
            "--requirement",
            Path(__file__).with_name(lock),
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"cannot install {lock}: {done.stderr.strip()[-300:]}")
    return python.parent


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    (folder / "notes.txt").write_text("one")
    return folder


@pytest.mark.parametrize("program", ["mcp-server-time", "mcp-server-git"])
def test_their_tools_are_listed_unchanged(servers: Path, program: str) -> None:
    direct = anyio.run(raw_answers, [str(servers / program)], LIST)
    through = anyio.run(raw_answers, gateway_command(upstream=(str(servers / program),)), LIST)
    assert through == direct
    assert direct[1]["result"]["tools"]


@pytest.mark.parametrize("program", ["mcp-server-time", "mcp-server-git"])
def test_over_http_they_say_the_same(servers: Path, program: str) -> None:
    requests = [*LIST, ("tools/call", {"name": "none_such", "arguments": {}}), ("prompts/list", {})]
    direct = anyio.run(raw_answers, [str(servers / program)], LIST)
    with gateway("--", str(servers / program)) as first, gateway("--upstream", first.url) as second:
        through = anyio.run(raw_answers, gateway_command("--upstream", first.url, upstream=()), requests)
        assert through[: len(direct)] == direct, "a pipe, then HTTP"
        for listening in (first, second):
            session = listening.begin()
            answers = [json.loads(session.send(request(n, *asked))[1]) for n, asked in enumerate(requests, 1)]
            assert answers[0] == direct[1], "HTTP to a pipe, and HTTP to HTTP"
            assert answers[1]["result"]["isError"]
            assert answers[2] == through[3]
            assert session.end() == 204


def test_both_stand_behind_one_gateway(servers: Path, tmp_path: Path, repository: Path) -> None:
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {
        "clock": {"command": str(servers / "mcp-server-time")}, "git": {"command": str(servers / "mcp-server-git")},
    }}))  # fmt: skip

    async def story(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"clock__get_current_time", "git__git_add"} <= set(names)
        wrong = await client.call_tool("git__git_add", {"repo_path": str(repository), "files": "notes.txt"})
        assert "/files (VAL-002): Type mismatch: expected array" in text_of(wrong)
        await client.call_tool("git__git_add", {"repo_path": str(repository), "files": ["notes.txt"]})
        assert "notes.txt" in staged(repository)
        told = await client.call_tool("clock__get_current_time", {"timezone": "UTC"})
        assert json.loads(text_of(told))["timezone"] == "UTC"

    run(story, tmp_path, "--servers", str(tmp_path / "servers.json"))


def test_the_clock_is_asked_only_with_arguments_that_fit(servers: Path, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        texts = [text_of(await client.call_tool("get_current_time", {"time_zone": "UTC"})) for _ in range(3)]
        assert texts[0].startswith("Validation failed for tool 'get_current_time' (attempt 1/3):")
        assert "/timezone (VAL-001): Required field 'timezone' is missing" in texts[0]
        assert "This call is now Blocked" in texts[2]
        told = await client.call_tool("get_current_time", {"timezone": "UTC"})
        assert json.loads(text_of(told))["timezone"] == "UTC"
        unheard = await client.call_tool("get_current_time", {"timezone": "Moon/Crater"})
        assert unheard.is_error
        assert "Validation failed" not in text_of(unheard), "the server's own error"

    run(story, tmp_path, upstream=(str(servers / "mcp-server-time"),))


def test_a_repository_is_changed_only_by_a_call_that_fits(servers: Path, tmp_path: Path, repository: Path) -> None:
    path = str(repository)

    async def story(client: Client) -> None:
        wrong = await client.call_tool("git_add", {"repo_path": path, "files": "notes.txt"})
        assert "/files (VAL-002): Type mismatch: expected array" in text_of(wrong)
        assert "notes.txt" not in staged(repository)
        await client.call_tool("git_add", {"repo_path": path, "files": ["notes.txt"]})
        assert "notes.txt" in staged(repository)
        status = await client.call_tool("git_status", {"repo_path": path})
        assert "new file:   notes.txt" in text_of(status)

    run(story, tmp_path, upstream=(str(servers / "mcp-server-git"),))


def test_a_person_mends_a_call_and_its_result_comes_back(
    servers: Path, tmp_path: Path, repository: Path, service: Service
) -> None:
    wrong = {"repo_path": str(repository), "files": "notes.txt"}
    right = {**wrong, "files": ["notes.txt"]}
    desk = Desk(service)
    desk.log_in()

    async def story(client: Client) -> None:
        call_id = await two_failures(client, wrong, "git_add")
        assert "notes.txt" not in staged(repository)
        corrected = answered_with(desk, call_id, decision="corrected", arguments=json.dumps(right), text="A list.")
        result = await third_failure_while(client, corrected, wrong, "git_add")
        assert not result.is_error
        note, own = (block.text for block in result.content)
        assert note.startswith("A person corrected the arguments of your Blocked call of tool 'git_add'.")
        assert own == "Files staged successfully"
        assert "notes.txt" in staged(repository)

    (key,) = service.new_keys("third-party")
    program = (str(servers / "mcp-server-git"),)
    run(story, tmp_path, "--url", service.url, upstream=program, env={"RETRYCONTRACT_API_KEY": key})


def staged(repository: Path) -> str:
    command = ["git", "-C", repository, "diff", "--cached", "--name-only"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

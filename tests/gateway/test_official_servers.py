"""The official servers of npm and PyPI, direct and behind the gateway, as the official clients see them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from tests.conftest import require
from tests.gateway.connections import ROOT, SECONDS, gateway_command, run_command
from tests.gateway.listening import gateway
from tests.gateway.test_third_party import installed
from tests.serving.servers import free_port
from tests.serving.threads import eventually, served

pytestmark = [
    pytest.mark.soak,
    pytest.mark.processes,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

RELEASE = "2026.8.31"  # of the servers from npm
PACKAGES = [*(f"@modelcontextprotocol/server-{name}@{RELEASE}"
              for name in ("everything", "filesystem", "memory", "sequential-thinking")),
            "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/inspector@0.15.0"]  # fmt: skip
PYPI = {  # what each is pinned in, and its options
    "time": ("upstream.lock", []), "git": ("upstream.lock", []), "fetch": ("upstream.lock", []),
    "sqlite": ("older.lock", ["--db-path", "{folder}/a.db"]),
}  # fmt: skip
FOLDER, MEMORY, PAGE = "{folder}", "MEMORY_FILE_PATH", "{page}"
LISTS: list[Any] = [[f"{what}/list", {}] for what in ("tools", "resources", "resources/templates", "prompts")]


def calls(*made: tuple[str, dict[str, Any]]) -> list[Any]:
    return [["tools/call", {"name": name, "arguments": arguments}] for name, arguments in made]


STEPS: dict[str, list[Any]] = {
    "everything": [
        *LISTS, ["ping", {}], ["logging/setLevel", {"level": "error"}],
        *calls(
            ("echo", {"message": "ä€𝄞"}), ("get-sum", {"a": 1, "b": 2.5}), ("get-tiny-image", {}),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}), ("get-resource-links", {}),
            ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
            ("get-structured-content", {"location": "Chicago"}), ("toggle-simulated-logging", {}),
            ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
        ),
        ["prompts/get", {"name": "simple-prompt"}],
        ["prompts/get", {"name": "args-prompt", "arguments": {"city": "Bern", "state": "BE"}}],
        ["prompts/get", {"name": "none-such"}],
        ["resources/read", {"uri": "demo://resource/dynamic/text/1"}],
        ["resources/read", {"uri": "demo://resource/dynamic/blob/2"}], ["resources/read", {"uri": "none://such"}],
        ["resources/subscribe", {"uri": "demo://resource/dynamic/text/1"}],
        ["completion/complete", {"ref": {"type": "ref/prompt", "name": "completable-prompt"},
                                 "argument": {"name": "department", "value": "E"}}],
        *calls(("get-sum", {"a": "one", "b": 2})),
    ],
    "filesystem": [
        *LISTS, ["ping", {}],
        *calls(
            ("list_allowed_directories", {}), ("write_file", {"path": f"{FOLDER}/a.txt", "content": "one\ntwo ä\n"}),
            ("read_text_file", {"path": f"{FOLDER}/a.txt", "head": 1}), ("read_file", {"path": f"{FOLDER}/a.txt"}),
            ("edit_file", {"path": f"{FOLDER}/a.txt", "edits": [{"oldText": "one", "newText": "1"}], "dryRun": True}),
            ("edit_file", {"path": f"{FOLDER}/a.txt", "edits": [{"oldText": "one", "newText": "1"}]}),
            ("create_directory", {"path": f"{FOLDER}/d"}), ("list_directory", {"path": FOLDER}),
            ("list_directory_with_sizes", {"path": FOLDER, "sortBy": "size"}), ("directory_tree", {"path": FOLDER}),
            ("move_file", {"source": f"{FOLDER}/a.txt", "destination": f"{FOLDER}/d/b.txt"}),
            ("search_files", {"path": FOLDER, "pattern": "*.txt"}), ("get_file_info", {"path": f"{FOLDER}/d/b.txt"}),
            ("read_multiple_files", {"paths": [f"{FOLDER}/d/b.txt", f"{FOLDER}/none"]}),
            ("read_media_file", {"path": f"{FOLDER}/d/b.txt"}), ("read_file", {"path": "/etc/hostname"}),
            ("read_file", {"path": f"{FOLDER}/none"}), ("read_file", {"file": "a.txt"}),
        ),
    ],
    "memory": [
        *LISTS, ["ping", {}],
        *calls(
            ("create_entities", {"entities": [{"name": n, "entityType": "t", "observations": ["ä"]} for n in "ab"]}),
            ("create_relations", {"relations": [{"from": "a", "to": "b", "relationType": "knows"}]}),
            ("add_observations", {"observations": [{"entityName": "a", "contents": ["x", "y"]}]}),
            ("read_graph", {}), ("search_nodes", {"query": "ä"}), ("open_nodes", {"names": ["a"]}),
            ("delete_observations", {"deletions": [{"entityName": "a", "observations": ["x"]}]}),
            ("delete_relations", {"relations": [{"from": "a", "to": "b", "relationType": "knows"}]}),
            ("add_observations", {"observations": [{"entityName": "none", "contents": ["x"]}]}),
            ("delete_entities", {"entityNames": ["a"]}), ("read_graph", {}), ("open_nodes", {"names": "a"}),
        ),
    ],
    "sequential-thinking": [
        *LISTS, ["ping", {}],
        *calls(
            ("sequentialthinking", {"thought": "a", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}),
            ("sequentialthinking", {"thought": "b", "nextThoughtNeeded": False, "thoughtNumber": 2, "totalThoughts": 2,
                                    "isRevision": True, "revisesThought": 1}),
            ("sequentialthinking", {"thought": "c", "thoughtNumber": 0}),
        ),
    ],
    "time": [
        *LISTS, ["ping", {}],
        *calls(
            ("get_current_time", {"timezone": "UTC"}), ("get_current_time", {"timezone": "Moon/Crater"}),
            ("convert_time", {"source_timezone": "UTC", "time": "25:00", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"source_timezone": "UTC", "time": "16:30", "target_timezone": "Asia/Kathmandu"}),
            ("get_current_time", {"time_zone": "UTC"}),
        ),
    ],
    "git": [
        *LISTS, ["ping", {}],
        *calls(
            ("git_status", {"repo_path": FOLDER}), ("git_diff_unstaged", {"repo_path": FOLDER, "context_lines": 1}),
            ("git_add", {"repo_path": FOLDER, "files": ["b.txt"]}), ("git_diff_staged", {"repo_path": FOLDER}),
            ("git_reset", {"repo_path": FOLDER}), ("git_add", {"repo_path": FOLDER, "files": ["a.txt", "b.txt"]}),
            ("git_commit", {"repo_path": FOLDER, "message": "Zwei, größer"}),
            ("git_log", {"repo_path": FOLDER, "max_count": 2}),
            ("git_show", {"repo_path": FOLDER, "revision": "HEAD~1"}),
            ("git_create_branch", {"repo_path": FOLDER, "branch_name": "side"}),
            ("git_checkout", {"repo_path": FOLDER, "branch_name": "side"}),
            ("git_branch", {"repo_path": FOLDER, "branch_type": "local"}),
            ("git_diff", {"repo_path": FOLDER, "target": "none-such"}), ("git_status", {"repo_path": "/none"}),
            ("git_add", {"repo_path": FOLDER, "files": "a.txt"}),
        ),
    ],
    "fetch": [
        *LISTS, ["ping", {}],
        *calls(
            ("fetch", {"url": PAGE, "raw": True}), ("fetch", {"url": PAGE, "raw": True, "max_length": 20}),
            ("fetch", {"url": PAGE, "raw": True, "start_index": 5000}), ("fetch", {"url": f"{PAGE}/none", "raw": True}),
        ),
        ["prompts/get", {"name": "fetch", "arguments": {"url": PAGE}}], ["prompts/get", {"name": "none-such"}],
        *calls(("fetch", {"url": PAGE, "max_length": 0})),
    ],
    "sqlite": [
        *LISTS, ["ping", {}],
        *calls(
            ("create_table", {"query": "CREATE TABLE birds (name TEXT, wings INTEGER)"}),
            ("write_query", {"query": "INSERT INTO birds VALUES ('Rotkehlchen ä𝄞', 2)"}),
            ("read_query", {"query": "SELECT * FROM birds"}), ("list_tables", {}),
            ("describe_table", {"table_name": "birds"}), ("append_insight", {"insight": "All have two wings."}),
            ("read_query", {"query": "DROP TABLE birds"}), ("read_query", {"query": "SELECT * FROM none"}),
        ),
        ["resources/read", {"uri": "memo://insights"}], ["resources/read", {"uri": "memo://none"}],
        ["prompts/get", {"name": "mcp-demo", "arguments": {"topic": "birds"}}],
        *calls(("read_query", {"sql": "SELECT 1"})),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Registry:
    """Know where the packages are, and a folder that every run finds empty."""

    packages: Path
    folder: Path
    programs: dict[str, Path]
    page: str

    def server(self, name: str) -> list[str]:
        if name in PYPI:
            lock, options = PYPI[name]
            return [
                str(self.programs[lock] / f"mcp-server-{name}"),
                *(w.replace(FOLDER, str(self.folder)) for w in options),
            ]
        entry = self.packages / f"node_modules/@modelcontextprotocol/server-{name}/dist/index.js"
        return ["node", str(entry), *([str(self.folder)] if name == "filesystem" else [])]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, MEMORY: str(self.folder / "memory.json")}

    def steps(self, name: str) -> Any:
        return json.loads(json.dumps(STEPS[name]).replace(FOLDER, str(self.folder)).replace(PAGE, self.page))


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Install the packages; nothing of them is run for that."""
    require(shutil.which("node") and shutil.which("npm"), "Node and npm are not on this machine")
    packages = tmp_path_factory.mktemp("npm")
    (packages / "package.json").write_text('{"private": true, "type": "module"}')
    words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES]
    done = subprocess.run(words, cwd=packages, capture_output=True, text=True, check=False, timeout=900)
    require(done.returncode == 0, f"cannot install the servers: {done.stderr.strip()[-300:]}")
    shutil.copy(Path(__file__).with_name("observe.mjs"), packages)
    programs = {lock: installed(lock, tmp_path_factory.mktemp("pypi")) for lock in {lock for lock, _ in PYPI.values()}}
    (tmp_path_factory.getbasetemp() / "page.html").write_text("<h1>Page ä</h1>" + "<p>word</p>" * 100)
    serve = partial(SimpleHTTPRequestHandler, directory=tmp_path_factory.getbasetemp())
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    with served(server):
        page = f"http://127.0.0.1:{server.server_port}/page.html"
        yield Registry(packages, tmp_path_factory.mktemp("files"), programs, page)


async def answer(client: Client, method: str, params: dict[str, Any]) -> Any:
    match method:
        case "completion/complete":
            return await client.complete(PromptReference(name=params["ref"]["name"]), params["argument"])
        case "ping":
            return await client.send_ping()
        case "logging/setLevel":
            return await client.set_logging_level(params["level"])
    names = {"tools/list": "list_tools", "resources/list": "list_resources", "prompts/list": "list_prompts",
             "resources/templates/list": "list_resource_templates", "prompts/get": "get_prompt",
             "resources/read": "read_resource", "resources/subscribe": "subscribe_resource",
             "tools/call": "call_tool"}  # fmt: skip
    return await getattr(client, names[method])(**params)


def seen_in_python(registry: Registry, name: str, where: list[str] | str, folder: Path) -> list[Any]:
    """Say what the SDK for Python sees of a server."""
    seen: list[Any] = []

    async def story(client: Client) -> None:
        about = client.server_info, client.server_capabilities
        seen.append([*(each.model_dump(mode="json") for each in about if each), client.instructions])
        for method, params in registry.steps(name):
            try:
                seen.append({"result": (await answer(client, method, params)).model_dump(mode="json", by_alias=True)})
            except MCPError as error:
                seen.append({"error": [error.code, error.message]})

    async def connect(url: str) -> None:
        with anyio.fail_after(SECONDS):
            async with Client(streamable_http_client(url), mode="legacy") as client:
                await story(client)

    if isinstance(where, str):
        anyio.run(connect, where)
    else:
        run_command(story, folder, *where, env=registry.environment, mode="legacy")
    return seen


def seen_in_typescript(registry: Registry, name: str, where: list[str] | str, _folder: Path) -> list[Any]:
    """Say what the SDK for TypeScript sees of a server."""
    at = {"url": where} if isinstance(where, str) else {"command": where}
    asked = json.dumps({**at, "cwd": str(ROOT), "steps": registry.steps(name)})
    done = subprocess.run(["node", "observe.mjs", asked], cwd=registry.packages, env=registry.environment, check=False,
                          capture_output=True, text=True, timeout=SECONDS)  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen: list[Any] = json.loads(done.stdout)
    return seen


def seen_in_inspector(registry: Registry, name: str, where: list[str] | str, _folder: Path) -> list[Any]:
    """Say what the inspector prints, started anew for each of the first steps."""
    seen: list[Any] = [None]
    for method, params in registry.steps(name):
        words = ["--method", method]
        if method == "tools/call":
            given = {key: value if isinstance(value, str) else json.dumps(value)
                     for key, value in params["arguments"].items()}  # fmt: skip
            words += [
                "--tool-name",
                params["name"],
                *(w for pair in given.items() for w in ("--tool-arg", "=".join(pair))),
            ]
        elif not method.endswith("/list") or len(seen) > INSPECTED:
            continue
        if len(seen) > INSPECTED:
            break
        at = [where, "--transport", "http"] if isinstance(where, str) else where
        program = registry.packages / "node_modules/.bin/mcp-inspector-cli"
        done = subprocess.run([program, "--cli", *at, *words], cwd=ROOT, env=registry.environment, check=False,
                              capture_output=True, text=True, timeout=SECONDS)  # fmt: skip
        seen.append([done.returncode, done.stdout])
    return seen


INSPECTED = 6  # steps
ANOTHER_SECOND = 1.1  # so that two runs differ wherever a server tells the time
CLIENTS: dict[str, Callable[[Registry, str, Any, Path], list[Any]]] = {
    "Python": seen_in_python, "TypeScript": seen_in_typescript, "inspector": seen_in_inspector,
}  # fmt: skip


def differences(one: Any, other: Any, through: Any, path: str = "") -> Iterator[str]:
    """Name what is another behind the gateway, but not what two runs of the server itself do not say alike."""
    if isinstance(one, dict) and isinstance(other, dict) and isinstance(through, dict):
        for key in {*one, *other, *through}:
            yield from differences(one.get(key), other.get(key), through.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and isinstance(through, list) and len(one) == len(through):
        for place, each in enumerate(zip(one, other, through, strict=True)):
            yield from differences(*each, f"{path}/{place}")
    elif one == other != through:
        yield f"{path}: {one!r:.200} and through the gateway {through!r:.200}"


@contextmanager
def empty(folder: Path, name: str) -> Iterator[None]:
    """Begin as every other run does."""
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    if name == "git":
        for file in ("a.txt", "b.txt"):
            (folder / file).write_text("one\n")
        who = [["config", "user.name", "Somebody"], ["config", "user.email", "somebody@example.com"]]
        commit = [["add", "a.txt"], ["commit", "--quiet", "--message", "One"]]
        for words in (["init", "--quiet"], *who, *commit):
            subprocess.run(["git", "-C", folder, *words], check=True)
        (folder / "a.txt").write_text("one\ntwo\n")
    yield


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", STEPS)
def test_behind_the_gateway_a_client_sees_the_same(registry: Registry, tmp_path: Path, name: str, client: str) -> None:
    see, server = CLIENTS[client], registry.server(name)

    def seen(where: list[str] | str) -> list[Any]:
        with empty(registry.folder, name):
            return see(registry, name, where, tmp_path)

    one = seen(server)
    time.sleep(ANOTHER_SECOND)
    other = seen(server)
    through = {"a pipe": seen(gateway_command(upstream=server))}
    with gateway("--", *server, env=registry.environment) as listening:
        through["HTTP"] = seen(listening.url)
    for way, found in through.items():
        assert len(found) == len(one) == (len(STEPS[name]) + 1 if client != "inspector" else INSPECTED + 1)
        if client != "inspector":  # the last step is a call that is wrong: the feedback is ours
            assert "Validation failed for tool" in json.dumps(found.pop())
        assert list(differences(one[: len(found)], other[: len(found)], found)) == [], way


def test_a_server_that_speaks_http_itself_is_the_same_behind_the_gateway(registry: Registry, tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen([*registry.server("everything"), "streamableHttp"], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PORT": str(port)}) as process:  # fmt: skip
        assert process.stderr is not None
        eventually(lambda: "listening" in str(process.stderr and process.stderr.readline()))
        url = f"http://127.0.0.1:{port}/mcp"
        try:
            for see in (seen_in_python, seen_in_typescript):
                one = see(registry, "everything", url, tmp_path)
                time.sleep(ANOTHER_SECOND)
                other = see(registry, "everything", url, tmp_path)
                with gateway("--upstream", url) as listening:
                    over_http = see(registry, "everything", listening.url, tmp_path)
                pipe = see(registry, "everything", gateway_command("--upstream", url, upstream=()), tmp_path)
                for found in (over_http, pipe):
                    assert "Validation failed for tool" in json.dumps(found.pop())
                    assert list(differences(one[: len(found)], other[: len(found)], found)) == []
        finally:
            process.terminate()


def test_the_documentation_has_the_table() -> None:
    document = (ROOT / "docs/gateways.md").read_text()
    for name, steps in STEPS.items():
        server = f"`server-{name}` {RELEASE}"
        if name in PYPI:
            pinned = re.search(
                rf"^mcp-server-{name}==(\S+)", Path(__file__).with_name(PYPI[name][0]).read_text(), re.MULTILINE
            )
            server = f"`mcp-server-{name}` {pinned and pinned[1]}"
        assert f"| {server} | {len(steps) - 1} | 0 |" in document

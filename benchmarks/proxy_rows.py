"""What the proxy adds to an answer of the upstream's, beside LiteLLM's proxy, all asked in turns."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, perf_counter, sleep

from benchmarks.report import FOLDER, Goal, duration, machine, table
from benchmarks.service import embedded
from benchmarks.service_rows import Effort
from tests.proxy import chat
from tests.proxy.upstream import RIGHT, Asked, Reply, upstream
from tests.serving.servers import free_port
from tests.serving.service import ROOT

ASKED = 60  # times in each round, of each address
START_SECONDS = 120  # LiteLLM imports for half a minute on a busy machine
FIRST, CALL, CALL_STREAMED = "first token of a text", "a valid tool call", "a valid tool call, streamed"
GOALS = {FIRST: 2.0, CALL: 5.0, CALL_STREAMED: 5.0}  # milliseconds at the median
DIRECT, ALONE, DESK, LITELLM, SUBMIT = "direct", "alone", "desk", "litellm", "submit"
NAMES = {
    DIRECT: "the upstream itself", ALONE: "`retrycontract proxy`", DESK: "`retrycontract proxy --url`, with a desk",
    LITELLM: "LiteLLM's proxy", SUBMIT: "the desk's answer to the same submit, alone",
}  # fmt: skip
TEXT = "It is sunny in Zurich, as it always is when somebody measures."
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer none"}

# Its own price list and no news of us, for nothing here asks the network; and open to all, as ours is.
LITELLM_SETTINGS = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
}  # fmt: skip

Place = tuple[int, int]  # port, and the process; 0 for what is served by this one
Times = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Question:
    """Hold a request, and what of its answer is waited for; without `sign` that is the end."""

    body: bytes
    sign: bytes = b""

    def seconds(self, connection: http.client.HTTPConnection) -> float:
        """Ask, and read to the end; gives how long the sign took."""
        began, found = perf_counter(), None
        connection.request("POST", chat.PATH, self.body, HEADERS)
        answer, read = connection.getresponse(), b""
        while part := answer.read1(65_536):
            read += part
            if found is None and self.sign and self.sign in read:
                found = perf_counter()
        answer.close()
        assert answer.status == 200, read
        assert (self.sign or b"read_file") in read, read
        return (found or perf_counter()) - began


QUESTIONS = {
    FIRST: Question(json.dumps(chat.asking(chat.tool(), text="text", stream=True)).encode(), b"It i"),
    CALL: Question(json.dumps(chat.asking(chat.tool(), text="call")).encode()),
    CALL_STREAMED: Question(json.dumps(chat.asking(chat.tool(), text="call", stream=True)).encode()),
}


def proxy_document(effort: Effort, peers: Path | None) -> str:
    """Write the part of the results."""
    with ExitStack() as stack:
        site = stack.enter_context(embedded())
        up = stack.enter_context(upstream(script=_script))
        addresses = {DIRECT: (up.port, 0), ALONE: stack.enter_context(_proxy(up.url))}
        addresses[DESK] = stack.enter_context(_proxy(up.url, site.service.url, site.keys[0]))
        litellm = peers.with_name("litellm") if peers is not None else None
        if litellm is not None and litellm.exists():
            addresses[LITELLM] = stack.enter_context(_litellm(litellm, up.url))
        sections = [
            (what, _measured(question, addresses, effort, None if what == FIRST else _submits(site.port, site.keys[0])))
            for what, question in QUESTIONS.items()
        ]
    text = "\n\n".join(f"## {what.capitalize()}\n\n{_rows(what, *measured)}" for what, measured in sections)
    notes = (FOLDER / "PROXY-NOTES.md").read_text(encoding="utf-8").strip()
    return f"{_head(_version(peers))}\n\n{text}\n\n## Notes\n\n{notes}\n"


def _script(asked: Asked) -> Reply:
    body = asked.body
    says = chat.streams if body.get("stream") else chat.says
    if body["messages"][-1]["content"] == "text":
        return says(TEXT)
    return says(None, chat.call("read_file", RIGHT))


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _measured(
    question: Question, addresses: Mapping[str, Place], effort: Effort, submits: Iterator[float] | None
) -> tuple[Times, dict[str, float]]:
    """Ask all addresses in turn, each over a connection that stays; the first round is not counted."""
    times: Times = {name: [] for name in (*addresses, *([SUBMIT] if submits else []))}
    connections = {
        name: http.client.HTTPConnection("127.0.0.1", port, timeout=60) for name, (port, _) in addresses.items()
    }
    used = {name: -_processor_seconds(process) for name, (_, process) in addresses.items() if process}
    turns = max(ASKED // effort.share, 1) * (effort.rounds + 1)
    for number in range(turns):
        for name, connection in connections.items():
            took = question.seconds(connection)
            if number >= ASKED // effort.share:
                times[name].append(took)
        # In its turn as well: what a submit takes changes with the machine's load and with what is stored.
        if submits:
            took = next(submits)
            if number >= ASKED // effort.share:
                times[SUBMIT].append(took)
    for connection in connections.values():
        connection.close()
    return times, {name: (spent + _processor_seconds(addresses[name][1])) / turns for name, spent in used.items()}


def _submits(port: int, key: str) -> Iterator[float]:
    """Submit the valid call with all that the proxy tells of it, one after the other, without end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while True:
        document = {
            "tool": "read_file", "tool_call_id": f"beside-{uuid.uuid4()}", "raw": json.dumps(RIGHT), "turn": 0,
            "kind": "tool_call", "finish_reason": "tool_calls", "session_id": f"beside-{uuid.uuid4()}", "model": "m-1",
            "context": {"goal": "call", "last_user_message": "call"}, "prompt": "call", "tokens_in": 10,
            "tokens_out": 5, "seconds": 0.01,
        }  # fmt: skip
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Prefer": "wait=0",
                   "Idempotency-Key": str(uuid.uuid4())}  # fmt: skip
        began = perf_counter()
        connection.request("POST", "/api/v1/calls", json.dumps(document).encode(), headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        yield perf_counter() - began


def _rows(what: str, times: Times, used: Mapping[str, float]) -> str:
    floor, rows = statistics.median(times[DIRECT]), []
    for name, taken in times.items():
        p50, added = statistics.median(taken), (statistics.median(taken) - floor) * 1_000
        # With a desk a call may cost what one submit does, beside what it costs without.
        most = GOALS[what] + (statistics.median(times[SUBMIT]) * 1_000 if name == DESK and SUBMIT in times else 0)
        goal = Goal(round(most, 1), " ms").verdict(added) if name in (ALONE, DESK) else ""
        told = "" if name in (DIRECT, SUBMIT) else f"{added:.2f} ms"
        work = duration(used[name]) if name in used else ""
        rows.append((NAMES[name], duration(p50), duration(sorted(taken)[int(len(taken) * 0.99)]), work, told, goal))
    if LITELLM not in times:
        rows.append((NAMES[LITELLM], "not measured: it is not installed", "", "", "", ""))
    return table((what, "p50", "p99", "its processor time", "added at p50", "goal"), rows)


def _head(version: str) -> str:
    return f"""\
# The proxy

`make bench ARGS="--only proxy"` on {datetime.now(UTC):%Y-%m-%d}: {machine()}; load of the machine:
{os.getloadavg()[0]:.1f}. {version}

A scripted upstream answers at once, so that what is left is what stands before it. All are asked in turns over one
connection each, and are processes of their own with one worker on the machine that asks. With a desk a valid call
costs one submit more; the same submit is made in its turn as well, straight to the service."""


def _version(peers: Path | None) -> str:
    command = [str(peers), "-c", "from importlib.metadata import version; print('LiteLLM', version('litellm') + '.')"]
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return "LiteLLM is not installed."


@contextmanager
def _proxy(url: str, desk: str = "", key: str = "") -> Iterator[Place]:
    port = free_port()
    command = [sys.executable, "-m", "retrycontract", "proxy", "--upstream", url, "--listen", f"127.0.0.1:{port}",
               "--mode", "enforce", *(["--url", desk] if desk else [])]  # fmt: skip
    with _started(command, port, {"RETRYCONTRACT_API_KEY": key}) as process:
        yield port, process


@contextmanager
def _litellm(program: Path, url: str) -> Iterator[Place]:
    port = free_port()
    model = {"model_name": "m-1", "litellm_params": {"model": "openai/m-1", "api_base": f"{url}/v1", "api_key": "none"}}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as written:
        written.write(json.dumps({"model_list": [model]}))  # JSON is YAML
        written.flush()
        command = [str(program), "--config", written.name, "--host", "127.0.0.1", "--port", str(port)]
        with _started(command, port, LITELLM_SETTINGS) as process:
            yield port, process


@contextmanager
def _started(command: list[str], port: int, environment: Mapping[str, str]) -> Iterator[int]:
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            until = monotonic() + START_SECONDS
            while not _answers(port):
                assert process.poll() is None, f"{command[0]} has ended"
                assert monotonic() < until, f"{command[0]} does not answer"
                sleep(0.2)
            yield process.pid
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        QUESTIONS[CALL].seconds(connection)
    except (OSError, AssertionError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True

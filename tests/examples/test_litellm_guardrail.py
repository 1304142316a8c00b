"""LiteLLM's own proxy, whose guardrail asks the running service about every tool call."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.loops.wire import answering, openai_says
from tests.serving.desk import Desk
from tests.serving.servers import free_port
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

pytestmark = [pytest.mark.processes, pytest.mark.soak]

MASTER = "sk-of-the-tests-2f9c4d71b8"
SCHEMA = {
    "type": "object",
    "properties": {"origin": {"type": "string", "pattern": "^[A-Z]{3}$"}},
    "required": ["origin"],
}
TOOLS = [{"type": "function", "function": {"name": "book_flight", "parameters": SCHEMA}}]


@contextmanager
def gateway(python: Path, folder: Path, model: str, desk: str, key: str) -> Iterator[Any]:
    """Run LiteLLM's proxy with the guardrail of the documents, and give what asks it."""
    litellm = {"model": "openai/m", "api_base": f"{model}/v1", "api_key": "none"}
    guardrail = {
        "guardrail": "generic_guardrail_api", "mode": "post_call", "default_on": True,
        "api_base": f"{desk}/guardrails", "api_key": key, "streaming_end_of_stream_only": True,
    }  # fmt: skip
    config = {
        "model_list": [{"model_name": "m", "litellm_params": litellm}],
        "general_settings": {"master_key": MASTER},
        "guardrails": [{"guardrail_name": "retrycontract", "litellm_params": guardrail}],
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    port = free_port()

    def ask(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        headers = {"Authorization": f"Bearer {MASTER}", "Content-Type": "application/json"}
        headers["x-litellm-trace-id"] = "conversation-1"
        try:
            connection.request(method, path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return 0, None
        finally:
            connection.close()

    command = [
        python.with_name("litellm"),
        "--config",
        folder / "config.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with (folder / "log").open("w") as log:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "LITELLM"))}
        process = subprocess.Popen(
            command, cwd=folder, env=kept | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}, stdout=log, stderr=log
        )
    try:
        eventually(lambda: process.poll() is not None or ask("GET", "/health/liveliness")[0] == 200, within=180)
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        yield ask
    finally:
        process.terminate()
        process.wait(60)


def test_litellms_gateway_blocks_wrong_calls_until_a_persons_hint_has_helped(
    service: Service, keys: Iterator[str], desk: Desk, litellms_python: Path, tmp_path: Path
) -> None:
    agent = AgentClient(service, next(keys))
    agent.register("book_flight", SCHEMA)
    wrong, right = (openai_says(None, ("book_flight", {"origin": origin})) for origin in ("Zurich", "ZRH"))
    request = {"model": "m", "messages": [{"role": "user", "content": "A flight, please."}], "tools": TOOLS}
    with (
        answering(wrong, wrong, wrong, wrong, right, openai_says("Done.")) as model,
        gateway(litellms_python, tmp_path, model.url, service.url, agent.key) as ask,
    ):
        for number in (1, 2, 3):
            status, answer = ask("POST", "/v1/chat/completions", request)
            assert status == 400, answer
            assert f"(attempt {number}/3)" in answer["error"]["message"]
            assert "/origin (VAL-007)" in answer["error"]["message"]
        (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
        desk.answer(call["call_id"], text="Airports have IATA codes.")
        assert "> Airports have IATA codes." in ask("POST", "/v1/chat/completions", request)[1]["error"]["message"]
        status, answer = ask("POST", "/v1/chat/completions", request)
        assert status == 200, answer
        made = answer["choices"][0]["message"]["tool_calls"][0]["function"]
        assert json.loads(made["arguments"]) == {"origin": "ZRH"}
        assert ask("POST", "/v1/chat/completions", request)[1]["choices"][0]["message"]["content"] == "Done."
        assert agent.send("GET", f"/calls/{call['call_id']}").body["state"] == "valid"

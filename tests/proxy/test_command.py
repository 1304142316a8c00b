"""The command `proxy` as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.proxy.chat import PATH, asking, call, says, tool
from tests.proxy.upstream import RIGHT, WRONG, upstream
from tests.serving.servers import free_port
from tests.serving.service import ROOT, Service
from tests.serving.threads import eventually

pytestmark = pytest.mark.processes
SECRET = "sk-proj-" + "Zq8" * 12


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/retrycontract").status_code == 200
    except httpx2.HTTPError:
        return False


def test_a_key_that_the_service_refuses_is_told_at_the_start(service: Service) -> None:
    key = {"RETRYCONTRACT_API_KEY": "rc_00000000_" + "x" * 32}
    with subprocess.Popen(
        [sys.executable, "-m", "retrycontract", "proxy", "--upstream", "http://127.0.0.1:9", "--url", service.url,
         "--listen", f"127.0.0.1:{free_port()}"],
        cwd=ROOT, env=os.environ | key, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert "retrycontract proxy on" in process.stderr.readline()
        assert "The service refuses the key in RETRYCONTRACT_API_KEY: " in process.stderr.readline()
        process.send_signal(signal.SIGTERM)


def test_the_command_mends_a_call_logs_no_key_and_ends_on_a_signal(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETRYCONTRACT_")}
    with upstream(says(None, call("read_file", WRONG)), says(None, call("read_file", RIGHT))) as up:
        process = subprocess.Popen(
            [sys.executable, "-m", "retrycontract", "proxy", "--upstream", f"{up.url}/v1", "--mode", "enforce",
             "--listen", f"127.0.0.1:{port}"],
            cwd=tmp_path, env=kept | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: answers(url))
            answer = httpx2.post(
                f"{url}{PATH}?key={SECRET}", json=asking(tool()), headers={"Authorization": f"Bearer {SECRET}"}
            )
            assert answer.headers["x-retrycontract-outcome"] == "repaired"
            assert up.asked[0].target == f"{PATH}?key={SECRET}", "the version stands in the address once"
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
    assert SECRET not in said
    assert f"http://127.0.0.1:{port}" in said
    assert "repaired" in said
    assert process.returncode == 0

"""The whole way to an identity provider that nobody here wrote, and back, with the service as a process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.serving.servers import free_port, wait_for_port
from tests.serving.service import Service


@pytest.mark.processes
@pytest.mark.soak
def test_a_person_logs_in_at_a_provider_of_others_and_out_again(tmp_path: Path) -> None:
    port = free_port()
    there = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port),
         "--user-claims", '{"sub": "noor@example.com", "preferred_username": "noor", "groups": ["desk"]}'],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    service = Service(
        tmp_path / "data",
        {
            "RETRYCONTRACT_OIDC_ISSUER": f"http://localhost:{port}",
            "RETRYCONTRACT_OIDC_CLIENT_ID": "desk",
            "RETRYCONTRACT_OIDC_CLIENT_SECRET": "secret",
            "RETRYCONTRACT_OIDC_ROLES": "desk=operator",
            "RETRYCONTRACT_PASSWORD_LOGIN": "false",
        },
    )
    try:
        wait_for_port(port, there)
        service.start()
        with httpx2.Client(follow_redirects=True, base_url=service.url) as browser:
            page = browser.get("/tools/")
            assert 'type="password"' not in page.text
            asked = browser.get("/login/provider/", params={"next": "/tools/"})
            assert asked.url.port == port
            back = browser.post(asked.url, data={"sub": "noor@example.com"})
            assert (back.url.port, back.url.path, back.status_code) == (service.port, "/tools/", 200)
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get("/settings/").text)
            assert token is not None
            out = browser.post("/logout/", data={"csrfmiddlewaretoken": token[1]})
            assert (out.url.path, out.status_code) == ("/login/", 200)
            assert browser.get("/tools/").url.path == "/login/"
            assert browser.get("/login/provider/leave/").url.port == port
        assert "noor" not in service.log
        assert service.stop() == 0
    finally:
        there.terminate()
        there.wait(20)

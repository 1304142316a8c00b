"""Answer 20 mixed calls at a desk by keys alone, and count: `python -m benchmarks.keystrokes [--checkout FOLDER]`.

Eight calls wait with the same two mistakes, six with a near miss that mends them, six for which words must be written.
Whatever the page offers is used: one answer for a group, the suggested fix, words. A chord is one key, words are none.
With `--checkout` the service of another version's folder is driven, by the keys that it has.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import ARGUMENTS, PROGRAMS
from tests.serving.servers import free_port

ROOT = Path(__file__).resolve().parent.parent
CODE = {"type": "string", "pattern": "^[A-Z]{3}$"}
FLIGHT = {"type": "object", "properties": {"from": CODE, "to": CODE}, "required": ["from", "to"]}
GROUPED, NEAR, WRITTEN = 8, 6, 6
MOST_STEPS = 200
PATIENCE_MS = 60_000


class Driver:
    """Press keys, count them, and wait for what they do."""

    def __init__(self, page: Page) -> None:
        self.page, self.keys = page, 0

    def press(self, *keys: str) -> None:
        """Press one key after the other."""
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def leave(self, *keys: str) -> None:
        """Press the last of some keys and wait for the page that comes."""
        with self.page.expect_navigation(timeout=PATIENCE_MS):
            self.press(*keys)

    def write(self, text: str) -> None:
        """Write an answer and send it, and go on to what comes next."""
        self.press("g")
        self.page.wait_for_function("document.activeElement.id === 'id_text'", timeout=PATIENCE_MS)
        self.page.keyboard.type(text)
        self.leave("Control+Enter")

    def go_on(self) -> bool:
        """Answer what the page shows, or open the next call; False when nothing waits."""
        page = self.page
        if not page.locator("#answer, form[data-answer]").count():
            if page.locator("#queue").count() == 0:
                self.leave("n" if page.locator("[data-key=n]").count() else "i")
                return True
            if not page.locator("#queue .row-link").count():
                return False
            self.press("j")
            if page.locator(".row-group, .group-head, [data-all]").count():
                self.leave("a")
            else:
                self.leave("n")
            return True
        if page.locator("button[name=send_fix]").count():
            self.leave("f")
        elif page.locator("[data-key=u]:visible").count():
            self.press("u")
            page.wait_for_load_state("networkidle")
            self.leave("Control+Enter")
        else:
            self.write("Both are codes of three capital letters: ZRH, LHR.")
        return True


def main() -> None:
    """Drive the desk, and print keys and processor seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, default=ROOT)
    with TemporaryDirectory() as folder, _service(parser.parse_args().checkout, Path(folder)) as (url, pid, key):
        calls = _plant(url, key)
        program = next(filter(None, map(which, PROGRAMS)), None)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(PATIENCE_MS)
            page.goto(f"{url}/login/")
            page.get_by_label("User name").fill("operator")
            page.get_by_label("Password").fill((Path(folder) / "operator_password").read_text().strip())
            page.get_by_role("button", name="Log in", exact=True).click()
            page.wait_for_selector("#queue .row-link")
            driver, used = Driver(page), _processor_seconds(pid)
            for _ in range(MOST_STEPS):
                if not driver.go_on():
                    break
            used = _processor_seconds(pid) - used
            browser.close()
        time.sleep(12)  # until what is held is given
        answered = sum(_ask(url, key, f"/calls/{call}")["state"] != "blocked" for call in calls)
        print(f"{answered} of {len(calls)} calls answered: {driver.keys} keys, {used:.2f} s of the service's processor")


@contextmanager
def _service(checkout: Path, folder: Path) -> Iterator[tuple[str, int, str]]:
    port = free_port()
    command = [sys.executable, "manage.py", "up", "--no-demo", "--port", str(port), "--data-dir", str(folder)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=checkout, **quiet) as process:
        try:
            for _ in range(600):
                time.sleep(0.2)
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/login/").close()
                    break
                except OSError:
                    continue
            environment = os.environ | {"RETRYCONTRACT_DATA_DIR": str(folder)}
            made = [sys.executable, "manage.py", "create_agent", "travel"]
            told = subprocess.run(made, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
            yield f"http://127.0.0.1:{port}", process.pid, told.stdout.split()[-1]
        finally:
            process.terminate()


def _plant(url: str, key: str) -> list[str]:
    """Have the calls Blocked: those of the group first, so that they wait longest."""
    wrong = [("book_flight", FLIGHT, {"from": city, "to": "London"}) for city in ("Zurich", "Bern") * (GROUPED // 2)]
    for number in range(NEAR):
        one = {"type": "object", "properties": {f"n{number}": {"type": "integer"}}, "required": [f"n{number}"]}
        wrong.append((f"set_{number}", one, {f"n{number}": "4"}))
    for number in range(WRITTEN):
        one = {"type": "object", "properties": {f"c{number}": CODE}, "required": [f"c{number}"]}
        wrong.append((f"look_{number}", one, {f"c{number}": "Zurich"}))
    calls = []
    for index, (tool, schema, arguments) in enumerate(wrong):
        _ask(url, key, f"/tools/{tool}", {"input_schema": schema}, "PUT")
        body: dict[str, Any] = {"tool": tool, "tool_call_id": f"call_{index}", "arguments": arguments}
        for _ in range(3):
            verdict = _ask(url, key, "/calls", body)
            body["call_id"] = verdict["call_id"]
        calls.append(verdict["call_id"])
    return calls


def _ask(url: str, key: str, path: str, body: Any = None, method: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/api/v1{path}", data, headers, method=method)  # noqa: S310 - our own service
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return json.load(answer)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()

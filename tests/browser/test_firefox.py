"""The operator's keys in Debian's Firefox, driven over the protocol of its own: a group, undo and the search."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.conf import settings

from retrycontract.store.models import Guidance, HeldAnswer
from tests.browser.conftest import ACTION_TIMEOUT_MS, wait_for_the_server
from tests.browser.test_sending import make_flights
from tests.factories import PASSWORD, make_user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_django.live_server_helper import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.django_db(transaction=True)]

PROGRAMS: Final = ("firefox-esr", "firefox")
START_SECONDS: Final = 120
READY: Final = "document.readyState === 'complete'"
CONTROL, ENTER, TAB = "\ue009", "\ue007", "\ue004"
WORDS: Final = "Use first, and IATA codes: LHR, CDG, FCO."


class Firefox:
    """Drive one Firefox over Marionette: JSON with its length before it, on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._reader = self._socket.makefile("rb")
        self._read()  # its greeting
        self._number = 0
        self.ask("NewSession", capabilities={})

    def ask(self, command: str, **parameters: Any) -> Any:
        """Have a command of WebDriver done; gives what it gives."""
        self._number += 1
        asked = json.dumps([0, self._number, f"WebDriver:{command}", parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(asked), asked))
        _, _, error, told = self._read()
        assert error is None, error
        return told["value"] if isinstance(told, dict) and "value" in told else told

    def press(self, *keys: str) -> None:
        """Press one key after the other; of a key of two signs the first is held."""
        for key in keys:
            down = [{"type": "keyDown", "value": sign} for sign in key]
            up = [{"type": "keyUp", "value": sign} for sign in reversed(key)]
            self.ask("PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": down + up}])

    def wait_for(self, condition: str) -> None:
        """Wait until a page is loaded, scripts and all, of which an expression is true."""
        end, last = time.monotonic() + ACTION_TIMEOUT_MS / 1000, "nothing"
        while time.monotonic() < end:
            try:
                if self.ask("ExecuteScript", script=f"return {READY} && Boolean({condition})", args=[]):
                    return
            except AssertionError as error:  # the page is just being left
                last = str(error)
            time.sleep(0.05)
        shown = self.ask("ExecuteScript", script="return location + '\\n' + document.body.innerText", args=[])
        pytest.fail(f"{condition} did not come true ({last}) on {shown}")

    def close(self) -> None:
        self._reader.close()
        self._socket.close()

    def _read(self) -> Any:
        length = b""
        while (sign := self._reader.read(1)) not in (b":", b""):
            length += sign
        return json.loads(self._reader.read(int(length)))


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    """Start the system's own Firefox, headless, with a profile of its own."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Firefox on PATH")
    of_others, port = set(threading.enumerate()), tmp_path / "MarionetteActivePort"
    (tmp_path / "user.js").write_text('user_pref("marionette.port", 0);')
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not (port.exists() and port.read_text()):
                assert process.poll() is None, "Firefox ended"
                assert time.monotonic() < end, "Firefox did not start"
                time.sleep(0.05)
            with closing(Firefox(int(port.read_text()))) as driven:
                yield driven
        finally:
            process.terminate()
    wait_for_the_server(of_others)


def test_a_group_is_answered_taken_back_and_found_by_keys(
    live_server: LiveServer, firefox: Firefox, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding = settings.RETRYCONTRACT.model_copy(update={"answer_hold_seconds": 60})
    monkeypatch.setattr(settings, "RETRYCONTRACT", holding)
    make_user("mia")
    tool = make_flights(14)[0].tool
    firefox.ask("Navigate", url=f"{live_server.url}/login/")
    firefox.wait_for("document.activeElement.name === 'username'")
    firefox.press(*"mia", TAB, *PASSWORD, ENTER)
    firefox.wait_for("document.querySelector('.row-group')?.innerText.includes('/destination')")
    firefox.press("j")
    firefox.wait_for("document.activeElement.matches('.row-group *')")
    firefox.press("a")
    firefox.wait_for("['/cabin', '/destination', 'Paris'].every((one) => document.body.innerText.includes(one))")
    firefox.wait_for("document.querySelector('#id_text')")
    firefox.press("g")
    firefox.wait_for("document.activeElement.id === 'id_text'")
    firefox.press(*WORDS, CONTROL + ENTER)
    firefox.wait_for("document.body.innerText.includes('for 14 calls')")
    assert HeldAnswer.objects.count() == 14
    firefox.press("z")
    firefox.wait_for(f"document.querySelector('#id_text')?.value === {json.dumps(WORDS)}")
    assert not HeldAnswer.objects.exists()
    assert not Guidance.objects.exists()
    firefox.press(CONTROL + "k")
    firefox.wait_for("document.activeElement.matches('dialog[open] input')")
    firefox.press(*"flight")
    firefox.wait_for("document.querySelector('dialog[open]').innerText.includes('book_flight')")
    firefox.press(ENTER)
    firefox.wait_for(f"location.pathname === '/tools/{tool.pk if tool else None}/'")

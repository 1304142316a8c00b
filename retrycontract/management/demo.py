"""What a first look needs: an operator, a demo agent with tools, and the example agent at work."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from select import select
from threading import Thread
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.navigation import Role
from retrycontract.management.commands.create_operator import create_operator
from retrycontract.store.models import Call, Door
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.people.admit import admit_agent, issue_key, with_a_way_in
from retrycontract.usecases.tools.register_tool import ToolSettings, register_tool

OPERATOR = "operator"
AGENT = "demo"
ACTOR = "up"  # the command that makes it, in the trail
SESSION = "demo-flight"
QUIET_SECONDS = 1.5  # of the demo agent: it waits

BOOK_FLIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "date": {"type": "string", "format": "date"},
        "cabin": {"enum": ["economy", "premium", "business", "first"]},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["origin", "destination", "date", "passengers"],
    "additionalProperties": False,
}
TOOLS = {"book_flight": (BOOK_FLIGHT, "Book seats on a flight.")}


def first_operator() -> str | None:
    """Make the first operator; returns the password, or None when somebody has a way in already."""
    if with_a_way_in().exists() or User.objects.filter(username__iexact=OPERATOR).exists():
        return None
    with write_transaction():  # an operator whose password nobody was told would keep everybody out
        password = create_operator(OPERATOR, Role.OPERATOR)
        write_private(settings.RETRYCONTRACT.data_dir / "operator_password", password)
    return password


def demo_agent(now: datetime) -> None:
    """Make the demo agent with its key and its tools, once."""
    agent = admit_agent(AGENT, now=now, actor=ACTOR, door=Door.COMMAND)
    for name, (schema, description) in TOOLS.items():
        register_tool(agent, name, schema, now=now, settings=ToolSettings(description=description))
    if not agent.keys.exists() or not _agent_key().exists():
        write_private(_agent_key(), issue_key(agent, now=now, actor=ACTOR, door=Door.COMMAND)[1])


def example_is_due() -> bool:
    """Tell whether the example agent is there and has not finished its call yet."""
    return example_script() is not None and not any(
        call.has_ended for call in Call.objects.filter(agent__name=AGENT, session_id=SESSION)
    )


def example_script() -> Path | None:
    """Find the example agent: in a clone among the examples, in an installed service beside the worker."""
    base = Path(settings.BASE_DIR)
    places = (base / "examples" / "agent.py", base / "worker" / "demo_agent.py")
    return next((place for place in places if place.exists()), None)


def start_example(url: str, *, out: Any, then: str) -> subprocess.Popen[bytes] | None:
    """Run the example agent beside the service, in the same terminal, and say `then` once it waits for a person.

    None where it was left out.
    """
    script = example_script()
    if script is None:
        return None
    key = _agent_key().read_text(encoding="utf-8").strip()
    environment = os.environ | {
        "RETRYCONTRACT_URL": url,
        "RETRYCONTRACT_API_KEY": key,
        "RETRYCONTRACT_SESSION": SESSION,
    }
    # A session of its own: Ctrl-C reaches the service, which then ends the example.
    process = subprocess.Popen(
        [sys.executable, "-u", str(script)], env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    Thread(target=_repeat, args=(process, out, then), name="retrycontract-demo", daemon=True).start()
    return process


def _repeat(process: subprocess.Popen[bytes], out: Any, then: str) -> None:
    """Write what the agent says with a word before it, so that it is told from the log."""
    before = "\x1b[36mdemo agent │\x1b[0m " if out.isatty() else "demo agent │ "
    assert process.stdout is not None
    rest = b""
    while True:
        if then and not select([process.stdout], [], [], QUIET_SECONDS)[0]:
            out.write(then)
            then = ""
        chunk = os.read(process.stdout.fileno(), 65_536)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            out.write(f"{before}{line.decode(errors='replace')}")
        out.flush()
        if not chunk:
            return


def _agent_key() -> Path:
    folder: Path = settings.RETRYCONTRACT.data_dir
    return folder / "demo_agent_key"


def write_private(path: Path, text: str) -> None:
    """Write a secret that only its owner may read."""
    # Removed first: the mode counts only for a file that is made, and O_EXCL follows no link that somebody has put
    # there.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")

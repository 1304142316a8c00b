"""One secret in every place that somebody can write to, and every way by which it might get out."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from tests.desk import Desk
from tests.receivers import Mailbox, Receiver
from tests.servers import PASSWORD, PostgreSQL, Redis
from tests.service import AgentClient, Service

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"region": {"enum": ["eu", "us"]}}, "required": ["region"]}


def canary(place: str) -> str:
    """Make the secret of a place: a GitHub token that no other place has."""
    digest = hashlib.sha256(place.encode()).digest() * 2
    return "ghp_" + "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:36])


def sent(**fields: Any) -> Callable[[str], dict[str, Any]]:
    """Describe a submission; `@@` in a text stands for the secret."""
    return lambda secret: json.loads(json.dumps(fields).replace("@@", secret))


# What an agent submits, each in a call of its own that is Blocked at once.
SUBMITTED: dict[str, Callable[[str], dict[str, Any]]] = {
    "a value": sent(arguments={"region": "@@"}),
    "a value deep inside": sent(arguments={"region": [{"a": ["-@@-"]}]}),
    "a key": sent(arguments={"@@": 1}),
    "a pointer": sent(arguments={"region": {"@@": {"@@": 1}}}),
    "broken text": sent(raw='{"region": "@@'),
    "text around JSON": sent(raw='My key @@ says {"region": "eu"}'),
    "the agent's rejection": sent(arguments={"region": "eu"}, callback_error="@@ is refused"),
    "a value of the context": sent(arguments={}, context={"goal": "use @@"}),
    "a key of the context": sent(arguments={}, context={"@@": 1}),
    "the session": sent(arguments={}, session_id="s-@@"),
    "the task": sent(arguments={}, task_id="@@"),
    "the correlation": sent(arguments={}, correlation_id="@@"),
    "the provider's id": sent(arguments={}, tool_call_id="@@"),
    "the reason for the end": sent(arguments={}, finish_reason="@@"),
    "an unknown tool": sent(arguments={}, tool="note-@@"),
}
# What an author of tools registers, with what is then submitted.
REGISTERED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a tool's name": ("tool-@@", {}, {}),
    "a tool's description": ("described", {"description": "Send @@ along."}, {}),
    "an allowed value": ("allowed", {"input_schema": {"properties": {"a": {"enum": ["@@", "b"]}}}}, {"a": "c"}),
    "a constant": ("constant", {"input_schema": {"properties": {"a": {"const": "@@"}}}}, {"a": "c"}),
    "a default": ("default", {"input_schema": {"properties": {"a": {"default": "@@", "type": "null"}}}}, {"a": 1}),
    "a pattern": ("pattern", {"input_schema": {"properties": {"a": {"pattern": "^@@$"}}}}, {"a": "c"}),
    "a hint": ("hint", {"input_schema": {"properties": {"a": {"type": "null", "x-hint": "try @@"}}}}, {"a": "c"}),
    "a description inside": (
        "inside", {"input_schema": {"properties": {"a": {"description": "@@"}}, "required": ["a"]}}, {}),
    "a title": ("titled", {"input_schema": {"title": "@@", "required": ["a"]}}, {}),
    "an example": ("example", {"input_schema": {"examples": [{"a": "@@"}], "required": ["a"]}}, {}),
    "a definition's name": ("defined", {"input_schema": {"$defs": {"@@": {"const": 1}}, "$ref": "#/$defs/@@"}}, {}),
    "a field's name": ("named", {"input_schema": {"properties": {"@@": {}}, "required": ["@@"]}}, {}),
}  # fmt: skip
# What an operator types.
ANSWERED: dict[str, dict[str, str]] = {
    "a hint for the agent": {"decision": "hint", "text": "Use @@."},
    "a reason to reject": {"decision": "reject", "text": "Not with @@."},
    "a reason to accept": {"decision": "accept", "text": "As @@ says."},
    "corrected arguments": {"decision": "corrected", "arguments": '{"region": "eu", "note": "@@"}'},
}
# What is read and not kept, with or without the sanitiser.
PASSING = ("an idempotency key", "an address", "a filter", "a search", "a user's name", "a password", "a dry run",
           "a refused schema", "a trace", "a version", "a cursor", "a field of a request", "a preference",
           "a type of events", "an acknowledgement", "an agent's name")  # fmt: skip
PLACES = (*SUBMITTED, *REGISTERED, *ANSWERED, *PASSING)


@dataclass
class Life:
    """A service in which a secret was planted in every place, and what came out by each way."""

    service: Service
    receiver: Receiver
    mailbox: Mailbox
    ways: dict[str, bytes] = field(default_factory=dict)

    def live(self) -> None:
        """Plant, answer, read everything there is to read, and keep it by the way it came."""
        self.agent = AgentClient(self.service, self.service.new_key("gardener"))
        self.desk = Desk(self.service)
        self.desk.log_in("ada", self.service.new_operator("ada", "admin"))
        self._listen()
        answers = [*self._register(), *self._submit(), *self._pass_by()]
        pages = list(self._answer())
        answers += list(self._read())
        self.ways["the API"] = "\n".join(answers).encode()
        pages += [page for path, page in self._crawl() if not path.startswith("/admin/")]
        self.ways["the dashboard"] = "\n".join(pages).encode()
        self.ways["the admin"] = "\n".join(page for path, page in self._crawl("/admin/")).encode()

    def found(self, way: str) -> set[str]:
        """Name the places whose secret, or most of it, came out by a way."""
        text = self.ways[way]
        return {place for place in PLACES if canary(place)[4:30].encode() in text}

    def _listen(self) -> None:
        form = {"agent": "", "address": self.receiver.url, "events": ["call.blocked", "guidance.given"]}
        self.desk.submit("/admin/retrycontract/webhookendpoint/add/", "address", form)

    def _register(self) -> Iterator[str]:
        yield self.agent.register("deploy", SCHEMA, max_attempts=1).text
        yield self.agent.register("free", SCHEMA, max_attempts=1, strict=False).text
        for place, (name, given, arguments) in REGISTERED.items():
            tool, body = _filled(name, place), _filled({"input_schema": SCHEMA, "max_attempts": 1} | given, place)
            yield self.agent.send("PUT", f"/tools/{quote(tool)}", body).text
            verdict = self.agent.submit(tool, f"call of {name.replace('@@', '')}", arguments)
            assert verdict["status"] == "blocked", (place, verdict)
            yield json.dumps(verdict)

    def _submit(self) -> Iterator[str]:
        for number, (place, fields) in enumerate(SUBMITTED.items()):
            body = {"tool": "deploy", "tool_call_id": f"id {number}", "render": "openai"} | fields(canary(place))
            for _ in range(3):  # an unknown tool has no budget of its own
                answer = self.agent.send("POST", "/calls", body)
                if answer.body["status"] == "blocked":
                    break
            assert answer.body["status"] == "blocked", answer.text
            # The agent's own id comes back to it, as it must, and nothing else does.
            assert answer.body["tool_result"].pop("tool_call_id") == body["tool_call_id"]
            assert answer.body["rendered"].pop("tool_call_id") == body["tool_call_id"]
            yield json.dumps(answer.body)

    def _pass_by(self) -> Iterator[str]:
        def send(place: str, method: str, path: str, body: Any = None, **headers: str) -> str:
            told = {name.replace("_", "-"): canary(place) for name in headers}
            return self.agent.send(method, path.replace("@@", canary(place)), _filled(body, place), headers=told).text

        one = {"tool": "deploy", "tool_call_id": "passing", "arguments": {"region": "eu"}}
        yield send("an idempotency key", "POST", "/calls", one, Idempotency_Key="")
        yield send("a trace", "POST", "/calls", one | {"tool_call_id": "traced"}, traceparent="")
        yield send("a version", "POST", "/calls", one | {"version": "@@"})
        yield send("a field of a request", "POST", "/calls", one | {"@@": 1, "turn": "@@"})
        yield send("a preference", "GET", "/calls", Prefer="")
        yield send("a cursor", "GET", "/calls?cursor=@@")
        yield send("a type of events", "GET", "/events?types=@@")
        yield send("an address", "GET", "/calls/@@")
        yield send("an address", "GET", "/@@/@@")
        filtered = self.agent.send("GET", f"/calls?session_id={canary('a filter')}")
        assert filtered.body == {"calls": [], "next": None}
        dry = {"input_schema": SCHEMA, "arguments": {"region": "@@"}, "tool": "@@"}
        yield send("a dry run", "POST", "/check", dry, Idempotency_Key="")
        listed = [{"name": "@@", "input_schema": {"type": "@@", "properties": {"@@": {"type": "no"}}}}]
        yield send("a refused schema", "POST", "/tools/import", listed, Idempotency_Key="")
        yield send("a refused schema", "PUT", "/tools/@@", {"input_schema": listed[0]["input_schema"]})

    def _answer(self) -> Iterator[str]:
        for number, (place, fields) in enumerate(ANSWERED.items()):
            verdict = self.agent.submit("free", f"answer {number}", {"region": "xx"})
            assert verdict["status"] == "blocked", verdict
            typed = {name: text.replace("@@", canary(place)) for name, text in fields.items()}
            page = self.desk.answer(verdict["call_id"], **typed)
            # A form that was refused gives back what was typed, to the person who typed it.
            yield "" if place == "corrected arguments" and "Not sent" in page else page
            yield self.agent.send("GET", f"/calls/{verdict['call_id']}/guidance").text
            if number == 0:
                told = {"words": canary("an acknowledgement")}
                yield self.agent.send("POST", f"/calls/{verdict['call_id']}/guidance/ack", told).text
        # A name is shown everywhere, so one that holds a secret is refused; its form gives back what was typed.
        self.desk.submit("/admin/retrycontract/agent/add/", "name", {"name": canary("an agent's name")})
        self.desk.get(f"/?q={canary('a search')}")
        stranger = Desk(self.service)
        fields = {"username": canary("a user's name"), "password": canary("a password")}
        stranger.submit("/login/", "password", fields)

    def _read(self) -> Iterator[str]:
        answer = self.agent.send("GET", "/calls?limit=100")
        yield answer.text
        for call in answer.body["calls"]:
            for path in ("", "/guidance", "/wait?for=verdict", "/wait?for=verdict&render=anthropic"):
                yield self.agent.send("GET", f"/calls/{call['call_id']}{path}", headers={"Prefer": "wait=0"}).text

    def _crawl(self, start: str = "/") -> Iterator[tuple[str, str]]:
        """Read every page that the pages lead to."""
        waiting, seen = [start, *(["/?show=all", "/?show=ended"] if start == "/" else [])], {start}
        while waiting:
            path = waiting.pop()
            try:
                page = self.desk.get(path)
            except AssertionError:  # what may not be read, such as the form to add a call
                continue
            yield path, page
            links = {unquote(link) for link in re.findall(r'href="(/[^"?#]*)"', page)}
            fresh = {link for link in links if link.startswith(start) and not _leads_away(link)} - seen
            waiting += sorted(fresh)
            seen |= fresh


def _leads_away(link: str) -> bool:
    return "/static/" in link or link.endswith((".svg", "/jsi18n/")) or "logout" in link


def _filled(value: Any, place: str) -> Any:
    return None if value is None else json.loads(json.dumps(value).replace("@@", canary(place)))


def files_of(service: Service) -> dict[str, bytes]:
    """Read the database's files, the write-ahead log among them, and the service's own log."""
    files = {path.name: path.read_bytes() for path in service.data_dir.rglob("*") if path.is_file()}
    kept = b"".join(content for name, content in files.items() if name.startswith("retrycontract.sqlite3"))
    return {"the log": files["service.log"], "the database's files": kept}


def rows_of(server: PostgreSQL, url: str) -> dict[str, bytes]:
    """Read every row of every table, and the log in which the server wrote every statement."""
    import psycopg

    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [row for (name,) in names for row in connection.execute(f'SELECT t::text FROM "{name}" t')]  # type: ignore[arg-type]
    return {"the database's rows": repr(rows).encode(), "PostgreSQL's log": server.log.encode()}


class Monitor:
    """Note every command that a Redis server is sent."""

    def __init__(self, redis: Redis) -> None:
        self.heard = b""
        self._socket = socket.create_connection(("127.0.0.1", redis.port))
        self._socket.sendall(f"AUTH {PASSWORD}\r\nMONITOR\r\n".encode())
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while heard := self._socket.recv(65_536):
            self.heard += heard

    def stop(self) -> bytes:
        """Stop listening and give what was heard."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()
        return self.heard


def keys_of(redis: Redis) -> bytes:
    """Dump every key of a Redis server."""
    import redis as client

    with client.Redis.from_url(redis.url) as connection:
        return b"".join(key + (connection.dump(key) or b"") for key in connection.scan_iter())

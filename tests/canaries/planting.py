"""One secret in every place that somebody can write to, and every way by which it might get out."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import quote, unquote

from tests.canaries.places import (
    ANSWERED,
    NOT_KEPT,
    OPENED,
    PLACES,
    REGISTERED,
    SCHEMA,
    SEARCHED,
    SENT,
    SUBMITTED,
    TYPED,
    WRITTEN,
    canary,
    filled,
)
from tests.serving.desk import Desk
from tests.serving.receivers import Mailbox, Receiver
from tests.serving.servers import PASSWORD, PostgreSQL, Redis
from tests.serving.service import AgentClient, Service

# Forms that give back what was typed, to the person who typed it, when it is refused or may be sent to more.
GIVEN_BACK = {"corrected arguments", "an answer to a group"}


@dataclass
class Life:
    """A service in which a secret was planted in every place, and what came out by each way."""

    service: Service
    receiver: Receiver
    mailbox: Mailbox
    ways: dict[str, bytes] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def live(self) -> None:
        """Plant, answer, read everything there is to read, and keep it by the way it came."""
        self.agent = AgentClient(self.service, self.service.new_key("gardener"))
        self.desk = Desk(self.service)
        self.desk.log_in("ada", self.service.new_operator("ada", "admin"))
        self._listen()
        answers = [*self._register(), *self._submit(), *self._pass_by()]
        pages = [*self._type(), *self._answer()]
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
        self.desk.submit("/settings/webhooks/new/", "address", form)

    def _register(self) -> Iterator[str]:
        yield self.agent.register("deploy", SCHEMA, max_attempts=1).text
        yield self.agent.register("free", SCHEMA, max_attempts=1, strict=False).text
        yield self.agent.register("edited", SCHEMA).text
        yield self.agent.register("reply", SCHEMA, max_attempts=1, kind="agent_response").text
        yield self.agent.register("extract", SCHEMA, max_attempts=1, kind="extraction").text
        yield self.agent.register("write", WRITTEN, max_attempts=1, kind="source_file").text
        for place, (name, given, arguments) in REGISTERED.items():
            tool, body = filled(name, place), filled({"input_schema": SCHEMA, "max_attempts": 1} | given, place)
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
                body["call_id"] = answer.body["call_id"]
            assert answer.body["status"] == "blocked", answer.text
            # The agent's own id comes back to it, as it must, and nothing else does.
            assert answer.body["tool_result"].pop("tool_call_id") == body["tool_call_id"]
            assert answer.body["rendered"].pop("tool_call_id") == body["tool_call_id"]
            yield json.dumps(answer.body)

    def _pass_by(self) -> Iterator[str]:
        for place, method, path, body, headers in SENT:
            body = body.replace(b"@@", canary(place).encode()) if isinstance(body, bytes) else filled(body, place)
            yield self.agent.send(method, filled(path, place), body, headers=filled(headers, place)).text
        verdict = self.agent.submit("deploy", "given up", {"region": "xx"})
        told = {"reason": canary("a reason to cancel")}
        yield self.agent.send("POST", f"/calls/{verdict['call_id']}/cancel", told).text

    def _answer(self) -> Iterator[str]:
        for number, (place, fields) in enumerate(ANSWERED.items()):
            verdict = self.agent.submit("free", f"answer {number}", {"region": "xx"})
            assert verdict["status"] == "blocked", verdict
            typed = {name: text.replace("@@", canary(place)) for name, text in fields.items()}
            page = self.desk.answer(verdict["call_id"], **typed)
            yield "" if place in GIVEN_BACK and "Not sent" in page else page
            yield self.agent.send("GET", f"/calls/{verdict['call_id']}/guidance").text
            if number == 0:
                told = {"words": canary("an acknowledgement")}
                yield self.agent.send("POST", f"/calls/{verdict['call_id']}/guidance/ack", told).text

    def _type(self) -> Iterator[str]:
        """Type into every form of the desk and of the admin, and into the addresses of pages."""
        names = self._names()
        for place, (path, with_field, fields) in TYPED.items():
            at, typed = filled(path, place, **names), filled(fields, place, **names)
            page = self.desk.submit(at, with_field, typed) if with_field else self.desk.post(at, typed)
            yield "" if place in GIVEN_BACK else page
            names = self._names()
        # Its title is the beginning of its words: what is cut must be redacted before.
        words = f"Please use the token {canary('words that are kept')} for all that you do from here on."
        self.desk.post(f"/calls/{names['call']}/keep-reply/", {"text": words})
        self.desk.post("/settings/second-factor/", {})
        for place, (path, fields) in NOT_KEPT.items():
            with suppress(AssertionError):  # many a form is refused
                self.desk.post(filled(path, place, **names), filled(fields, place, **names))
        for place, paths in OPENED.items():
            for path in filled(paths, place, **names):
                with suppress(AssertionError):  # its error would name the address
                    yield self.desk.get(path)
        for model in SEARCHED:
            self.desk.get(f"/admin/retrycontract/{model}/?q={canary('a search of the admin')}")
        stranger = Desk(self.service)
        fields = {"username": canary("a user's name"), "password": canary("a password")}
        stranger.submit(f"/login/?next=/{canary('where to go after the login')}", "password", fields)

    def _names(self) -> dict[str, str]:
        """Name what is typed about: a call that is Blocked, a tool, an operator."""
        blocked = self.agent.submit("free", f"typed about {next(self.numbers)}", {"region": "xx"})
        assert blocked["status"] == "blocked", blocked
        (tool,) = set(
            re.findall(r"/retrycontract/tool/(\d+)/change/", self.desk.get("/admin/retrycontract/tool/?q=edited"))
        )
        endpoint = re.findall(r"/settings/webhooks/(ep_\w+)/", self.desk.get("/settings/webhooks/"))[0]
        (user,) = set(re.findall(r"/auth/user/(\d+)/change/", self.desk.get("/admin/auth/user/?q=operator")))
        return {
            "call": blocked["call_id"],
            "tool": tool,
            "user": user,
            "receiver": self.receiver.url,
            "endpoint": endpoint,
        }

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

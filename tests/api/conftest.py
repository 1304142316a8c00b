"""An agent at the API's door, whose every answer is held against the OpenAPI document."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from retrycontract.api.problems import CONTENT_TYPE
from retrycontract.store.models import Agent, ApiKey
from tests.factories import make_agent

PREFIX = "/api/v1"


@dataclass(frozen=True)
class Reply:
    """An answer of the API."""

    status: int
    body: Any
    headers: Any
    text: str

    @property
    def code(self) -> str:
        """Give the stable code of a problem."""
        code: str = self.body["code"]
        return code


@dataclass
class Door:
    """Send requests with a key; what comes back must be as the document declares it."""

    agent: Agent
    key: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def send(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json", **headers: str
    ) -> Reply:
        """Send one request; bytes and text go as they are, everything else as JSON."""
        payload = body if isinstance(body, bytes | str) else json.dumps(body)
        sent = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        has_body = {} if body is None else {"data": payload, "content_type": content_type}
        response = self.client.generic(method, PREFIX + path, headers=sent | headers, **has_body)  # type: ignore[arg-type]
        text = response.content.decode()
        is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
        body_read = events_in(text) if is_stream else json.loads(text) if text else None
        reply = Reply(response.status_code, body_read, response.headers, text)
        check_against_document(method, path, reply)
        return reply

    def get(self, path: str) -> Reply:
        """Read."""
        return self.send("GET", path)

    def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Send a body, or none."""
        return self.send("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Reply:
        """Put a body somewhere."""
        return self.send("PUT", path, body, **options)

    def submit(self, arguments: Any, **fields: Any) -> Reply:
        """Submit an attempt at the tool 'deploy'."""
        return self.post("/calls", {"tool": "deploy", "tool_call_id": "id_1", "arguments": arguments} | fields)


@pytest.fixture
def door(db: None) -> Door:
    """An agent with a key."""
    return open_door(make_agent())


@pytest.fixture
def stranger(db: None) -> Door:
    """Another agent of the same namespace, who shares tools but no calls."""
    agent = make_agent("stranger")
    Agent.objects.filter(pk=agent.pk).update(namespace="deployer")
    agent.refresh_from_db()
    return open_door(agent)


def open_door(agent: Agent) -> Door:
    """Make a key and stand at the door with it."""
    return Door(agent, ApiKey.create_for(agent, timezone.now())[1])


@pytest.fixture
def by_a_worker(settings: Settings) -> None:
    """Nothing is judged at the door."""
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker"})


def frames_in(text: str) -> list[dict[str, str]]:
    """Read the fields of each event of a stream."""
    return [dict(line.split(": ", 1) for line in frame.split("\n")) for frame in text.split("\n\n")[:-1]]


def events_in(text: str) -> list[Any]:
    """Read the `data` of each event of a stream."""
    return [json.loads(frame["data"]) for frame in frames_in(text) if "data" in frame]


@cache
def document() -> Any:
    """Read the document that the service publishes."""
    return json.loads(Client().get(f"{PREFIX}/openapi.json").content)


def operation_for(method: str, path: str) -> Any:
    """Find what the document says of an address, or None."""
    path = PREFIX + path.partition("?")[0]
    for template, operations in sorted(document()["paths"].items(), key=lambda item: "{" in item[0]):
        pattern = re.sub(r"\\\{\w+\\\}", ".+" if "/tools/" in template else "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in operations:
            return operations[method.lower()]
    return None


def check_against_document(method: str, path: str, reply: Reply) -> None:
    """Fail when an answer is not what the document declares."""
    assert reply.headers["X-Request-ID"]
    if reply.status >= 400 and method != "HEAD":
        assert reply.headers["Content-Type"] == CONTENT_TYPE, reply.text
        assert reply.body["status"] == reply.status
        assert {"type", "title", "code", "detail"} <= set(reply.body)
        assert reply.body["type"] == f"urn:retrycontract:problem:{reply.code}"
    operation = operation_for("GET" if method == "HEAD" else method, path)
    if operation is None or reply.status == 405:  # what an address does not do is in no document
        assert reply.status in (400, 401, 404, 405), f"{method} {path} is in no document but answers {reply.status}"
        return
    declared = operation["responses"].get(str(reply.status))
    assert declared is not None, f"{method} {path} answers {reply.status}, which is not declared: {reply.text}"
    if "content" not in declared or method == "HEAD":
        assert reply.text == ""
        return
    media_type = reply.headers["Content-Type"].partition(";")[0]
    schema = declared["content"][media_type]["schema"]
    if media_type != "text/event-stream":
        _validator(schema).validate(reply.body)
        return
    for frame, told in zip(filter(lambda frame: "data" in frame, frames_in(reply.text)), reply.body, strict=True):
        _validator(schema).validate(frame)
        _validator(schema["properties"]["data"]["contentSchema"]).validate(told)


def _validator(schema: Any) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"allOf": [schema], "components": document()["components"]})

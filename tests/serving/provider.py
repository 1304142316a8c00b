"""An identity provider over HTTP that can be told to lie: what a sound one never answers is what must be refused."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.serving.threads import served

CLIENT_ID, CLIENT_SECRET = "desk", "the-desks-secret-at-the-provider-0123456789"


@cache
def first_key() -> RSAKey:
    """Make the key that a provider begins with: each takes 70 ms to make, and tests tell none from another."""
    return RSAKey.generate_key(2048, {"kid": "k1"})


@dataclass
class Provider:
    """Hold who is logged in there, and how its tokens lie."""

    issuer: str = ""
    who: dict[str, Any] = field(default_factory=lambda: {"sub": "u-1", "preferred_username": "noor"})
    lies: dict[str, Any] = field(default_factory=dict)  # claims of the token in the place of true ones; None leaves out
    told: dict[str, Any] = field(default_factory=dict)  # of its configuration
    instead: Any = ...  # of all of its configuration
    userinfo: dict[str, Any] = field(default_factory=dict)
    signed: str = "RS256"
    key: RSAKey = field(default_factory=first_key)
    signs_with: Any = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    seen: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # the paths, in order
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)  # by path: status and body
    drips: frozenset[str] = frozenset()  # the paths that are answered a byte at a time, without end
    ends: threading.Event = field(default_factory=threading.Event)

    def log_in(self, address: str) -> str:
        """Do what the browser and its person do at the provider; give the address that it leads back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.seen.append(asked)
        code = f"code-{len(self.seen)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def configuration(self) -> dict[str, Any]:
        """Say where everything is."""
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys",
                 "userinfo_endpoint": "userinfo", "end_session_endpoint": "leave"}  # fmt: skip
        return {"issuer": self.issuer, "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                **{name: f"{self.issuer}/{path}" for name, path in paths.items()}, **self.told}  # fmt: skip

    def configured(self) -> Any:
        """Give the configuration, or what was put into its place."""
        return self.configuration() if self.instead is ... else self.instead

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        """Trade a code for a token, once, and for who began it only."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked.get("code_challenge") != challenge or asked["code_challenge_method"] != "S256":
            return {"error": "invalid_grant"}
        now = int(time.time())
        true = {"iss": self.issuer, "aud": CLIENT_ID, "nonce": asked["nonce"], "iat": now, "exp": now + 300, **self.who}
        claims = {name: value for name, value in (true | self.lies).items() if value is not None}
        return {"access_token": "at", "token_type": "Bearer", "expires_in": 300, "id_token": self.sign(claims)}

    def sign(self, claims: dict[str, Any]) -> str:
        """Write a token in the way that was asked for."""
        if self.signed == "none":
            parts = [{"alg": "none", "kid": "k1"}, claims]
            return (
                ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
                + "."
            )
        key = self.signs_with or (OctKey.import_key(CLIENT_SECRET) if self.signed == "HS256" else self.key)
        return jwt.encode({"alg": self.signed, "kid": "k1"}, claims, key, algorithms=[self.signed])


@contextmanager
def serving() -> Iterator[Provider]:
    """Run a provider on a port of the loopback."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.fails():
                return
            answers = {"/.well-known/openid-configuration": provider.configured,
                       "/keys": lambda: {"keys": [provider.key.as_dict(private=False)]},
                       "/userinfo": lambda: provider.userinfo or provider.who}  # fmt: skip
            self.answer(answers[self.path]())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.fails():
                return
            form = {name: values[0] for name, values in parse_qs(body).items()}
            known = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
            is_known = self.headers.get("Authorization") == f"Basic {known}"
            self.answer(provider.token(form) if is_known else {"error": "invalid_client"})

        def fails(self) -> bool:
            provider.asked.append(self.path)
            if self.path in provider.failures:
                status, body = provider.failures[self.path]
                self.send_response(status)
                self.send_header("Location", "https://evil.example/")
                self.end_headers()
                with suppress(OSError):  # nobody reads so much
                    self.wfile.write(body.encode())
                return True
            if self.path in provider.drips:
                # What is asked for drips within its headers, what is sent within its body.
                self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if self.command == "POST" else b""))
                with suppress(OSError):  # nobody waits any more
                    while not provider.ends.wait(0.1):
                        self.wfile.write(b"X")
                return True
            return False

        def answer(self, said: Any) -> None:
            text = json.dumps(said).encode()
            self.send_response(400 if isinstance(said, dict) and "error" in said else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    with served(server):
        yield provider
        provider.ends.set()

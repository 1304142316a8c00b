"""Requests that nobody means well with, by families: a name, how they are sent, and what may be answered."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

JSON: Final = "application/json"
REFUSED: Final = frozenset({400, 404, 405, 413, 415, 422})
JUDGED: Final = frozenset({200, 201, 202})
CALL: Final[dict[str, Any]] = {"tool": "deploy", "tool_call_id": "id", "arguments": {}}
OPTIONAL: Final = ("call_id", "session_id", "turn", "task_id", "correlation_id", "finish_reason", "callback_error",
                   "model", "prompt", "said", "tokens_in", "tokens_out", "seconds", "version", "render", "context",
                   "kind", "feedback")  # fmt: skip
TEXTS: Final = ("tool", "tool_call_id", "call_id", "session_id", "task_id", "correlation_id", "finish_reason",
                "callback_error", "model", "prompt", "said", "version", "render", "kind", "raw")  # fmt: skip
# Any text at all, of any length: it is shortened, or judged.
FREE: Final = ("prompt", "said", "raw", "tool", "tool_call_id")
# Of these a short form is kept, however long they are.
IDS: Final = ("task_id", "correlation_id")


@dataclass(frozen=True)
class Hostile:
    """One request, and the statuses that are right for it."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    right: frozenset[int] = REFUSED | JUDGED


Family = Iterator[tuple[str, Hostile]]


def post(body: Any, right: frozenset[int] = REFUSED | JUDGED, path: str = "/calls", **more: Any) -> Hostile:
    """Post a body: bytes as they are, everything else as JSON."""
    return Hostile("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), right=right, **more)


def member(name: str, value: bytes) -> bytes:
    """Write a submission in which one member is exactly these bytes."""
    rest = b", ".join(f"{json.dumps(key)}: {json.dumps(CALL[key])}".encode() for key in CALL if key != name)
    if name == "raw":
        rest = b'"tool": "deploy", "tool_call_id": "id"'
    return b'{%s, "%s": %s}' % (rest, name.encode(), value)


def nesting() -> Family:
    """Brackets that open and open, where a value may stand."""
    openers = {"arrays": (b"[", b"]"), "objects": (b'{"a":', b"}"), "both": (b'[{"a":', b"}]")}
    for shape, (left, right) in openers.items():
        for depth in (101, 3_000, 100_000):
            whole = left * depth + b"1" + right * depth
            yield f"{depth} {shape} as the body", post(whole, frozenset({400}))
            yield f"{depth} {shape} never closed", post(left * depth, frozenset({400}))
            yield f"{depth} {shape} in arguments", post(member("arguments", whole), JUDGED)
            yield f"{depth} {shape} in context", post(member("context", whole), REFUSED)
            yield f"{depth} {shape} in raw", post(CALL | {"raw": whole.decode()}, REFUSED)
            yield f"{depth} {shape} in a schema", post(b'{"arguments": 1, "input_schema": %s}' % whole, path="/check")


def numbers() -> Family:
    """Numbers that no machine carries, or that are none."""
    odd = [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e-999", b"9" * 5_000, b"0." + b"1" * 9_000,
           b"1" + b"0" * 400, b"1e" + b"9" * 400, b"-", b"+1", b".5", b"1.", b"01", b"0x10", b"1_000", b"--1",
           b"1e"]  # fmt: skip
    for number in odd:
        name = number[:12].decode() + (f"… ({len(number)} digits)" if len(number) > 12 else "")
        yield f"{name} in arguments", post(member("arguments", b'{"replicas": %s}' % number), JUDGED | {400})
        yield (
            f"{name} as the turn",
            post(member("turn", number), frozenset({400, 422} | ({200} if number == b"1e-999" else set()))),
        )
        yield (
            f"{name} as max_attempts",
            Hostile(
                "PUT", "/tools/n", b'{"input_schema": {}, "max_attempts": %s}' % number, right=frozenset({400, 422})
            ),
        )
        yield f"{name} in a schema", post(b'{"arguments": 1, "input_schema": {"maximum": %s}}' % number, path="/check")


def keys_twice() -> Family:
    """Members that come twice: which one counts is a guess."""
    for name in (*CALL, *OPTIONAL):
        twice = json.dumps(CALL)[:-1] + f', "{name}": null, "{name}": null}}'
        yield f"{name} twice", post(twice.encode(), frozenset({400}))
    escaped = json.dumps(CALL)[:-1] + ', "\\u0074ool": "other"}'
    yield "the tool twice, once escaped", post(escaped.encode(), frozenset({400}))
    many = b'{"arguments": 1, %s "x": 1}' % (b'"x": 1, ' * 20_000)
    yield "a key 20,000 times", post(many, frozenset({400}))
    yield "a key twice in arguments", post(member("arguments", b'{"a": 1, "a": 2}'), JUDGED)
    yield "a key twice in context", post(member("context", b'{"a": 1, "a": 2}'), frozenset({400}))
    yield "a key twice in a schema", post(b'{"arguments": 1, "input_schema": {"a": 1, "a": 2}}', path="/check")


def characters() -> Family:
    """Characters that stand for nothing, or that do harm where they are shown or stored."""
    odd = {"a lone high surrogate": "\\ud800", "a lone low surrogate": "\\udc00",
           "surrogates reversed": "\\udc00\\ud800",
           "NUL": "\\u0000", "a line break": "\\n", "an escape": "\\u001b[31m"}  # fmt: skip
    for what, text in odd.items():
        for name in TEXTS:
            is_taken = name in (*FREE, "callback_error")
            right = JUDGED if is_taken else frozenset({400, 422})
            yield f"{what} in {name}", post(member(name, f'"a{text}b"'.encode()), right)
        yield f"{what} in a key", post(f'{{"tool{text}": 1}}'.encode(), frozenset({400, 422}))
        yield f"{what} in arguments", post(member("arguments", f'{{"a{text}": "{text}"}}'.encode()), JUDGED)
        yield (
            f"{what} in a description",
            Hostile("PUT", "/tools/c", f'{{"input_schema": {{}}, "description": "{text}"}}'.encode()),
        )
        schema = f'{{"properties": {{"{text}": {{"const": "{text}"}}}}}}'
        yield f"{what} in a schema", post(f'{{"arguments": {{}}, "input_schema": {schema}}}'.encode(), path="/check")
    yield "NUL as it is", post(b'{"tool": "a\x00b"}', frozenset({400}))
    yield "NUL behind the body", post(json.dumps(CALL).encode() + b"\x00", frozenset({400}))


def lengths() -> Family:
    """Texts and collections far longer than anybody means."""
    for name in TEXTS:
        right = JUDGED if name in (*FREE, *IDS) else frozenset({422})
        for size in (5_000, 1_000_000):
            yield f"{name} of {size} characters", post(member(name, b'"' + b"x" * size + b'"'), right)
    yield "a key of a million characters", post(b'{"%s": 1}' % (b"x" * 1_000_000), frozenset({422}))
    yield "20,000 unknown fields", post(CALL | {f"f{n}": n for n in range(20_000)}, frozenset({422}))
    yield "100,000 arguments", post(CALL | {"arguments": {f"a{n}": n for n in range(100_000)}}, JUDGED)
    yield "100,000 items", post(CALL | {"arguments": [0] * 100_000}, JUDGED)
    yield "a context of 20,000 members", post(CALL | {"context": {f"c{n}": "x" for n in range(20_000)}}, JUDGED)
    yield "a million spaces", post(b" " * 1_000_000 + json.dumps(CALL).encode(), JUDGED)
    yield "2,001 tools", post([{"name": f"t{n}"} for n in range(2_001)], frozenset({422}), path="/tools/import")
    yield "over the limit", post(b" " * 2_100_000, frozenset({413}))


def types() -> Family:
    """Every field with every type that is not its own."""
    values = {
        "null": None,
        "true": True,
        "a number": 7,
        "a fraction": 1.5,
        "a text": "?",
        "an array": [1],
        "an object": {"a": 1},
    }
    own = {"turn": ("null", "a number"), "context": ("null", "an object"), "raw": ("a text",),
           "tokens_in": ("null", "a number"), "tokens_out": ("null", "a number"),
           "seconds": ("null", "a number", "a fraction")}  # fmt: skip
    text = ("null", "a text")
    for name in ("tool", "tool_call_id", *OPTIONAL, "raw"):
        fits = own.get(name, ("a text",) if name in ("tool", "tool_call_id") else text)
        for what, value in values.items():
            if what in fits:
                continue
            yield f"{what} as {name}", post(member(name, json.dumps(value).encode()), frozenset({422}))
    for what, value in values.items():
        yield f"{what} as the arguments", post(CALL | {"arguments": value}, JUDGED)
        yield f"{what} as the body", post(value, frozenset({422}))
        yield f"{what} as a tool list", post(value, frozenset({422}), path="/tools/import")
        yield f"{what} as a tool", post([value], frozenset({422}), path="/tools/import")
        yield f"{what} as a schema", post({"arguments": 1, "input_schema": value}, path="/check")


def fields_nobody_knows() -> Family:
    """Names that mean something elsewhere."""
    for name in ("__proto__", "constructor", "__class__", "prototype", "$ref", "id", "agent", "agent_id", "state",
                 "attempts_allowed", "attempts_made", "is_valid", "namespace", "sealed", "pk", ""):  # fmt: skip
        yield f"the field {name or '(empty)'}", post(CALL | {name: 1}, frozenset({422}))


def bytes_that_are_no_utf8() -> Family:
    """Other encodings, and bytes that are none."""
    text = json.dumps(CALL | {"session_id": "é"}, ensure_ascii=False)
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1", "utf-8-sig"):
        right = JUDGED if encoding == "utf-7" else frozenset({400})
        yield f"a body in {encoding}", post(text.encode(encoding), right if encoding != "utf-7" else REFUSED | JUDGED)
    odd = [
        b"\xff",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xc3",
        b"\x80",
        b"\xfe\xff",
        b"\xf0\x9f\x98",
    ]
    for found in odd:
        yield f"{found!r} in a text", post(member("session_id", b'"' + found + b'"'), frozenset({400}))
        yield f"{found!r} in arguments", post(member("arguments", b'{"a": "' + found + b'"}'), JUDGED)
    yield "a byte order mark alone", post(b"\xef\xbb\xbf", frozenset({400}))


def texts_that_are_no_json() -> Family:
    """What people and models write instead."""
    odd = [b"", b" ", b"\n", b"{", b"}", b"[", b"]", b'"', b"'", b"{]", b"[}", b"{,}", b"[,]", b"{:}", b'{"a"}',
           b'{"a":}',
           b'{"a" 1}', b'{"a": 1,}', b"[1,]", b"{'tool': 'a'}", b"{tool: 1}", b'{"a": 1} // no',
           b'/* no */ {"a": 1}', b"None",
           b"True", b"undefined", b"nul", b"tru", b'{"a": 1}{"a": 1}', b'{"a": 1}\n{"a": 1}', b"tool: deploy",
           b"<tool/>",
           b"tool=deploy&tool_call_id=id", b"--x\r\n\r\n{}\r\n--x--", b'{"a": "\t"}', b'{"a": "\\x41"}',
           b'{"a": "\\u12"}',
           b'{"a": "\\', b"\x1f\x8b\x08", b"%PDF-1.4", b'"\\ud83d', b"```json\n{}\n```", b'{"tool": "a"']  # fmt: skip
    for found in odd:
        yield f"{found!r}", post(found, frozenset({400, 415, 422}))


def content_types() -> Family:
    """Bodies that say that they are something else."""
    for kind in ("text/json", "application/x-ndjson", "application/xml", "application/json-patch+json",
                 "application/*", "*/*",
                 "application/problem+json", "application/octet-stream", "multipart/form-data; boundary=x", "json",
                 ";", " ",
                 "application/jsonx", "application/cbor"):  # fmt: skip
        yield f"the type {kind}", post(CALL, frozenset({415}), content_type=kind)
    for kind in (
        "application/json; charset=utf-16",
        "application/json;charset=latin-1",
        "APPLICATION/JSON",
        "application/json;;;",
    ):
        yield f"the type {kind}", post(CALL, content_type=kind)


def encodings() -> Family:
    """Bodies that would have to be unpacked: nothing is, so that no bomb goes off."""
    bomb = gzip.compress(b"\x00" * 50_000_000, 9)
    packed = {"gzip": gzip.compress(json.dumps(CALL).encode()), "deflate": zlib.compress(json.dumps(CALL).encode()),
              "gzip, gzip": gzip.compress(bomb), "br": b"\x0b\x02\x80", "zstd": b"\x28\xb5\x2f\xfd", "x-gzip": bomb,
              "chunked": json.dumps(CALL).encode(), "identity, gzip": bomb, "GZIP": bomb, "nothing": b"{}"}  # fmt: skip
    for coding, body in packed.items():
        yield f"encoded as {coding}", post(body, frozenset({415}), headers={"Content-Encoding": coding})
    yield "a bomb that says nothing of itself", post(bomb, frozenset({400}))
    yield "encoded as identity", post(CALL, JUDGED, headers={"Content-Encoding": "Identity"})


def queries() -> Family:
    """Queries that are no filter, or too much of one."""
    odd = ["limit=0", "limit=-1", "limit=101", "limit=1e3", "limit=99999999999999999999", "limit=1&limit=2",
           "limit[]=1", "limit=%00",
           "limit=١", "limit=", "state=godot", "state=blocked'--", "cursor=x", "cursor=%00", "cursor=" + "x" * 5_000,
           "tool=%00", "tool=" + "x" * 5_000, "session_id=%0a", "agent=1", "__proto__=1", "%", "%zz=%zz", "&&&", "=",
           ";", "a" * 8_000,
           "order_by=id", "fields=sealed", "?limit=1", "limit=1#", "tool=%ff", "tool=%ed%a0%80",
           "state=pending%00"]  # fmt: skip
    for query in odd:
        yield f"calls?{query[:40]}", Hostile("GET", f"/calls?{query}")
        yield f"tools?{query[:40]}", Hostile("GET", f"/tools?{query}")
    for query in (
        "for=",
        "for=verdict&attempt=0",
        "attempt=-1",
        "attempt=1.5",
        "attempt=2147483648",
        "render=x",
        "for[]=verdict",
        "x=1",
    ):
        yield f"wait?{query}", Hostile("GET", f"/calls/call_x/wait?{query}", right=frozenset({404, 422}))
    yield "a query behind a post", post(CALL, path="/calls?tool=other&x=%00")


def paths() -> Family:
    """Addresses that lead somewhere else, or try."""
    odd = [
        "..",
        "../tools",
        "%2e%2e%2fadmin",
        "%00",
        "a%00b",
        "%ff",
        "%ed%a0%80",
        "'; DROP TABLE x; --",
        "%27%20OR%201=1",
        "x" * 9_000,
        "☃",
        "%E2%80%AE",
        "a%0Ab",
        "a%0D%0AX: y",
        "\\..\\",
        ".",
        "%2F",
        "a;b=c",
        "call_x/../../x",
        "-1",
        "0",
        "null",
        "*",
        "{call_id}",
    ]
    for part in odd:
        refused = frozenset({400, 404, 405, 415, 422})
        for path in (f"/calls/{part}", f"/calls/{part}/wait", f"/calls/{part}/guidance", f"/tools/{part}"):
            yield f"GET {path[:40]}", Hostile("GET", path, right=refused)
        yield f"cancel {part[:30]}", Hostile("POST", f"/calls/{part}/cancel", right=refused)
        yield f"register {part[:30]}", Hostile("PUT", f"/tools/{part}", b'{"input_schema": {}}', right=refused | JUDGED)
    for path in (
        "//calls",
        "/calls//",
        "/./calls",
        "/calls/x/wait/wait",
        "/openapi.yaml",
        "/CALLS",
        "/calls.json",
    ):
        yield f"GET {path}", Hostile("GET", path, right=frozenset({200, 404}))


def headers() -> Family:
    """Headers that are not what they should be."""
    odd = {
        "Idempotency-Key": ["", "k" * 256, "\x00", "é", "a\tb", "k" * 100_000],
        "Prefer": ["wait=-1", "wait=" + "9" * 5_000, "wait=NaN", ";;;", "=", "wait", "respond-async, wait=0", '"',
                   "," * 5_000],
        "If-Match": ["", "*", '"', 'W/"', '"' * 5_000, "W/" * 5_000, "\x00"],
        "If-None-Match": ["", '"', "*, *", "W/" * 5_000],
        "traceparent": ["", "00-" + "0" * 32 + "-" + "0" * 16 + "-00", "-" * 5_000, "\x00", "é"],
        "X-Request-ID": ["", "x" * 5_000, '"}{"level": "fatal', "\x1b[31m", "é"],
        "X-HTTP-Method-Override": ["DELETE", "PUT"],
        "X-Forwarded-For": ["127.0.0.1", "'"],
        "Accept": ["text/html", "application/xml", "*/*;q=0", "\x00"],
        "Accept-Encoding": ["gzip;q=0, *;q=0", "identity;q=0"],
        "Range": ["bytes=0-1", "bytes=-"],
        "Expect": ["100-continue", "godot"],
        "Transfer-Encoding": ["chunked", "gzip"],
        "Cookie": ["sessionid=" + "x" * 5_000, "=;=;="],
        "Upgrade": ["websocket", "h2c"],
    }  # fmt: skip
    for name, values in odd.items():
        for value in values:
            sent = {name: value}
            yield (
                f"{name}: {value[:20]!r} ({len(value)})",
                Hostile("PUT", "/tools/h", b'{"input_schema": {}}', headers=sent, right=JUDGED | {412}),
            )
            yield f"POST with {name}: {value[:20]!r} ({len(value)})", post(CALL, JUDGED | {422}, headers=sent)


def methods() -> Family:
    """Verbs that nobody taught us."""
    yield "HEAD with a body", Hostile("HEAD", "/calls", b"{", right=JUDGED)
    for method in ("OPTIONS", "TRACE", "CONNECT", "PATCH", "DELETE", "PROPFIND", "X" * 200, "PUT"):
        yield f"{method[:10]} /calls", Hostile(method, "/calls", b"{}", right=frozenset({405}))


FAMILIES: Final[tuple[Callable[[], Family], ...]] = (
    nesting, numbers, keys_twice, characters, lengths, types, fields_nobody_knows, bytes_that_are_no_utf8,
    texts_that_are_no_json, content_types, encodings, queries, paths, headers, methods,
)  # fmt: skip


def every_hostile() -> Iterator[tuple[str, Hostile]]:
    """Give all of them, each with a name of its own."""
    for family in FAMILIES:
        for name, hostile in family():
            yield f"{family.__name__.replace('_', ' ')}: {name}", hostile

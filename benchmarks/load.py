"""Load on a service over keep-alive connections, and what it answered in which time."""

from __future__ import annotations

import socket
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

Ask = Callable[[], bytes]
BUFFER = 65_536


@dataclass(frozen=True, slots=True)
class Load:
    """Hold how long each answer took, and all of them together."""

    seconds: float
    latencies: tuple[float, ...]
    processor: float = 0.0  # seconds that the service's processes used meanwhile

    @property
    def rate(self) -> float:
        """Give the answers per second."""
        return len(self.latencies) / self.seconds

    @property
    def work(self) -> float:
        """Give the processor time that one answer took, which other load on the machine does not change."""
        return self.processor / len(self.latencies)

    @property
    def p50(self) -> float:
        """Give the usual latency."""
        return statistics.median(self.latencies)

    @property
    def p99(self) -> float:
        """Give the latency that one in a hundred exceeds."""
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)]


def request(method: str, path: str, key: str, body: bytes = b"", *headers: str) -> bytes:
    """Write a request with an API key."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}", *headers]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def hammer(port: int, ask: Ask, *, seconds: float, connections: int) -> Load:
    """Ask over so many connections as fast as answers come."""
    started = perf_counter()
    end = started + seconds
    with ThreadPoolExecutor(connections) as pool:
        turns = [pool.submit(_talk, port, ask, end) for _ in range(connections)]
        latencies = [latency for turn in turns for latency in turn.result()]
    return Load(perf_counter() - started, tuple(latencies))


def _talk(port: int, ask: Ask, end: float) -> list[float]:
    latencies = []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (began := perf_counter()) < end:
            connection.sendall(ask())
            _answer(connection)
            latencies.append(perf_counter() - began)
    return latencies


def _answer(connection: socket.socket) -> None:
    """Read one whole answer; anything but success is no measurement."""
    data = connection.recv(BUFFER)
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += connection.recv(BUFFER)
    head = data[:end].lower()
    if not head.startswith(b"http/1.1 2"):
        raise RuntimeError(data[:500].decode(errors="replace"))
    length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    received = len(data) - end - 4
    while received < length:
        received += len(connection.recv(BUFFER))

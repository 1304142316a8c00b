"""A TCP proxy that loses answers: the service gets a request, and the client only a broken connection."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK: Final = 65_536


class LossyProxy:
    """Stand between a client and a port; while `lost` is above zero the next answers to POST /calls are thrown away."""

    def __init__(self, port: int) -> None:
        self.lost = 0
        self.posted = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Give the address for the client."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._relay, args=(client,))
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Stop, and wait for the connections that are left."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _relay(self, client: socket.socket) -> None:
        """Carry one request after the other over; a client that is gone, or a cut, ends the connection."""
        with client, socket.create_connection(("127.0.0.1", self._target)) as service, suppress(OSError):
            client.settimeout(10)
            while request := self._message(client):
                service.sendall(request)
                answer = self._message(service)
                if self._is_lost(request):
                    return
                client.sendall(answer)

    def _is_lost(self, request: bytes) -> bool:
        if not request.startswith(b"POST /api/v1/calls HTTP"):
            return False
        with self._lock:
            self.posted += 1
            self.lost -= 1
            return self.lost >= 0

    @staticmethod
    def _message(source: socket.socket) -> bytes:
        """Read one HTTP message whose body has a Content-Length, or b"" at the end."""
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = source.recv(CHUNK)
            if not chunk:
                return b""
            data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = int(lengths[0]) - len(body) if lengths else 0
        while missing > 0:
            chunk = source.recv(CHUNK)
            if not chunk:
                return b""
            data, missing = data + chunk, missing - len(chunk)
        return data


@contextmanager
def losing_answers(port: int) -> Iterator[LossyProxy]:
    """Run a proxy in front of a port."""
    proxy = LossyProxy(port)
    thread = threading.Thread(target=proxy.serve)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(10)

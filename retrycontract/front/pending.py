"""What the application says of an answer that is not complete: which bell announces more, and where to ask then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from retrycontract.front.bridge import Receive, Response, Scope

# `Retrycontract-Pending: <bell>; <path to ask again>`: between the application and the front of house only.
PENDING: Final = b"retrycontract-pending"


@dataclass(frozen=True, slots=True)
class Pending:
    """Name the bell that announces an answer, and the path that gives it; without a bell it is there already."""

    bell: str
    path: str

    @classmethod
    def of(cls, response: Response) -> Pending | None:
        """Read the application's note on a response, if it left one."""
        bell, _, path = (response.header(PENDING) or b"").decode("latin-1").partition(";")
        return cls(bell.strip(), path.strip()) if path.strip().startswith("/") else None


def question(scope: Scope, target: str) -> Scope:
    """Ask for another address in the name of a request."""
    path, _, query = target.partition("?")
    # These speak of the body of the first request, and the question has none.
    headers = [pair for pair in scope["headers"] if not pair[0].startswith((b"content-", b"expect"))]
    return {
        **scope,
        "method": "HEAD" if scope["method"] == "HEAD" else "GET",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [*headers, (PENDING, b"asked again")],  # for the log, which tells each request once
    }


async def disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass

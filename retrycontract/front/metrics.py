"""Answer `/metrics` before Django: for whoever has the token, and for nobody where there is none."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, Final

from retrycontract.front.health import Looking, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retrycontract.front.bridge import Receive, Scope, Send
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

PLAIN: Final = "text/plain; charset=utf-8"
# Prometheus gives up after ten seconds unless it is told otherwise.
LONGEST_SECONDS: Final = 9.0
CLOSED: Final = "Metrics are closed: set RETRYCONTRACT_METRICS_TOKEN, and send it as a bearer token.\n"
UNKNOWN: Final = "Send the token of RETRYCONTRACT_METRICS_TOKEN as a bearer token.\n"
UNAVAILABLE: Final = "The database does not answer.\n"


class Metrics:
    """Serve an application, and its metrics to whoever sends the token.

    `read` runs in a thread of its own, once at a time however many ask; None says that there is nothing to read from.
    """

    def __init__(self, app: Any, read: Callable[[], Sequence[Family] | None], *, token: str) -> None:
        self._app = app
        self._token = token
        self._reading = Looking(read, timeout=LONGEST_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer Prometheus, or hand the request on."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"] != "/metrics":
            await self._app(scope, receive, send)
        elif not self._token:
            await answer(scope, send, 403, PLAIN, CLOSED)
        elif not self._is_known(scope):
            await answer(scope, send, 401, PLAIN, UNKNOWN, (b"www-authenticate", b"Bearer"))
        elif (families := await self._reading.result()) is None:
            await answer(scope, send, 503, PLAIN, UNAVAILABLE)
        else:
            await answer(scope, send, 200, CONTENT_TYPE, write_exposition(families))

    def _is_known(self, scope: Scope) -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token.encode())


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Type = Literal["counter", "gauge", "histogram"]
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold one number; `suffix` tells the parts of a histogram apart."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Hold the samples of one metric."""

    name: str
    type: Type
    help: str
    samples: tuple[Sample, ...]


def write_exposition(families: Iterable[Family]) -> str:
    """Write metrics as text; a metric without samples is left out."""
    return "".join(_family(family) for family in families if family.samples)


def _family(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}"]
    lines += [f"{family.name}{sample.suffix}{_labels(sample)} {_number(sample.value)}" for sample in family.samples]
    return "\n".join(lines) + "\n"


def _labels(sample: Sample) -> str:
    pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels)
    return f"{{{pairs}}}" if pairs else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))

"""The ASGI application: the front of house before Django, which stays WSGI."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import DatabaseError, connection, connections
from django.template.loader import render_to_string
from django.urls import get_resolver
from django.utils import timezone

from dashboard.account.exchanges import EXCHANGES_AT_ONCE, hang_up
from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.connections import room
from retrycontract.front.descriptors import allow_many_connections
from retrycontract.front.memory import settle
from retrycontract.front.probes import Family, Health, Metrics, export_metrics
from retrycontract.front.request_ids import RequestIds
from retrycontract.front.waiting import FrontOfHouse, bells
from retrycontract.store.outages import outage
from retrycontract.store.sqlite.base import MUST_EXIST

logger = logging.getLogger("retrycontract")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")
# Here and not where commands begin: web processes that uvicorn starts know nothing of these.
logging.captureWarnings(capture=True)

# Requests that wait for a child process, or whose body alone keeps a thread for long: nobody else waits behind them.
SLOW_THREADS: Final = 4
SLOW_BYTES: Final = 16_384
MIDDLE_BYTES_ON_SQLITE: Final = 4_096  # of an attempt: one thread has all smaller ones, and others wait for each
CHECK: Final = b"/api/v1/check"
HUGE_BYTES: Final = 524_288  # of a check; to read and hand on more takes 20 to 250 ms of the interpreter
LARGE_BYTES: Final = 65_536  # of an attempt; to read and seal more takes 10 to 200 ms of the interpreter, less up to 20
ROOM, ROOM_OF_PROXY = 256 * 1024**2, 384 * 1024**2  # bytes of large requests that are held at once
API_THREADS_ON_POSTGRESQL: Final = 4  # it has many writers; SQLite's one is quickest with one thread


_ends: list[Callable[[], None]] = []


def _companions() -> list[ModuleType]:
    """Give what runs beside the requests of this process: each has `start` and `stop`."""
    # Imported when used: a process alone on SQLite needs no Redis client, one with Celery workers no worker.
    service = settings.RETRYCONTRACT
    names = ["worker.embedded"] if service.embedded_worker else []
    names += ["worker.rings"] if service.redis_url or service.database_url else []
    return [import_module(name) for name in names]


def _start() -> None:
    # Before the collector is told to pass over what there is, so that the pages are among it.
    get_resolver().url_patterns  # noqa: B018 - reading it imports every page
    _ends.append(settle())
    allow_many_connections()
    connections.settings["default"][MUST_EXIST] = True
    service = settings.RETRYCONTRACT
    room.most = max(ROOM, 8 * service.max_body_bytes) + (ROOM_OF_PROXY if service.proxy_upstreams else 0)
    for companion in _companions():
        companion.start()
    # A database that cannot be used is told at once; nobody waits for one that does not answer.
    threading.Thread(target=_look, name="retrycontract-first-look", daemon=True).start()
    _ends.append(export_metrics(_metrics_reader(_front)))


def _stop() -> None:
    for companion in _companions():
        companion.stop()
    for end in _ends:
        end()


def _front_of_house() -> FrontOfHouse:
    django = get_wsgi_application()
    service = settings.RETRYCONTRACT
    bridge = WsgiBridge(
        django,
        api_threads=API_THREADS_ON_POSTGRESQL if service.database_url else 1,
        page_threads=service.dashboard_threads,
        slow_threads=SLOW_THREADS,
        outside_threads=EXCHANGES_AT_ONCE + 1,  # so that one is left to tell that all places are taken
        is_slow=_is_slow,
        turn_of=_turn_of,
        too_large_page=lambda limit: render_to_string("413.html", {"limit": limit}),
        max_body_bytes=service.max_body_bytes,
    )
    from retrycontract.api.routes import answer_of_news  # models: only once Django is set up

    hooks: Any = {"on_startup": _start, "on_shutdown": _stop, "on_signal": hang_up}
    return FrontOfHouse(bridge, bells, **hooks, answer_of_news=answer_of_news)


def _is_slow(method: str, path: bytes, size: int) -> bool:
    """Tell a request of the API that may take long: it checks a schema, or much text."""
    checks_schema = path == CHECK or (method in ("PUT", "POST") and path.startswith(b"/api/v1/tools"))
    return checks_schema or size > SLOW_BYTES


def _turn_of(method: str, path: bytes, size: int) -> str:
    """Name the turn of what is read for long: attempts have one, the larger ones of them, and the largest checks.

    They wait for the interpreter, and several at once would take it from everybody else.
    """
    if size > HUGE_BYTES and path == CHECK:
        return "check"
    least = SLOW_BYTES if settings.RETRYCONTRACT.database_url else MIDDLE_BYTES_ON_SQLITE
    if size <= least or method != "POST" or path != b"/api/v1/calls":
        return ""
    return "large" if size > LARGE_BYTES else "middle"


# Address -> the module and class that answer there.
DOORS = {
    "/mcp": ("retrycontract.mcp.server", "ServerVisit"),
    "/hooks": ("retrycontract.mcp.hooks", "HookVisit"),
    "/guardrails/beta/litellm_basic_guardrail_api": ("retrycontract.mcp.guardrails", "LiteLLMVisit"),
}
CHECKS = frozenset({"hooks", "guardrails"})  # below them no page is an answer to a machine
# Envoy puts the path that it was asked for behind it.
AUTHORIZATION = "/guardrails/authz"


class Mount:
    """Hand requests for a door to whoever answers there, everything else to the application.

    `is_closing` tells whether the process is about to end: then nobody is kept waiting.
    """

    def __init__(self, app: Any, *, is_closing: Callable[[], bool], max_body_bytes: int) -> None:
        self._app, self._is_closing, self._max_body_bytes = app, is_closing, max_body_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        door = None
        if scope["type"] == "http":
            path: str = scope["path"]
            door = DOORS.get(path.rstrip("/"))  # as many clients write it
            if path == AUTHORIZATION or path.startswith(f"{AUTHORIZATION}/"):
                door = "retrycontract.mcp.guardrails", "AuthorizationVisit"
            elif door is None and any(part in CHECKS for part in path.split("/")[1:2]):
                door = "retrycontract.mcp.guardrails", "NoVisit"
        if door is None:
            await self._app(scope, receive, send)
            return
        module, visitor = door
        # In a thread: it takes most of a second, which every other request would wait.
        found = getattr(await asyncio.to_thread(_door, module), visitor)
        visit = found(self._app, scope, is_closing=self._is_closing)
        await visit.serve(receive, send, max_body_bytes=self._max_body_bytes)


def _door(module: str) -> ModuleType:
    found = import_module(module)
    _charge_for_reading()
    return found


def _charge_for_reading() -> None:
    # Imported when used: it brings a client.
    from retrycontract.mcp.visiting import charge_with

    charge_with(_charge)


def _charge(token: str, seconds: float) -> int:
    from retrycontract.usecases.counts.keep_count import charge_reading  # models: only once Django is set up

    try:
        return charge_reading(token, seconds, now=timezone.now())
    except DatabaseError as error:
        outage.failed(error, "The database did not answer for what reading took")
        return 0
    finally:
        connection.close()


def _look() -> dict[str, Any]:
    from retrycontract.usecases.probes import look  # models: only once Django is set up

    return look(now=timezone.now()).to_json()


def _metrics_reader(front: FrontOfHouse) -> Callable[[], list[Family] | None]:
    from retrycontract.usecases.probes import MetricsReader

    reader = MetricsReader()

    def read() -> list[Family] | None:
        try:
            return reader.read(now=timezone.now(), waiting_requests=front.waiting)
        except DatabaseError as error:
            outage.failed(error, "The database did not answer for the metrics")
            return None
        finally:
            connection.close()  # the thread that reads is another each time

    return read


def _with_proxy(app: Any) -> Any:
    """Put the proxy before everything else: upstreams name their requests themselves."""
    service = settings.RETRYCONTRACT
    if not service.proxy_upstreams:
        return app
    # Imported when used: nobody else needs its packages.
    from retrycontract.proxy.app import ProxyMount
    from retrycontract.proxy.contracts import JudgingSettings
    from retrycontract.proxy.judged import ProxySettings

    _charge_for_reading()
    judging = JudgingSettings(mode=service.proxy_mode, configuration=settings.CONTRACT)
    upstreams = dict(upstream.split("=", 1) for upstream in service.proxy_upstreams)
    return ProxyMount(app, upstreams, ProxySettings(judging=judging, wait=service.proxy_wait_seconds))


_front = _front_of_house()
# From the outside in: the id that every answer bears, then metrics and probes, which need none of Django's threads and
# so answer while every page hangs.
_doors: Any = _front
if find_spec("mcp") is not None:  # else the extra is not installed: `/mcp` is a page that does not exist
    _doors = Mount(_front, is_closing=lambda: _front.is_closing, max_body_bytes=settings.RETRYCONTRACT.max_body_bytes)
application = _with_proxy(
    RequestIds(Metrics(Health(_doors, _look), _metrics_reader(_front), token=settings.RETRYCONTRACT.metrics_token))
)

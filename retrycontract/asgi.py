"""The ASGI application: the front of house before Django, which stays WSGI."""

from __future__ import annotations

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from retrycontract.bridge import WsgiBridge
from retrycontract.waiting import FrontOfHouse, bells

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")

# A page that computes keeps the interpreter for one switch interval at a time, and every submit waits for
# several of them: with the default of 5 ms a looping 100 ms page cut submits from 1,000/s to 72. With 0.1 ms
# and a thread pool of their own for pages it was 441 to 507.
sys.setswitchinterval(0.0001)


def _start_worker() -> None:
    # Imported when used: without the embedded worker this process needs nothing of the worker's.
    from worker import embedded

    embedded.start()


def _stop_worker() -> None:
    from worker import embedded  # as above

    embedded.stop()


def _front_of_house() -> FrontOfHouse:
    django = get_wsgi_application()
    service = settings.RETRYCONTRACT
    bridge = WsgiBridge(django, page_threads=service.dashboard_threads, max_body_bytes=service.max_body_bytes)
    if not service.embedded_worker:
        return FrontOfHouse(bridge, bells)
    return FrontOfHouse(bridge, bells, on_startup=_start_worker, on_shutdown=_stop_worker)


application = _front_of_house()

"""Run the command `proxy`: put together what its options ask for, and serve."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any, Final

import uvicorn

from retrycontract.config.configuration_file import configuration_of
from retrycontract.front.connections import Doorkeeper, guarded
from retrycontract.front.descriptors import allow_many_connections
from retrycontract.front.memory import settle
from retrycontract.judging.asking import service_at
from retrycontract.mcp.visiting import HEADER_SECONDS, bound_socket
from retrycontract.proxy.app import API_KEY, Proxy
from retrycontract.proxy.contracts import JudgingSettings
from retrycontract.proxy.judged import ProxySettings

GRACE_SECONDS: Final = 10  # for answers under way when the proxy is told to end


def run(options: dict[str, Any]) -> int:
    """Serve until a signal ends it; raises ConfigurationError, OSError and ValueError for wrong use."""
    configuration = configuration_of(options["config"], os.environ)
    judging = JudgingSettings(mode=options["mode"], strict=not options["lenient"], configuration=configuration)
    settings = ProxySettings(
        judging=judging, refuses_broken_schemas=options["broken_schemas"] == "refuse", stall=options["stall"],
        max_answer=options["max_answer"], max_request=options["max_request"], wait=options["wait"],
        rescue=options["rescue"], repeats=options["repeats"], tells_repeats=options["tell_repeats"],
    )  # fmt: skip
    proxy = Proxy(options["upstream"], settings, service_at(options["url"], API_KEY))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    # It writes the address of every request, where some clients put their key.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    listening = bound_socket(options["listen"])
    # A body may be large and its line slow; only who never ends it is let go.
    doorkeeper = Doorkeeper(
        allow_many_connections(), most_of_one_address=0, header_seconds=HEADER_SECONDS, body_seconds=options["stall"]
    )
    config = uvicorn.Config(
        proxy, log_level="warning", access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS, ws="none", http=guarded(doorkeeper),
    )  # fmt: skip
    server = uvicorn.Server(config)
    print(f"retrycontract proxy on http://{options['listen']} before {options['upstream']}", file=sys.stderr)  # noqa: T201
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # uvicorn raises it once more when it has ended in good order
    end = settle()
    server.run([listening])
    end()
    return 0

"""When a webhook that was not taken is sent again: the schedule of Standard Webhooks, and what receivers ask for."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

# After each failed try; the last one again and again, until the message is given up.
SCHEDULE: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
)
SPREAD: Final = 0.1  # the share of a pause that chance may add, so that not everything comes back at one moment
FIRST_REST: Final = timedelta(seconds=5)
LONGEST_REST: Final = timedelta(minutes=5)  # a receiver that is down costs one try in five minutes, however much waits
LONGEST_ASKED: Final = timedelta(days=1)  # a receiver cannot put a message off for longer
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_HTTP_DATE: Final = "%a, %d %b %Y %H:%M:%S GMT"


def pause_of_message(tries: int, chance: float) -> timedelta:
    """Give how long a message waits after its `tries`-th failed try; `chance` is 0 to 1."""
    pause = SCHEDULE[min(max(tries, 1), len(SCHEDULE)) - 1]
    return pause * (1 + SPREAD * chance)


def rest_of_receiver(failures: int) -> timedelta:
    """Give how long a receiver is left alone after so many failures in a row."""
    doublings = min(max(failures, 1) - 1, 20)
    return min(FIRST_REST * (1 << doublings), LONGEST_REST)


def asked_pause(retry_after: str, now: datetime) -> timedelta:
    """Read a Retry-After header, seconds or a date; none for what is neither, a day at most."""
    asked = timedelta()
    if _SECONDS.fullmatch(retry_after):
        asked = timedelta(seconds=int(retry_after))
    else:
        with suppress(ValueError):
            asked = datetime.strptime(retry_after, _HTTP_DATE).replace(tzinfo=UTC) - now
    return min(max(asked, timedelta()), LONGEST_ASKED)

"""End every session of an operator, wherever they are logged in."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from retrycontract.store.models import Door, Event
from retrycontract.store.transactions import write_transaction


def end_sessions(operator: User, *, now: datetime, actor: str, door: Door) -> int:
    """Log an operator out everywhere; returns how many sessions ended.

    Sessions say only inside whose they are, so each is read: there are as many as operators have browsers.
    """
    with write_transaction():
        mine = [
            session.pk
            for session in Session.objects.filter(expire_date__gt=now).iterator()
            if session.get_decoded().get(SESSION_KEY) == str(operator.pk)
        ]
        ended = Session.objects.filter(pk__in=mine).delete()[0]
        Event.record(
            "operator.logged_out", actor=actor, door=door, at=now, operator=operator.get_username(), sessions=ended
        )
    return ended

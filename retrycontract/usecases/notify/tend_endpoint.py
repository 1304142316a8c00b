"""Add webhook endpoints at addresses of the internet, change them, and give them new secrets; each leaves an event."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings

from retrycontract.config.public_addresses import NOT_PUBLIC, leads_inside
from retrycontract.config.service_settings import is_plain_url
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Agent, Call, Channel, Door, Event, OutboxMessage, WebhookEndpoint
from retrycontract.store.models.endpoints import MAX_ADDRESS
from retrycontract.store.sealing import UnreadableError
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.notify.write_message import write_event

Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host, each once; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in found))


MOST_ON: Final = 20  # of one agent, or of all agents: each is a row in the transaction of whatever happens to a call
CHANGEABLE = ("address", "events", "is_active")


class UnusableAddressError(ValueError):
    """Raised for an address that nothing can be sent to."""

    def __init__(self) -> None:
        schemes = "https or http" if settings.RETRYCONTRACT.allow_private_webhooks else "https"
        super().__init__(
            f"Write it as https://host/path, with {schemes}, at most {MAX_ADDRESS} characters, "
            "and without a user, spaces or a #part; a name with other letters than a to z as xn--…."
        )


class ClosedAddressError(UnusableAddressError):
    """Raised for an address of the house itself, to which nothing would be sent."""

    def __init__(self) -> None:
        ValueError.__init__(self, NOT_PUBLIC)


class TooManyEndpointsError(ValueError):
    """Raised where one more endpoint would be on than may be."""

    def __init__(self, agent: Agent | None) -> None:
        whose = agent.name if agent else "all agents"
        instead = "Switch one off, or let one receiver tell several."
        super().__init__(f"{MOST_ON} endpoints are on for {whose}, and no more can be. {instead}")


def add_endpoint(
    address: str, events: Sequence[WebhookEvent], agent: Agent | None = None, *, now: datetime, actor: str, door: Door
) -> tuple[WebhookEndpoint, str]:
    """Make an endpoint and return it with its secret, which is shown this once.

    It is told of the calls of its agent, or of all agents when there is none. Raises UnusableAddressError and
    TooManyEndpointsError.
    """
    check_address(address)
    endpoint = WebhookEndpoint(agent=agent, events=_values(events), created_at=now)
    endpoint.address = address
    text = endpoint.new_secret(now)
    with write_transaction():
        _find_room(agent)
        endpoint.save(force_insert=True)
        Event.record(
            "endpoint.added", actor=actor, door=door, at=now, endpoint=endpoint.public_id, address=endpoint.shortened,
            agent=agent.name if agent else None, events=endpoint.events,
        )  # fmt: skip
    return endpoint, text


def change_endpoint(
    endpoint: WebhookEndpoint, wanted: dict[str, Any], *, now: datetime, actor: str, door: Door
) -> None:
    """Store what differs of address, events and whether it is on; an empty address keeps the one that it has.

    Raises UnusableAddressError and TooManyEndpointsError.
    """
    wanted = {name: wanted[name] for name in CHANGEABLE if wanted[name] != ""} | {"events": _values(wanted["events"])}
    if "address" in wanted:
        check_address(wanted["address"])
    with write_transaction():
        held = WebhookEndpoint.objects.select_for_update().get(pk=endpoint.pk)
        changes = {}
        for name, value in wanted.items():
            try:
                present = getattr(held, name)
            except UnreadableError:  # no known key opens the address: it is like none
                present = None
            if present != value:
                changes[name] = value
        if not changes:
            return
        for name, value in changes.items():
            setattr(held, name, value)
        if changes.get("is_active"):
            _find_room(held.agent)
            # A constraint lets no endpoint be gone and on.
            held.gone_at = None
        held.save(update_fields=["sealed_address", "events", "is_active", "gone_at"])
        told = changes | ({"address": held.shortened} if "address" in changes else {})
        Event.record("endpoint.changed", actor=actor, door=door, at=now, endpoint=held.public_id, changes=told)


def rotate_secret(endpoint: WebhookEndpoint, *, now: datetime, actor: str, door: Door) -> str:
    """Make a new secret and return its text, which is shown this once; the one before holds for a day more."""
    with write_transaction():
        # Locked: of two rotations at once the second would otherwise forget the secret that the first one has shown.
        held = WebhookEndpoint.objects.select_for_update().get(pk=endpoint.pk)
        text = held.new_secret(now)
        held.save(update_fields=["sealed"])
        Event.record("endpoint.secret_rotated", actor=actor, door=door, at=now, endpoint=held.public_id)
    return text


def check_address(address: str) -> None:
    """Raise UnusableAddressError for an address that no endpoint may have; where a name leads is seen when sending."""
    if not is_plain_url(address) or len(address) > MAX_ADDRESS:
        raise UnusableAddressError
    if settings.RETRYCONTRACT.allow_private_webhooks:
        return
    parts = urlsplit(address)
    if parts.scheme != "https":
        raise UnusableAddressError
    if leads_inside(parts.hostname or ""):
        raise ClosedAddressError


def _find_room(agent: Agent | None) -> None:
    if WebhookEndpoint.objects.filter(agent=agent, is_active=True).count() >= MOST_ON:
        raise TooManyEndpointsError(agent)


def _values(events: Sequence[WebhookEvent]) -> list[str]:
    """Give the events' names, each once and in one order; raises ValueError for what is none."""
    chosen = {WebhookEvent(event) for event in events}
    return [event.value for event in WebhookEvent if event in chosen]


def tell_endpoints(event: WebhookEvent, call: Call, /, *, now: datetime, **details: Any) -> None:
    """Note for every endpoint that listens what is to be sent; nothing is sent here.

    `details` are names and numbers, never values of the agent's.
    """
    listening = WebhookEndpoint.objects.listening(call.agent, event)
    if not listening:
        return
    body = write_event(
        event.value, call, at=now, state=call.state, attempts=call.attempts_made,
        tool_call_id=call.last_tool_call_id, **details,
    )  # fmt: skip
    OutboxMessage.objects.bulk_create(
        OutboxMessage(
            channel=Channel.ENDPOINT, endpoint=endpoint, subject=event.value, text=body, created_at=now, due_at=now
        )
        for endpoint in listening
    )

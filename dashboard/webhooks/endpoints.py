"""What the pages of webhooks show and take: which systems are told of what, and how that went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Q

from dashboard.shared.long_list import Search, read_page
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.webhooks.events import WebhookEvent
from retrycontract.store.models import Agent, OutboxMessage, WebhookDelivery, WebhookEndpoint
from retrycontract.store.models.endpoints import MAX_ADDRESS

MOST_ENDPOINTS: Final = 200
PAGE: Final = 20  # messages of a log
EVENTS: Final = {
    WebhookEvent.CALL_BLOCKED: "the attempts ran out, a person is asked",
    WebhookEvent.GUIDANCE_GIVEN: "a person answered",
    WebhookEvent.CALL_RESOLVED: "the agent got it right while it was Blocked",
    WebhookEvent.CALL_EXPIRED: "nobody answered in time",
    WebhookEvent.CALL_CANCELLED: "the agent gave the call up",
}
_IN_ORDER: Final = list(EVENTS)


@dataclass(frozen=True, slots=True)
class EndpointLine:
    """Show an endpoint."""

    endpoint: WebhookEndpoint

    @property
    def place(self) -> str:
        """Say where it leads, as far as that is no secret."""
        return self.endpoint.shortened

    @property
    def events(self) -> list[str]:
        """Name what it is told of."""
        return [event.value for event in _IN_ORDER if event in self.endpoint.events]

    @property
    def failures(self) -> int:
        """Tell how many tries have failed in a row."""
        try:
            return self.endpoint.turn.failures
        except ObjectDoesNotExist:  # nothing was sent yet
            return 0

    @property
    def state(self) -> tuple[str, str]:
        """Give the state of a call whose colour and shape fit, and a word."""
        if self.endpoint.gone_at is not None:
            return "rejected", "Gone"
        if not self.endpoint.is_active:
            return "cancelled", "Off"
        return ("blocked", "Failing") if self.failures else ("valid", "On")


@dataclass(frozen=True, slots=True)
class MessageLine:
    """Show a message with every try to deliver it, the newest first."""

    message: OutboxMessage
    tries: tuple[WebhookDelivery, ...]

    @property
    def has_ended(self) -> bool:
        """Tell whether nobody tries it any more, so that it can be sent again."""
        return self.message.delivered_at is not None or self.message.given_up_at is not None

    @property
    def state(self) -> tuple[str, str]:
        """Give the state of a call whose colour and shape fit, and a word."""
        if self.message.delivered_at is not None:
            return "valid", "Delivered"
        if self.message.given_up_at is not None:
            return "expired", "Given up"
        return ("blocked", "Tried in vain") if self.message.tries else ("pending", "Waits")

    @property
    def body(self) -> Any:
        """Give what is sent."""
        return parse_json(self.message.text)[0]


def list_endpoints() -> list[EndpointLine]:
    """List the endpoints, the oldest first."""
    found = WebhookEndpoint.objects.select_related("agent", "turn").defer("sealed")
    return [EndpointLine(endpoint) for endpoint in found[:MOST_ENDPOINTS]]


def read_log(endpoint: WebhookEndpoint, after: str) -> tuple[list[MessageLine], str]:
    """List messages of an endpoint, the newest first, and say after which the next page begins."""
    page = read_page(Search(endpoint.messages.prefetch_related("deliveries"), Q()), after, size=PAGE)
    return [MessageLine(message, tuple(message.deliveries.all())) for message in page.rows], page.following


class EndpointForm(forms.Form):
    """Ask where and of what an endpoint is told; whether the address will do is the use case's to say."""

    address = forms.CharField(max_length=MAX_ADDRESS, error_messages={"required": "Write where messages are to go."})
    events = forms.TypedMultipleChoiceField(
        coerce=WebhookEvent, choices=[(event.value, what) for event, what in EVENTS.items()], initial=_IN_ORDER,
        error_messages={"required": "Choose at least one: it would be told nothing."},
    )  # fmt: skip


class NewEndpointForm(EndpointForm):
    """Ask for an endpoint; whose calls it is told of cannot be changed later."""

    agent = forms.ModelChoiceField(Agent.objects.order_by("name"), required=False, empty_label="All agents")


class ChangeForm(EndpointForm):
    """Ask what is to change; an address is shown to nobody, so that an empty one keeps what is there."""

    address = forms.CharField(max_length=MAX_ADDRESS, required=False)

"""The log of agents' responses: a view of the attempts, which hold all of it already."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from retrycontract.contract.kinds import Kind
from retrycontract.contract.webhooks import ResponseStatus, response_status
from retrycontract.store.models.attempts import Attempt
from retrycontract.store.models.calls import Call, CallQuerySet

OF_STATUS = {
    ResponseStatus.SUCCESS: Q(is_valid=True),
    ResponseStatus.MALFORMED: Q(is_valid=False, is_parsed=False),
    ResponseStatus.SCHEMA_VIOLATION: Q(is_valid=False, is_parsed=True),
}
# Without an output there was no response: the model could not be asked.
HAS_OUTPUT = Q(is_parsed=True) | Q(output__isnull=False)


class ResponseQuerySet(models.QuerySet["LoggedResponse"]):
    """Find responses; they stand in the order of the log: the newest call first, its replies one after the other."""

    def with_status(self, status: ResponseStatus) -> ResponseQuerySet:
        """Keep the replies that are logged so."""
        return self.filter(OF_STATUS[status])

    def page(self, calls: CallQuerySet, *, after: tuple[Call, int] | None, size: int) -> list[LoggedResponse]:
        """List the first replies of some calls, or those that follow the reply of that number of a call.

        The calls are found first, by an index of their own, so that no history is sorted: each brings a reply at least.
        """
        rest = self
        if after is not None:
            call, number = after
            # The call itself stays in: more replies of it may follow.
            calls = calls.filter(pk__lte=call.pk)
            rest = self.filter(Q(call__lt=call.pk) | Q(number__gt=number))
        replied = calls.filter(
            models.Exists(rest.filter(call=models.OuterRef("pk")).order_by()), kind=Kind.AGENT_RESPONSE
        )
        found = rest.filter(call__in=replied.order_by("-pk").values("pk")[:size])
        return list(found.select_related("call__agent").defer("sealed", "feedback")[:size])


class ResponseManager(models.Manager["LoggedResponse"]):
    """Keep the judged attempts of calls of this kind."""

    def get_queryset(self) -> ResponseQuerySet:
        """Give the whole log."""
        every = ResponseQuerySet(self.model, using=self._db)
        return every.filter(HAS_OUTPUT, call__kind=Kind.AGENT_RESPONSE, is_valid__isnull=False)


class LoggedResponse(Attempt):
    """One line of the log: an attempt of a call of agent responses, after its verdict."""

    objects: ClassVar[ResponseManager] = ResponseManager()  # type: ignore[assignment]  # narrower than that of all attempts

    class Meta:
        proxy = True
        ordering = ("-call_id", "number")
        verbose_name = "agent response"

    @property
    def response_status(self) -> ResponseStatus:
        """Tell how the reply went."""
        return response_status(is_valid=bool(self.is_valid), is_parsed=self.is_parsed)

    @property
    def correction_attempt(self) -> int:
        """Count the corrections up to this reply: 0 for the reply itself."""
        return self.number - 1

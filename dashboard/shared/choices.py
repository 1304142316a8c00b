"""What somebody chose to see of a list, one page of it by keys, and the words of desk and settings for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, ClassVar, Final, Generic, Self, TypeVar
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import BooleanField, Case, Count, Min, Model, Q, QuerySet, Value, When
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.http import QueryDict
from django.utils import timezone

from retrycontract.config.service_settings import ServiceSettings
from retrycontract.contract.configuration import shown_duration
from retrycontract.contract.decisions import DECISIONS, Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.call_texts import Part
from retrycontract.store.fields import Block, block_of
from retrycontract.store.models.endpoints import shortened
from retrycontract.store.models.events import within
from retrycontract.usecases.calls.repeat_request import safe_identifier
from retrycontract.usecases.people.admit import is_time_zone

NOBODY = "nobody"


def service_facts() -> list[tuple[str, str]]:
    """Say how long history is kept, who is told of escalations and how often, and when sessions end."""
    service: ServiceSettings = settings.RETRYCONTRACT
    days, address = service.retention_days, service.notify_webhook_url
    pause = shown_duration(timedelta(seconds=service.notify_pause_seconds))
    facts = [
        ("Calls that ended are kept", shown_duration(timedelta(days=days)) if days else "for good"),
        ("A Blocked call waits", shown_duration(timedelta(days=service.blocked_expires_after_days))),
        ("Escalations go by webhook to", shortened(address) if address else NOBODY),
        ("and by e-mail to", ", ".join(service.notify_email) or NOBODY),
    ]
    facts += [("Pause between two messages", pause)] if address or service.notify_email else []
    return [
        *facts,
        ("You must log in again when idle for", shown_duration(timedelta(minutes=service.session_idle_minutes))),
    ]


@dataclass(frozen=True, slots=True)
class OutputWords:
    """Name an output of one kind, and what its agent does with it."""

    noun: str  # what a person corrects
    whole: str  # what the agent sent
    these: str
    use: str
    used: str
    judge: str  # what an output may be too good for


WORDINGS: Final = {
    Kind.TOOL_CALL: OutputWords("arguments", "call", "these", "runs it", "executed", "schema"),
    Kind.AGENT_RESPONSE: OutputWords("response", "response", "this", "goes on with it", "used", "schema"),
    Kind.SOURCE_FILE: OutputWords("file", "file", "this", "writes it", "written", "check"),
    Kind.EXTRACTION: OutputWords("extraction", "extraction", "this", "goes on with it", "used", "schema"),
}


STATE_WORDS: Final = {
    CallState.GUIDED: "Waiting for agent",
    CallState.PENDING: "Being checked",
    CallState.RETRYING: "Agent retries",
}


def state_word(state: str) -> str:
    return STATE_WORDS.get(CallState(state), state.capitalize())


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """Offer one decision."""

    decision: Decision
    title: str
    what: str


def choices_for(kind: str) -> list[DecisionChoice]:
    """Offer what may be decided about an output of a kind."""
    words = asdict(WORDINGS[Kind(kind)])
    return [
        DecisionChoice(decision, entry.title.format(**words), entry.what.format(**words))
        for decision, entry in DECISIONS.items()
        if kind not in entry.not_of
    ]


def given_word(decision: str, kind: str) -> str:
    return Decision(decision).entry.given.format(**asdict(WORDINGS[Kind(kind)]))


MAX_SEARCH: Final = 200  # the longest id
MAX_OPTIONS: Final = 200  # of a list to choose from; the search finds the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Hold what was chosen, each under its name in the address; empty text is no choice."""

    unsaid: ClassVar[frozenset[str]] = frozenset({"q"})  # what has no chip: it stands in its field

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Read an address; what nobody offers is no choice."""
        read = {field.name: clean(query.get(field.name, "")) for field in fields(cls)}
        return cls(**{name: value if cls.offers(name, value) else "" for name, value in read.items()})

    @classmethod
    def unread(cls, query: QueryDict, **more: bool) -> list[str]:
        """Name what of an address would choose nothing; `more` says of the page's other names what can be read."""
        chosen = cls.of(query)
        read = {field.name: bool(getattr(chosen, field.name)) for field in fields(cls)}
        places = {"after": is_place(query.get("after", "")), "zone": is_time_zone(query.get("zone", ""))}
        return unread(query, read | places | more)

    @classmethod
    def offers(cls, _name: str, _value: str) -> bool:
        """Tell whether something may be chosen."""
        return True

    @property
    def address(self) -> str:
        return urlencode(list(self._chosen()))

    @property
    def is_any(self) -> bool:
        return any(self._chosen())

    @property
    def number(self) -> int:
        """Count what was chosen beside the search."""
        return sum(name not in self.unsaid for name, _ in self._chosen())

    def without(self, name: str) -> str:
        return replace(self, **{name: ""}).address

    @property
    def chips(self) -> list[tuple[str, str]]:
        """Say each choice in words, with the address that takes it back."""
        words = self.words
        return [(words[name], self.without(name)) for name, _ in self._chosen() if name not in self.unsaid]

    @property
    def words(self) -> dict[str, str]:
        return dict(self._chosen())

    def _chosen(self) -> Iterator[tuple[str, str]]:
        for field in fields(self):
            if value := getattr(self, field.name):
                yield field.name, value


def unread(query: QueryDict, read: Mapping[str, bool]) -> list[str]:
    """Name what of an address would choose nothing: a page goes on without it and says so, a file is not made.

    `read` are the names that are known, each with whether its value could be read; of two values one would be lost.
    """
    given = {name: [value.strip() for value in values] for name, values in query.lists()}
    strange = {name for name, values in given.items() if name not in read or (any(values) and not read[name])}
    strange |= {name for name, values in given.items() if len(set(values)) > 1}
    # None of what was sent is repeated, but for names like ours.
    return sorted({name if re.fullmatch("[a-z_]{1,20}", name) else "a name that is not known" for name in strange})


def clean(text: str) -> str:
    """Give what was asked for as it would be stored."""
    return safe_identifier(text.strip()[:MAX_SEARCH])


def plain(names: Iterable[str]) -> list[str]:
    """Keep the names that hide nothing: the value of a choice is sent as it is, and cannot be shown otherwise."""
    return [name for name in names if visible(name) == name]


YEARS = range(1970, 9999)  # at the ends of the calendar there is no other zone, and no minute before or after
IN_FIELD = "%Y-%m-%dT%H:%M"  # as a field for date and time has it


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedChoices(Choices):
    """Hold what was chosen with a time: from `since`, up to `until` but without it, both written in UTC."""

    since: str = ""
    until: str = ""
    times: ClassVar[tuple[str, ...]] = ("since", "until")

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Read an address; `zone` is that of the form whose times have none."""
        told, zone = query.copy(), query.get("zone", "")
        for name in cls.times:
            told[name] = _in_utc(query.get(name, ""), ZoneInfo(zone) if is_time_zone(zone) else UTC)
        return super(TimedChoices, cls).of(told)

    @property
    def since_field(self) -> str:
        return _local(self.since, IN_FIELD)

    @property
    def until_field(self) -> str:
        return _local(self.until, IN_FIELD)

    @property
    def time_words(self) -> dict[str, str]:
        """Say the time in words, in the zone of whoever looks."""
        return {"since": f"Since {shown_time(self.since)}", "until": f"Until {shown_time(self.until)}"}

    def in_time(self, rows: QuerySet[Any], field: str) -> QuerySet[Any]:
        return within(rows, field, since=moment(self.since), until=moment(self.until))


def moment(text: str) -> datetime | None:
    """Read a time as an address has it; nothing where there is none."""
    return datetime.fromisoformat(text) if text else None


def shown_time(text: str) -> str:
    """Write a time of an address for whoever looks, in their zone."""
    return _local(text, "%Y-%m-%d %H:%M %Z")


def _local(text: str, form: str) -> str:
    at = moment(text)
    return timezone.localtime(at).strftime(form) if at else ""


def _in_utc(text: str, zone: tzinfo) -> str:
    """Write a moment for an address; what is none is no choice."""
    try:
        # A field for date and time sends no zone: its form says in which one it was filled in.
        at = datetime.fromisoformat(text.strip())
        moment = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year in YEARS else ""


Row = TypeVar("Row", bound=Model)

PAGE: Final = 50
MOST_LOOKED_AT: Final = 5_000  # of what one index gives, for what none knows
CHUNK: Final = 1_000  # rows that are read at once for a file
MOST_EXPORTED: Final = 20_000  # rows of one file, some 5 MB: the front of house holds an answer as a whole


@dataclass(frozen=True, slots=True)
class Search(Generic[Row]):
    """Say what is looked for: `rows`, which one index gives by their keys, and among them what fits `sieve`.

    Where it takes several indexes, each of the `parts` has its own, and no row is in two of them.
    """

    rows: QuerySet[Row]
    sieve: Q
    parts: tuple[Part, ...] = (Part(Q()),)


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """Hold some rows and where the next page begins, empty on the last one.

    `is_cut` where it ends because enough was looked at: more may follow, and the page may be empty.
    """

    rows: tuple[Row, ...]
    following: str
    is_cut: bool = False


def is_place(after: str) -> bool:
    """Tell whether a text is the place after which a page begins."""
    return after.isascii() and after.isdecimal() and len(after) < 18


def read_page(search: Search[Row], after: str, *, size: int = PAGE) -> ListPage[Row]:
    """Read one page; `after` is the `following` of the page before, or the key of its last row."""
    rows = search.rows.order_by("-pk")
    if is_place(after):
        rows = rows.filter(LessThanOrEqual(Block("pk"), block_of(int(after))), pk__lt=int(after))
    looked_at = [_looked_at(rows, part, search.sieve, MOST_LOOKED_AT // len(search.parts)) for part in search.parts]
    # Below the highest floor something was not looked at.
    floor = max(lowest for _, lowest in looked_at)
    if not any(part.condition for part in search.parts):
        found = tuple(looked_at[0][0][: size + 1])
    else:
        # Keys are in the indexes: of what several give whole rows would be read only to be sorted.
        keys = [key for found, _ in looked_at for key in found.values_list("pk", flat=True)[: size + 1] if key >= floor]
        found = tuple(rows.filter(pk__in=sorted(keys)[-size - 1 :]))
    if len(found) > size:
        return ListPage(found[:size], str(found[size - 1].pk))
    return ListPage(found, str(floor or ""), is_cut=floor > 0)


def _looked_at(rows: QuerySet[Row], part: Part, sieve: Q, most: int) -> tuple[QuerySet[Row], int]:
    """Keep of one part what fits the sieve, and give the key below which it was not looked at, 0 where nothing is."""
    rows = rows.filter(part.condition).order_by(*part.order)
    if not sieve:
        return rows, 0
    seen = rows.values("pk")[:most].aggregate(number=Count("pk"), lowest=Min("pk"))
    if part.condition:
        # No index may be chosen for what else must fit: SQLite takes it that each would leave ten rows.
        sieve = Q(Case(When(sieve, then=Value(True)), default=Value(False), output_field=BooleanField()))
    # Bounded below as well: else the database would look on, through all rows, for enough that fit.
    if not seen["number"]:
        return rows.none(), 0
    lowest = seen["lowest"]
    fitting = rows.filter(GreaterThanOrEqual(Block("pk"), block_of(lowest)), sieve, pk__gte=lowest)
    return fitting, lowest if seen["number"] == most else 0


def read_all(search: Search[Row], after: str, *, most: int = MOST_EXPORTED, chunk: int = CHUNK) -> Iterator[Row]:
    """Read what follows a place, as much as one file takes, chunk by chunk."""
    while most:
        page = read_page(search, after, size=min(most, chunk))
        yield from page.rows
        most, after = most - len(page.rows), page.following
        if not after:
            return

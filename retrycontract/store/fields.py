"""Model fields: JSON as text, and public ids that sort by age."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import models

from retrycontract.contract.json_types import STORED, WrittenJSON, write_json

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter that reads as a digit
LENGTH = 26


def new_id(prefix: str) -> str:
    """Make an id such as `call_01jd…`: 48 bits of milliseconds and 80 random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return f"{prefix}_{''.join(ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))}"


def new_call_id() -> str:
    """Make the public id of a call."""
    return new_id("call")


def new_escalation_id() -> str:
    """Make the public id of an escalation."""
    return new_id("esc")


def new_message_id() -> str:
    """Make the public id of a message that is sent to people or systems."""
    return new_id("msg")


def new_endpoint_id() -> str:
    """Make the public id of a webhook endpoint."""
    return new_id("ep")


class JSONText(models.TextField):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Store JSON as ASCII text, the same on every database.

    jsonb would reorder keys, turn 1e308 into an integer and refuse NUL and lone surrogates; escaped text keeps all.
    """

    if TYPE_CHECKING:  # what the type checker takes for a text's value
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        """Parse what the database holds."""
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        """Leave values as they are: they are JSON already."""
        return value

    def get_prep_value(self, value: Any) -> str | None:
        """Write a value as ASCII JSON, unless it is written so; NaN and infinity are refused."""
        if isinstance(value, WrittenJSON):
            return value.text
        return None if value is None else write_json(value, **STORED)

    def value_to_string(self, obj: models.Model) -> Any:
        """Give dumps the value as it is, as to_python takes it back."""
        return self.value_from_object(obj)


class SqlLiteral(models.Value):
    """Write a constant of ours into the statement itself.

    SQLite uses a partial index only where the statement says what the index is limited to; behind a parameter it sees
    nothing, and reads the whole table or all calls of an agent.
    """

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002 - Django's signature
        """Write the text in quotes; a percent sign would be a parameter's."""
        return "'{}'".format(str(self.value).replace("'", "''").replace("%", "%%")), []


def literals(values: Iterable[str]) -> list[SqlLiteral]:
    """Write several."""
    return [SqlLiteral(str(value)) for value in values]

"""The one value that a schema leaves for a field, where there is just one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from retrycontract.contract.advice.spot import ABSENT, options_of, types_of
from retrycontract.contract.checks.composition import InstancePlace


def sole_answer(place: InstancePlace) -> Any:
    """Give the only value that is allowed, else the default, else [] for an array; ABSENT where one would guess."""
    fixed = _only(options_of(place))
    if fixed is not ABSENT:
        return fixed
    default = _only(schema["default"] for schema in place.schemas if "default" in schema)
    if default is not ABSENT:
        return default
    return [] if set(types_of(place)) == {"array"} else ABSENT


def _only(values: Iterable[Any]) -> Any:
    distinct = {json.dumps(value, sort_keys=True): value for value in values}
    return next(iter(distinct.values())) if len(distinct) == 1 else ABSENT

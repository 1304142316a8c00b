"""The settings of a contract: bounded, immutable, and loud about what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, Literal, Self

from retrycontract.contract.errors import WrongInputError

SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=365)  # who wants to wait longer has forgotten the call
GRAMMAR = "a whole number of seconds, or a number with s, m, h or d such as '30m', '12h' or '7d', from 1s to 365d"
_UNITS = {"": "seconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
# Nine digits at most: so many days are just what a timedelta can hold.
_DURATION = re.compile(r"([0-9]{1,9})([smhd]?)")


def parse_duration(value: Any) -> timedelta:
    """Read a duration: seconds as a number, or text with a unit; raises ValueError that says what is allowed."""
    # Not `isinstance`: a bool is an int, and true would be one second.
    text = str(value) if type(value) is int else value
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        duration = timedelta(**{_UNITS[match[2]]: int(match[1])})
        if SHORTEST <= duration <= LONGEST:
            return duration
    raise ValueError(f"must be {GRAMMAR}")


def shown_duration(duration: timedelta) -> str:
    """Write a duration in words: '30 minutes', '1 day 12 hours'; the two largest units, seconds at least."""
    seconds = max(int(duration.total_seconds()), 0)
    parts = []
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"


Mode = Literal["observe", "enforce"]
SanitizerMode = Literal["balanced", "strict"]
OnExpiry = Literal["expire", "reject"]  # never "accept": silence must not run anything


class ConfigurationError(WrongInputError):
    """Raised for an unknown key or a value out of range; says where, which key and what is allowed."""

    def __init__(self, source: str, key: str, problem: str) -> None:
        self.source, self.key, self.problem = source, key, problem
        super().__init__(f"{source}: {key}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfiguration:
    """Hold every setting of the contract, flat; the sections of the file are for people.

    Lengths are in characters. Raises ConfigurationError when a value is out of its range.
    """

    max_attempts: int = 3
    track_history: bool = True
    max_message_length: int = 2000
    max_errors_shown: int = 10
    max_value_preview: int = 100
    include_hints: bool = True
    include_actual_values: bool = True
    redact_secrets: bool = True
    sanitizer_mode: SanitizerMode = "balanced"
    relativize_paths: bool = True
    project_roots: tuple[str, ...] = (".",)
    mode: Mode = "enforce"
    overrides: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=())

    def __post_init__(self) -> None:
        for setting in fields(self):
            problem = _problem(setting.name, getattr(self, setting.name))
            if problem:
                raise ConfigurationError("RetryConfiguration", setting.name, problem)

    def for_tool(self, name: str) -> RetryConfiguration:
        """Apply the overrides that name the tool, exactly or as a glob; the exact name wins."""
        merged = self.overrides_of(name)
        return replace(self, **{key: value for key, value in merged.items() if key in SETTINGS}) if merged else self

    def overrides_of(self, name: str) -> dict[str, Any]:
        """Merge the overrides that name the tool, those that only the service reads among them."""
        matching = [(key == name, changes) for key, changes in self.overrides if key == name or fnmatchcase(name, key)]
        merged: dict[str, Any] = {}
        # The sort is stable: globs keep the order of the file, and the exact name comes last, which is why it wins.
        for _, changes in sorted(matching, key=lambda item: item[0]):
            merged.update(changes)
        return merged

    @classmethod
    def from_mapping(cls, section: Mapping[str, Any], *, source: str) -> Self:
        """Read the `tools.validation` section, snake_case or PascalCase; raises ConfigurationError."""
        return cls(**_collected(_top(section, source=source), source=source))


SETTINGS = frozenset(setting.name for setting in fields(RetryConfiguration)) - {"overrides"}
SECTIONS: dict[str, tuple[str, ...]] = {
    "retry": ("max_attempts", "track_history"),
    "formatting": (
        "max_message_length", "max_errors_shown", "max_value_preview", "include_hints", "include_actual_values",
    ),
    "sanitizing": ("redact_secrets", "sanitizer_mode", "relativize_paths", "project_roots"),
}  # fmt: skip
# The service reads these from the same override; the in-process contract has no use for them.
SERVICE_OVERRIDES = frozenset({"expires_after", "on_expiry"})
# One sanitiser serves feedback, store, logs and pages, where the calls of all tools stand side by side.
FOR_EVERY_TOOL = frozenset(SECTIONS["sanitizing"]) | {"max_value_preview"}
RANGES: dict[str, tuple[int, int]] = {
    "max_attempts": (1, 10),             # more than ten failures in a row is a loop, not a correction
    "max_message_length": (500, 4000),
    "max_errors_shown": (1, 100),
    "max_value_preview": (20, 1000),
}  # fmt: skip


def _problem(name: str, value: Any) -> str | None:
    if name in RANGES:
        low, high = RANGES[name]
        if type(value) is not int or not low <= value <= high:
            return f"must be a whole number from {low} to {high}, not {value!r}"
    elif name == "mode":
        if value not in ("observe", "enforce"):
            return f"must be 'observe' or 'enforce', not {value!r}"
    elif name == "sanitizer_mode":
        if value not in ("balanced", "strict"):
            return f"must be 'balanced' or 'strict', not {value!r}"
    elif name == "project_roots":
        if not isinstance(value, tuple) or not all(isinstance(root, str) for root in value):
            return f"must be a list of folder names, not {value!r}"
    elif name == "expires_after":
        try:
            parse_duration(value)
        except ValueError as error:
            return f"{error}, not {value!r}"
    elif name == "on_expiry":
        if value not in ("expire", "reject"):
            return f"must be 'expire' or 'reject', not {value!r}; nothing is ever executed because nobody answered"
    elif name == "overrides":
        return _problem_of_overrides(value)
    elif type(value) is not bool:
        return f"must be true or false, not {value!r}"
    return None


def _problem_of_overrides(value: Any) -> str | None:
    if not isinstance(value, tuple):
        return "must be a tuple of pairs: a tool's name or glob, and its settings"
    for tool, changes in value:
        for name, setting in changes.items():
            if name not in SETTINGS | SERVICE_OVERRIDES:
                return f"{tool}: unknown setting {name!r}; known are {', '.join(sorted(SETTINGS | SERVICE_OVERRIDES))}"
            if problem := _problem_of_override(name, setting):
                return f"{tool}: {name} {problem}"
    return None


def _problem_of_override(name: str, value: Any) -> str | None:
    if name in FOR_EVERY_TOOL:
        return "holds for every tool; set it outside of the overrides"
    return _problem(name, value)


def _top(section: Mapping[str, Any], *, source: str) -> Iterator[tuple[str, str, Any]]:
    for key, value in section.items():
        name = snake_case(str(key))
        if name == "overrides":
            yield name, str(key), tuple(_overrides(value, source=source))
        elif name == "mode":
            yield name, str(key), _checked(name, value, where=str(key), source=source)
        elif name in SECTIONS:
            yield from _settings(value, allowed=_allowed(key, name), where=str(key), source=source)
        else:
            known = ", ".join([*SECTIONS, "mode", "overrides"])
            raise ConfigurationError(source, f"tools.validation.{key}", f"unknown section; known are {known}")


def _collected(given: Iterator[tuple[str, str, Any]], *, source: str) -> dict[str, Any]:
    """Gather values by name; of two spellings or sections that set the same, neither may win unseen."""
    places: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, where, value in given:
        if name in places:
            raise ConfigurationError(source, where, f"sets {name}, as {places[name]} does: keep one")
        places[name], values[name] = where, value
    return values


def _overrides(value: Any, *, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(source, "overrides", "must map tool names or globs to settings")
    for tool, changes in value.items():
        if not str(tool).strip():
            raise ConfigurationError(source, "overrides", "one of them names no tool: give its name or a glob")
        if not isinstance(changes, Mapping):
            raise ConfigurationError(source, f"overrides.{tool}", "must be a mapping of settings")
        yield str(tool), _collected(_of_tool(str(tool), changes, source=source), source=source)


def _of_tool(tool: str, changes: Mapping[str, Any], *, source: str) -> Iterator[tuple[str, str, Any]]:
    for key, setting in changes.items():
        name, where = snake_case(str(key)), f"overrides.{tool}.{key}"
        if name in SECTIONS:
            given = list(_settings(setting, allowed=_allowed(key, name), where=where, source=source))
            if common := sorted(FOR_EVERY_TOOL & {each for each, _, _ in given}):
                raise ConfigurationError(source, f"{where}.{common[0]}", _problem_of_override(common[0], None) or "")
            yield from given
        elif name == "mode" or name in SERVICE_OVERRIDES:
            yield name, where, _checked(name, setting, where=where, source=source)
        else:
            known = ", ".join([*SECTIONS, "mode", *sorted(SERVICE_OVERRIDES)])
            raise ConfigurationError(source, where, f"unknown key; known are {known}")


def _allowed(key: Any, name: str) -> tuple[str, ...]:
    """List the settings of a section; the PascalCase form is flat: `Retry` holds those of every section."""
    return tuple(chain.from_iterable(SECTIONS.values())) if key == "Retry" else SECTIONS[name]


def _settings(value: Any, *, allowed: tuple[str, ...], where: str, source: str) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(source, where, "must be a mapping of settings")
    for key, setting in value.items():
        name = snake_case(str(key))
        # In this section `mode` is the sanitiser's; a tool's own stands beside the sections.
        if name == "mode" and allowed == SECTIONS["sanitizing"]:
            name = "sanitizer_mode"
        if name not in allowed:
            raise ConfigurationError(source, f"{where}.{key}", f"unknown key; known are {', '.join(allowed)}")
        yield name, f"{where}.{key}", _checked(name, setting, where=f"{where}.{key}", source=source)


def _checked(name: str, value: Any, *, where: str, source: str) -> Any:
    if name == "project_roots" and isinstance(value, list):
        value = tuple(value)
    if problem := _problem(name, value):
        raise ConfigurationError(source, where, problem)
    return value


def snake_case(key: str) -> str:
    """Write `MaxAttempts` as `max_attempts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()

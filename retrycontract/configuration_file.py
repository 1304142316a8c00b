"""Read the contract's configuration from `.agent/config.yml` and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from retrycontract.contract.configuration import ConfigurationError, RetryConfiguration

DEFAULT_PATH = Path(".agent/config.yml")
PREFIX = "RETRYCONTRACT_"
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def load_configuration(path: Path = DEFAULT_PATH, environ: Mapping[str, str] | None = None) -> RetryConfiguration:
    """Read the file, if there is one, and let the environment override it; raises ConfigurationError."""
    section = _read(path)
    from_file = RetryConfiguration.from_mapping(section, source=str(path))
    changes = _from_environment(environ or {})
    if not changes:
        return from_file
    values = {setting.name: getattr(from_file, setting.name) for setting in fields(RetryConfiguration)}
    return RetryConfiguration(**(values | changes))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        raise ConfigurationError(str(path), where, "this is not YAML") from None
    section = document
    for key in ("tools", "validation"):
        if not isinstance(section, Mapping):
            raise ConfigurationError(str(path), key, "must be a mapping")
        section = next((value for name, value in section.items() if str(name).lower() == key), {}) or {}
    if not isinstance(section, Mapping):
        raise ConfigurationError(str(path), "tools.validation", "must be a mapping of sections")
    return section


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for setting in fields(RetryConfiguration):
        text = environ.get(PREFIX + setting.name.upper())
        if text is not None and setting.name != "overrides":
            changes[setting.name] = _value(setting.name, text)
    return changes


def _value(name: str, text: str) -> Any:
    default = getattr(RetryConfiguration(), name)
    variable = PREFIX + name.upper()
    if isinstance(default, bool):
        if text.strip().lower() not in WORDS:
            raise ConfigurationError("environment", variable, f"must be true or false, not {text!r}")
        return WORDS[text.strip().lower()]
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ConfigurationError("environment", variable, f"must be a whole number, not {text!r}") from None
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text

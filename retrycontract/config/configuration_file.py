"""Read the contract's configuration from `.agent/config.yml` and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from retrycontract.config.variables import PREFIX
from retrycontract.contract.configuration import SECTIONS, SETTINGS, ConfigurationError, RetryConfiguration, snake_case

ROOT = ("tools", "validation")
DEFAULT_PATH = Path(".agent/config.yml")
OURS = frozenset(name for names in SECTIONS.values() for name in names)
TEXT = "tag:yaml.org,2002:str"
ODD_NUMBER = re.compile(r"[_:]|^[-+]?0\w")
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def load_configuration(path: str | Path = DEFAULT_PATH, environ: Mapping[str, str] | None = None) -> RetryConfiguration:
    """Read the file, if there is one, and let the environment override it; raises ConfigurationError."""
    configuration = RetryConfiguration.from_mapping(_read(Path(path)), source=str(path))
    for name in sorted(SETTINGS):
        text = (environ or {}).get(variable(name))
        if text is None:
            continue
        value = _value(name, text)
        try:
            configuration = replace(configuration, **{name: value})
        except ConfigurationError as error:
            raise ConfigurationError("environment", variable(name), error.problem) from None
    # The contract knows no file system, so relative roots are resolved here.
    roots = tuple(str(Path(root).resolve()) for root in configuration.project_roots)
    return replace(configuration, project_roots=roots)


def configuration_of(option: Path | None, environ: Mapping[str, str]) -> RetryConfiguration:
    """Read the file that a command's option names, else RETRYCONTRACT_CONFIG_FILE, else the usual one.

    Only the usual one may be missing; raises ConfigurationError and FileNotFoundError.
    """
    if option is not None:
        option.stat()
    elif named := environ.get(variable("config_file")):
        option = Path(named)
        if not option.is_file():
            what = "is no file" if option.exists() else "is not there"
            raise ConfigurationError("environment", variable("config_file"), f"{named} {what}: correct the path")
    return load_configuration(option or DEFAULT_PATH, environ)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigurationError(str(path), f"byte {error.start + 1}", "this is not UTF-8 text") from None
    import yaml  # a megabyte, which who has no such file is spared

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        _refuse_twice(node, str(path))
        _keep_as_written(node, set())
        document = loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        raise ConfigurationError(str(path), where, "this is not YAML") from None
    except RecursionError:
        raise ConfigurationError(str(path), "the file", "this is nested too deeply") from None
    if document is None:
        return {}
    _refuse_misplaced(document, str(path))
    section = document
    for key in ROOT:
        if not isinstance(section, Mapping):
            raise ConfigurationError(str(path), key, "must be a mapping")
        for name in (str(name) for name in section if str(name).lower() != key):
            from retrycontract.contract.advice.names import slips_between  # seldom needed, and not quick to load

            # A name that is unlike the key belongs to others who read the file.
            if slips_between(name.lower(), key) is not None:
                above = "" if section is document else "tools."
                raise ConfigurationError(str(path), f"{above}{name}", f"unknown key; did you mean {above + key!r}?")
        section = next((value for name, value in section.items() if str(name).lower() == key), None)
        if section is None:  # left out, or nothing stands below it
            return {}
    if not isinstance(section, Mapping):
        raise ConfigurationError(str(path), "tools.validation", "must be a mapping of sections")
    return section


def _keep_as_written(node: Any, seen: set[int]) -> None:
    """Let a key be the text that it is, such as a tool's name `on`, and a number the digits that people read.

    YAML 1.1 makes `on` a truth value, `010` eight and `1:30` ninety; as texts such numbers are refused with their name.
    """
    if node is None or node.id == "scalar" or id(node) in seen:
        return
    seen.add(id(node))  # an alias may lead round for ever
    pairs = node.value if node.id == "mapping" else [(None, value) for value in node.value]
    for key, value in pairs:
        if key is not None and key.id == "scalar" and key.value != "<<":
            key.tag = TEXT
        if value.id == "scalar" and value.tag.endswith((":int", ":float")) and ODD_NUMBER.search(value.value):
            value.tag = TEXT
        _keep_as_written(value, seen)


def _refuse_twice(node: Any, source: str, above: tuple[str, ...] = ()) -> None:
    """Refuse a key that stands twice in one mapping of ours, of which YAML's reader would take the last."""
    lines: dict[str, int] = {}
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if key.id != "scalar" or key.value == "<<":
            continue
        # The first two keys are found in any case; what stands beside them belongs to others.
        name = key.value if len(above) >= len(ROOT) else key.value.lower()
        if len(above) < len(ROOT) and name != ROOT[len(above)]:
            continue
        place, line = ".".join([*above, key.value]), key.start_mark.line + 1
        if name in lines:
            raise ConfigurationError(source, place, f"stands twice, in line {lines[name]} and line {line}: keep one")
        lines[name] = line
        # Deeper than overrides.TOOL.SECTION nothing is ours; an alias could lead round for ever.
        if len(above) < len(ROOT) + 3:
            _refuse_twice(value, source, (*above, key.value))


def _refuse_misplaced(document: Any, source: str) -> None:
    """Refuse a section of ours where nothing reads it; what holds none of our settings belongs to others."""
    if not isinstance(document, Mapping):
        return
    tools = next((value for name, value in document.items() if str(name).lower() == "tools"), None)
    if not isinstance(tools, Mapping):
        tools = {}
    here = [("", str(key), value) for key, value in document.items()]
    for above, key, value in (*here, *(("tools", str(key), value) for key, value in tools.items())):
        path = f"{above}.{key}".lstrip(".")
        if "." in key and path.lower().startswith("tools.validation"):
            raise ConfigurationError(
                source, path, f"{key!r} is one name: write each of its parts as a mapping of its own"
            )
        name, inner = (
            snake_case(key),
            {snake_case(str(each)) for each in value} if isinstance(value, Mapping) else set(),
        )
        home = next((section for section, names in SECTIONS.items() if name in names), None)
        if name == "validation":
            is_ours = not above and not inner.isdisjoint({*SECTIONS, "mode", "overrides"})
            place = "tools.validation"
        elif name == "mode":
            is_ours, place = str(value).lower() in ("observe", "enforce"), "tools.validation.mode"
        else:
            # Beside `tools` stand the sections of others, who may retry as well.
            is_ours = name in SECTIONS and bool(inner) and (not inner.isdisjoint(OURS) if above else inner <= OURS)
            is_ours = is_ours or (above == "tools" and home is not None)
            place = f"tools.validation.{f'{home}.' if home else ''}{name}"
        if is_ours:
            raise ConfigurationError(source, path, f"nothing reads this here; did you mean {place!r}?")


def variable(name: str) -> str:
    """Give the environment variable of a setting."""
    return PREFIX + name.upper()


def _value(name: str, text: str) -> Any:
    default = getattr(RetryConfiguration(), name)
    if isinstance(default, bool):
        if text.strip().lower() not in WORDS:
            raise ConfigurationError("environment", variable(name), f"must be true or false, not {text!r}")
        return WORDS[text.strip().lower()]
    if isinstance(default, int):
        if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):  # `int` also takes 1_0 and the digits of other scripts
            raise ConfigurationError("environment", variable(name), f"must be a whole number, not {text!r}")
        return int(text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text

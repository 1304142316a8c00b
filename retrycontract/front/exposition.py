"""Metrics as Prometheus reads them: its text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Type = Literal["counter", "gauge", "histogram"]
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold one number; `suffix` tells the parts of a histogram apart."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Hold the samples of one metric."""

    name: str
    type: Type
    help: str
    samples: tuple[Sample, ...]


def write_exposition(families: Iterable[Family]) -> str:
    """Write metrics as text; a metric without samples is left out."""
    return "".join(_family(family) for family in families if family.samples)


def _family(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}"]
    lines += [f"{family.name}{sample.suffix}{_labels(sample)} {_number(sample.value)}" for sample in family.samples]
    return "\n".join(lines) + "\n"


def _labels(sample: Sample) -> str:
    pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels)
    return f"{{{pairs}}}" if pairs else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))

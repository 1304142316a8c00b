"""The public interface is what docs/public-api.txt lists: whoever changes it changes that page and sees it."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "docs" / "public-api.txt"
PACKAGES = (
    "retrycontract", "retrycontract.client", "retrycontract.client.frameworks", "retrycontract.loops",
    "retrycontract.mcp",
)  # fmt: skip
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
WRITE = "write it anew: python -m tests.test_public_api"


def described() -> Iterator[str]:
    for package in PACKAGES:
        module = importlib.import_module(package)
        yield f"# {package}"
        for name in sorted(getattr(module, "__all__", ())):
            yield from entry(name, getattr(module, name))


def entry(name: str, value: Any) -> Iterator[str]:
    """Give a name with its signature and, of a class, its public members."""
    yield f"{name}{signature(value)}"
    if not inspect.isclass(value):
        return
    for member, found in sorted(vars(value).items()):
        if member.startswith("_"):
            continue
        inner = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        yield f"  {name}.{member}{signature(inner) if inspect.isfunction(inner) else ''}"


def signature(value: Any) -> str:
    if not callable(value):
        return ""
    try:
        return ADDRESS.sub("", str(inspect.signature(value)))
    except (TypeError, ValueError):  # classes that are written in C, and aliases of types
        return ""


def test_the_public_interface_is_the_listed_one() -> None:
    assert LISTING.read_text().splitlines() == list(described()), WRITE


if __name__ == "__main__":
    LISTING.write_text("\n".join(described()) + "\n")

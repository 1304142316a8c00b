"""Find in the events of a YAML text the keys that a mapping has twice: most readers lose all but the last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MERGE = "<<"  # stands for the keys of others, and may do so for each of several


@dataclass(slots=True)
class _Mapping:
    """Hold what a mapping has: by a key's text its event, or the types of all keys of that text."""

    keys: dict[str, Any] = field(default_factory=dict)
    is_key_due: bool = True


class MappingKeys:
    """Follow the nodes of a text through its mappings; its events' classes are those of PyYAML."""

    def __init__(self, loader: Any) -> None:
        from yaml import MappingStartEvent, ScalarEvent, SequenceStartEvent

        self._loader = loader
        # Their classes alone are asked for, since every node of a file comes by here.
        self._scalar, self._mapping, self._sequence = ScalarEvent, MappingStartEvent, SequenceStartEvent
        self._open: list[_Mapping | None] = [None]  # None for a sequence, and for what is around a document

    def leave(self) -> None:
        """Close the innermost collection."""
        self._open.pop()

    def repeated(self, event: Any) -> str | None:
        """Take the next node, and give its text where it is a key that its mapping has already."""
        inner, repeated, kind = self._open[-1], None, type(event)
        if inner is not None:
            if inner.is_key_due and kind is self._scalar:
                text = event.value
                if inner.keys.setdefault(text, event) is not event and text != MERGE and self._is_known(inner, event):
                    repeated = str(text)
            inner.is_key_due = not inner.is_key_due
        if kind is self._mapping:
            self._open.append(_Mapping())
        elif kind is self._sequence:
            self._open.append(None)
        return repeated

    def _is_known(self, inner: _Mapping, event: Any) -> bool:
        # Few texts come back, so only then it is asked whether they are of one type: the number 1 is no "1".
        before, own = inner.keys[event.value], tag_of(self._loader, event)
        types = before if isinstance(before, set) else {tag_of(self._loader, before)}
        is_known = own in types
        types.add(own)
        inner.keys[event.value] = types
        return is_known


def tag_of(loader: Any, event: Any) -> str:
    """Give the type of a scalar, as it is written or as YAML tells it from the text."""
    from yaml import ScalarNode

    return str(event.tag if event.tag not in (None, "!") else loader.resolve(ScalarNode, event.value, event.implicit))

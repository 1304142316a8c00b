"""Apply JSON Patch (RFC 6902), as far as corrections need it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeGuard

from retrycontract.contract import pointers

Operation = dict[str, Any]
Patch = tuple[Operation, ...]
OPERATIONS = ("add", "replace", "remove", "move")


class PatchError(ValueError):
    """Raised when a patch does not fit the document; `position` is the operation's."""

    def __init__(self, position: int, reason: str) -> None:
        self.position, self.reason = position, reason
        super().__init__(f"operation {position}: {reason}")


def apply_patch(document: Any, patch: Sequence[Operation]) -> Any:
    """Return the document as the patch leaves it; raises PatchError when an operation does not fit.

    The document stays as it is. What the patch does not touch belongs to both: copy it before you change it in place.
    """
    draft = _Draft(document)
    for position, operation in enumerate(patch):
        try:
            draft.apply(operation)
        except LookupError as error:
            raise PatchError(position, str(error)) from None
    return draft.document


class _Draft:
    """Change a document without touching the one that it was made of: a container is copied before its first change.

    Each is copied once, so that a long patch costs no more than its length and the containers on its way.
    """

    def __init__(self, document: Any) -> None:
        self.document = document
        self._own: dict[int, Any] = {}  # by identity; kept alive, so that no other object gets the same

    def apply(self, operation: Any) -> None:
        """Do one operation; raises LookupError when it does not fit."""
        name, path = (operation.get("op"), operation.get("path")) if isinstance(operation, dict) else (None, None)
        if name not in OPERATIONS or not _is_pointer(path):
            raise LookupError("only add, replace, remove and move with a path are known")
        if name == "move":
            source = operation.get("from")
            if not _is_pointer(source):
                raise LookupError("move needs a from")
            if path.startswith(f"{source}/"):
                raise LookupError("nothing can be moved into itself")
            value = pointers.resolve(self.document, source)
            self._change("remove", source, None)
            self._change("add", path, value)
        elif name != "remove" and "value" not in operation:
            raise LookupError(f"{name} needs a value")
        else:
            # Copied: a later operation may change what this one puts in, and the patch itself has to stay as it is.
            self._change(name, path, copy.deepcopy(operation.get("value")))

    def _change(self, name: str, path: str, value: Any) -> None:
        if not path:
            if name == "remove":
                raise LookupError("the whole document cannot be removed")
            self.document = value
            return
        container, token = self._own_container(pointers.parent(path)), pointers.last(path)
        if isinstance(container, dict):
            if name == "add":
                container[token] = value
            elif token not in container:
                raise LookupError(f"there is no member {token!r}")
            elif name == "replace":
                container[token] = value
            else:
                del container[token]
        elif isinstance(container, list):
            if name == "add" and token == "-":
                container.append(value)
                return
            index = pointers.index_of(token)
            if index is None or index >= len(container) + (name == "add"):
                raise LookupError(f"there is no item {token!r}")
            if name == "add":
                container.insert(index, value)
            elif name == "replace":
                container[index] = value
            else:
                del container[index]
        else:
            raise LookupError(f"nothing can be changed at {path!r}")  # noqa: TRY004 - the document's shape, not a type

    def _own_container(self, pointer: str) -> Any:
        """Make every container on the way to a place, and the one there, this draft's own."""
        pointers.resolve(self.document, pointer)  # first, as it says what is missing by the whole pointer
        here = self.document = self._owned(self.document)
        for token in pointers.tokens(pointer):
            key = token if isinstance(here, dict) else int(token)
            here[key] = here = self._owned(here[key])
        return here

    def _owned(self, value: Any) -> Any:
        if not isinstance(value, dict | list | tuple) or id(value) in self._own:
            return value
        copied = dict(value) if isinstance(value, dict) else list(value)
        self._own[id(copied)] = copied
        return copied


def _is_pointer(text: Any) -> TypeGuard[str]:
    return isinstance(text, str) and text[:1] in ("", "/")

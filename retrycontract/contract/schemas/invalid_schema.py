"""What is wrong with a schema, told to the developer who registers it."""

from __future__ import annotations

from enum import StrEnum

EXCERPT = 40  # characters of a schema that a message may quote
POINTER_SHOWN = 200  # keys may be as long as the schema; the message stays readable


class SchemaFault(StrEnum):
    """Name one kind of fault; the value is stable, programs may branch on it."""

    NOT_A_SCHEMA = "not-a-schema"
    NOT_JSON = "not-json"
    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"
    TOO_MANY_NODES = "too-many-nodes"
    UNKNOWN_DRAFT = "unknown-draft"
    METASCHEMA = "metaschema"
    PATTERN = "pattern"
    REMOTE_REF = "remote-ref"
    UNRESOLVED_REF = "unresolved-ref"
    REF_CYCLE = "ref-cycle"
    EXPANSION = "expansion"
    UNCOMPILABLE = "uncompilable"


class InvalidSchema(ValueError):  # noqa: N818 - public name; it says what is wrong with what
    """Raised at registration for a schema that cannot be used: the developer's mistake, never the model's.

    `pointer` is the JSON Pointer to the fault inside the schema, `reason` a sentence that says what is wrong and
    what to do, `code` one of SchemaFault.
    """

    def __init__(self, pointer: str, reason: str, code: SchemaFault) -> None:
        # All three are arguments of the exception, so that it survives pickling.
        super().__init__(pointer, reason, code)
        self.pointer, self.reason, self.code = pointer, reason, code

    def __str__(self) -> str:
        return f"{excerpt(self.pointer, POINTER_SHOWN) or '(root)'}: {self.reason}"


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """Cut a text to a short, printable excerpt; what cannot be seen becomes an escape."""
    shown = text if len(text) <= limit else f"{text[: limit // 2]}…{text[-(limit // 2) + 1 :]}"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in shown)

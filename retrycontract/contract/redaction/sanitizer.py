"""Sanitise what leaves the process: `redact` keeps structure without secrets, `preview` shows one line of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from functools import _lru_cache_wrapper, lru_cache
from types import MappingProxyType
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import MARK, MARK_PATTERN, strings_in
from retrycontract.contract.redaction.previews import (
    ELLIPSIS,
    Cut,
    elide_middle,
    fit,
    quote,
    relativize_ends,
    render_number,
    visible,
)
from retrycontract.contract.redaction.scanner import BALANCED, STRICT, Scanner
from retrycontract.contract.redaction.schema_marks import HIDDEN, SchemaMarks
from retrycontract.contract.redaction.walk import LONGEST_CACHED, Redactor

__all__ = ["ValueSanitizer", "elide_middle", "has_redaction", "visible"]

# A container's preview may be this many times as long as a string's.
CONTAINER_SHARE = 4
# Characters of a long text, next to what is kept of it, that are read as well: so many to make up for marks that
# are shorter, and as many again that are left out then, since a secret that is cut in two is not recognised.
MARGIN = 6_000
# Keywords of a schema that hold values of the field it describes, and those that hold fields by name.
VALUED = frozenset({"default", "example", "examples"})
Choices = Mapping[int, Mapping[str, Any]]
NO_CHOICES: Choices = MappingProxyType({})
NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})


def redacted_ends(text: str, most: int, redact: Callable[[str], str], margin: int = MARGIN) -> str:
    """Redact a text of which at most so many characters are kept at either end; what is far from both is left out."""
    end = most + 2 * margin
    if len(text) <= 2 * end:
        return redact(text)
    return f"{redact(text[:end])[:-margin]}{ELLIPSIS}{redact(text[-end:])[margin:]}"


class ValueSanitizer:
    """Redact secrets and preview values; linear in the input, never raises."""

    _marks: SchemaMarks | None = None
    _hidden: tuple[str, ...] = ()

    def __init__(self, configuration: RetryConfiguration = RetryConfiguration()) -> None:  # noqa: B008 - it is immutable
        self._configuration = configuration
        self._limit = configuration.max_value_preview
        self._scanner = STRICT if configuration.sanitizer_mode == "strict" else BALANCED
        self._strings = self._redactor(())

    @property
    def configuration(self) -> RetryConfiguration:
        """Give the settings that it follows."""
        return self._configuration

    @property
    def redacts_secrets(self) -> bool:
        """Tell whether secrets are replaced at all."""
        return self._configuration.redact_secrets

    def redact(self, value: Any, field_path: str = "", *, marked: Collection[str] = ()) -> Any:
        """Replace the secrets in a JSON value, its structure kept.

        `field_path` is the value's RFC 6901 pointer, the names on it count as parents; `marked` are the pointers,
        in the same document, of values that the schema calls sensitive.
        """
        if type(value) is str and not marked:
            return self._strings.redact_string(value, field_path)
        return self._redactor(marked).redact(value, field_path)

    def echoes_of(self, value: Any, *, marked: Collection[str] = ()) -> Echoes:
        """Give the secrets of a JSON value, or of a text, that must not stand in what is said of it either."""
        redactor = self._redactor(marked)
        redactor.redact(value, "")
        return redactor.echoes

    def preview(self, value: Any, field_path: str = "", *, marked: Collection[str] = ()) -> str:
        """Show a value on one line: redacted, paths relative, shortened, every character visible."""
        if type(value) is str and not marked:
            return self._quoted(self._strings.redact_string(value, field_path))
        shown = self._redactor(marked, bounded=True).redact(value, field_path)
        text = self._render(shown)
        longest = self._limit * CONTAINER_SHARE
        return text if len(text) <= longest else f"{elide_middle(text, longest)} (truncated)"

    sanitize = preview

    def redact_text(self, text: str) -> str:
        """Replace the secrets in free text and leave everything else as it is."""
        for value in self._hidden:
            text = text.replace(value, HIDDEN)
        return self._strings.redact_string(text, "")

    def redact_ends(self, text: str, most: int, margin: int = MARGIN) -> str:
        """Replace the secrets in free text and shorten it in the middle, of which no more is read than is needed."""
        return elide_middle(redacted_ends(text, most, self.redact_text, margin), most)

    def for_schema(self, marks: SchemaMarks | None) -> ValueSanitizer:
        """Give one that hides in texts of outputs, too, what the schema marks."""
        if marks is self._marks or not self.redacts_secrets:
            return self
        bound = copy(self)
        bound._marks = marks  # noqa: SLF001 - it is one of these
        return bound

    def hiding(self, values: Collection[str]) -> ValueSanitizer:
        """Give one that hides these values in texts: whoever speaks of an output may quote what is marked in it."""
        if not values or not self.redacts_secrets:
            return self
        bound = copy(self)
        bound._hidden = tuple(sorted(values, key=len, reverse=True))  # noqa: SLF001 - it is one of these
        return bound

    def redact_output(self, text: str, *, is_talk: bool = False) -> str:
        """Replace the secrets in an output that was not read as JSON, or in what was said instead of one."""
        if self._marks:
            text = self._marks.without_mentions(text) if is_talk else self._marks.of_text(text)
        return self.redact_text(text)

    def redact_key(self, name: str) -> str:
        """Replace a key of an output by a mark where the schema marks something and does not declare the key."""
        return HIDDEN if self._marks and not self._marks.declares(name) else self.redact_name(name)

    def preview_text(self, text: str, limit: int) -> str:
        """Show free text on one line of at most `limit` characters, without quotes."""
        return fit(self._relative(self.redact_text(text)), limit, visible)[0]

    def redact_name(self, name: str) -> str:
        """Replace the secrets in one name: an object key, a tool's name, a token of a pointer."""
        return self._redacted(_redacted_name, name)

    def redact_identifier(self, text: str) -> str:
        """Replace the secrets in an identifier or in a word of a schema, where what is merely random is none."""
        return self._redacted(_redacted_identifier, text)

    def _redacted(self, redact: _lru_cache_wrapper[str], text: str) -> str:
        if not self._configuration.redact_secrets:
            return text
        # Each name of a submission is asked for some twenty times.
        return redact(self._scanner, text) if len(text) < LONGEST_CACHED else redact.__wrapped__(self._scanner, text)

    def redact_schema(self, schema: Any, name: str = "", *, choices: Choices = NO_CHOICES) -> Any:
        """Replace the secrets in an admitted schema, to show it; `name` is the field that it describes.

        `choices` has, by the ids of subschemas, what to show for those of their keywords that tell a secret.
        """
        if isinstance(schema, dict):
            held = choices.get(id(schema), {})
            return {
                self.redact_identifier(key): held[key] if key in held else self._member(key, part, name, choices)
                for key, part in schema.items()
            }
        if isinstance(schema, list):
            return [self.redact_schema(part, name, choices=choices) for part in schema]
        return self.redact_identifier(schema) if isinstance(schema, str) else schema

    def redact_pointer(self, pointer: str) -> str:
        """Replace the secrets in the tokens of a JSON Pointer."""
        redacted = [self.redact_name(token) for token in pointers.tokens(pointer)]
        return pointers.from_tokens(redacted)

    def is_secret_name(self, name: str) -> bool:
        """Say whether the name alone makes a field's value secret."""
        return judge(name).mark is not None

    def _member(self, keyword: str, part: Any, name: str, choices: Choices) -> Any:
        if keyword in VALUED:
            return self.redact(part, pointers.from_tokens([name] if name else []))
        if keyword in NAMED and isinstance(part, dict):
            return {
                self.redact_identifier(field): self.redact_schema(child, field, choices=choices)
                for field, child in part.items()
            }
        return self.redact_schema(part, name, choices=choices)

    def _redactor(self, marked: Collection[str], *, bounded: bool = False) -> Redactor:
        return Redactor(self._scanner, secrets=self._configuration.redact_secrets, marked=marked, bounded=bounded)

    def _quoted(self, text: str) -> str:
        return quote(self._relative(text), self._limit)

    def _relative(self, text: str) -> str:
        if not self._configuration.relativize_paths:
            return text
        return relativize_ends(text, self._limit, self._configuration.project_roots)

    def _render(self, value: Any) -> str:
        """Write a bounded value as JSON; the depth is bounded, so that this may call itself."""
        if value is None:
            return "null"
        if type(value) is str:
            return self._quoted(value)
        if type(value) is Cut:
            return self._render_cut(value)
        return render_number(value, self._limit)

    def _render_cut(self, cut: Cut) -> str:
        if cut.is_object:
            parts = [f"{self._quoted(key)}: {self._render(child)}" for key, child in cut.entries]
            hidden = cut.total - len(parts)
            if hidden:
                parts.append(f"... {hidden} more" if parts else f"... {_counted(cut.total, 'key')}")
            return "{" + ", ".join(parts) + "}"
        parts = [self._render(child) for _, child in cut.entries]
        if cut.total > len(parts):
            parts.insert(-1 if parts else 0, "...")
            return f"[{', '.join(parts)}] ({_counted(cut.total, 'item')})"
        return "[" + ", ".join(parts) + "]"


_redacted_identifier = lru_cache(maxsize=2048)(Scanner.redact_word)
_redacted_name = lru_cache(maxsize=512)(Scanner.redact)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def has_redaction(value: Any) -> bool:
    """Say whether any string or key in the JSON value holds a redaction mark."""
    return any(MARK in text and MARK_PATTERN.search(text) for text in strings_in(value))

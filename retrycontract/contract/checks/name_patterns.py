"""Which of a schema's `patternProperties` a name matches: all of them looked for at once, in linear time."""

from __future__ import annotations

from functools import lru_cache

import re2

# Bytes that the automaton of all patterns may take, beyond which nothing matches; they compile to a tenth at most.
MAX_MEMORY = 256 * 1024 * 1024
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # else the library writes patterns that it cannot read to stderr
_OPTIONS.max_mem = MAX_MEMORY


class NamePatterns:
    """Hold patterns, ready to be looked for in names; one that this engine cannot read matches every name."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._set, self._read, self.unreadable = re2.Set.SearchSet(_OPTIONS), list[str](), list[str]()
        for pattern in patterns:
            try:
                self._set.Add(pattern)
            except re2.error:
                self.unreadable.append(pattern)
            else:
                self._read.append(pattern)
        if self._read:
            self._set.Compile()

    def matching(self, name: str) -> list[str]:
        """List the patterns that the name matches."""
        positions = sorted(self._set.Match(name) or ()) if self._read else ()
        return [*(self._read[position] for position in positions), *self.unreadable]


@lru_cache(maxsize=500)
def name_patterns(patterns: tuple[str, ...]) -> NamePatterns:
    """Give the patterns compiled; those of the schemas that were used last are kept."""
    return NamePatterns(patterns)

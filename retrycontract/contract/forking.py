"""Locks and forks: whoever held one in the parent is not in the child, and would never let go of it there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Condition, RLock, get_ident
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
MOST_WAITED = 1.0  # seconds that a fork waits for other threads


_holders: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_lazy: list[cached_property[object]] = []


def renew_in_children(holder: T, renew: Callable[[T], None]) -> None:
    """Have the locks of something made anew in every process that is forked from this one, as long as it lives.

    `renew` also makes whole what another thread may have been changing under them.
    """
    _holders[holder] = renew


def renew_lazy_parts(*owners: type) -> None:
    """Do the same for the cached properties of classes: in Python 3.11 each has a lock, one for all instances."""
    parts = (part for owner in owners for part in vars(owner).values())
    _lazy.extend(part for part in parts if isinstance(part, cached_property) and "lock" in vars(part))


class _Work:
    """Know which threads use what has locks that nobody can renew: the automata of patterns, which are another's."""

    def __init__(self) -> None:
        self._changed, self._forks, self._under_way = Condition(), 0, Counter[int]()

    def begin(self) -> None:
        with self._changed:
            # Who is at work already goes on: the fork waits for it.
            self._changed.wait_for(lambda: not self._forks or self._under_way[get_ident()])
            self._under_way[get_ident()] += 1

    def end(self) -> None:
        with self._changed:
            self._under_way[get_ident()] -= 1
            if not self._under_way[get_ident()]:
                del self._under_way[get_ident()]
            if self._forks:
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Let nobody begin, and wait for who is at work elsewhere; not for long, as it may wait for this thread."""
        self._changed.acquire()
        self._forks += 1
        self._changed.wait_for(lambda: not self._under_way.keys() - {get_ident()}, MOST_WAITED)

    def after_in_parent(self) -> None:
        self._forks -= 1
        self._changed.notify_all()
        self._changed.release()

    def after_in_child(self) -> None:
        mine = self._under_way[get_ident()]
        self._changed, self._forks, self._under_way = Condition(), 0, Counter({get_ident(): mine} if mine else {})


_work = _Work()


@contextmanager
def undivided() -> Iterator[None]:
    """Keep a fork of another thread waiting while the block runs, and the block while one is made."""
    _work.begin()
    try:
        yield
    finally:
        _work.end()


def _renew() -> None:
    _work.after_in_child()
    for holder, renew in list(_holders.items()):
        renew(holder)
    for part in _lazy:
        vars(part)["lock"] = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_work.before_fork, after_in_parent=_work.after_in_parent, after_in_child=_renew)

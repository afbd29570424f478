"""Walking over the arrays of a state: to compare, save, grow and view it, and to begin again.

**Learning on views.** One number read from a NumPy array is a NumPy scalar, whose arithmetic is
several times slower than that of a float. A `memoryview` of the same memory gives floats and ints.
A view of one axis is read three times as fast as one of two, so that an array with more axes is
viewed row by row. Verbs that learn are the same functions and come to the same bytes on either; of
the states that `learn_on_views` names they must not slice, index one axis at a time, as in
`counts[action][signal]`, and use `len` in place of `.size`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.kernel import kernel
from foretell.policies.verbs import admit, begin, has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretell.types import Ints, Problem

_WORD = 8
"""Bytes in a word of a block."""


def leaves(state: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalars and arrays of a state with their dotted names, scratch left out.

    >>> from foretell.policies import Ucb
    >>> from foretell.types import Problem
    >>> [name for name, _ in leaves(begin(Ucb(), Problem(2, 2)))]
    ['scale', 'rewards.counts', 'rewards.grains', 'mean', 'root']
    """
    for name, value in zip(state._fields, state, strict=True):
        if name.startswith("scratch"):
            continue
        if hasattr(value, "_fields"):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def fingerprint(state: Any) -> bytes:
    """Return all that a state knows as bytes: equal bytes, equal knowledge."""
    return b"".join(
        name.encode() + np.asarray(value).tobytes() + str(np.shape(value)).encode()
        for name, value in leaves(state)
    )


def grow(spec: Any, state: Any, known_actions: int, problem: Problem) -> Any:
    """Return the state for a problem with more actions than were known, or more signals.

    Arrays are indexed by action, by signal or by the round of a window along each axis, so what is
    known keeps its index, bit for bit, and what is added is what `begin` puts there, or `admit`.
    """
    grown = begin(spec, problem)
    for (_, known), (_, blank) in zip(leaves(state), leaves(grown), strict=True):
        if isinstance(blank, np.ndarray):
            blank[tuple(slice(length) for length in known.shape)] = known
    if has(admit, grown) and problem.actions > known_actions:
        admit(grown, known_actions)
    return grown


_VIEWED: set[type] = set()


def learn_on_views(*state_types: type) -> None:
    """Let the verbs that learn be called with views of states of these types."""
    _VIEWED.update(state_types)


def learning_view(state: Any) -> Any:
    """Return what verbs that learn are called with, in place of a state: it shares its memory.

    >>> from foretell.policies import NsdAdaptive
    >>> from foretell.policies.registry import start
    >>> from foretell.policies.verbs import observe
    >>> from foretell.types import Problem
    >>> state = start(NsdAdaptive(), Problem(2, 2))
    >>> observe(learning_view(state), 0, 1, 1)
    >>> int(state.base.runs.counts[1, 0, 1])
    1
    """
    return _viewed(state) if type(state) in _VIEWED else state


class _Rows(dict[int, Any]):
    """The rows of an array, each viewed when it is first asked for: a large state has many."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__()
        self._array = array
        self.shape = array.shape

    def __missing__(self, index: int) -> Any:
        row = self[index] = _viewed(self._array[index])
        return row


def _viewed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.size == 0:
            return value
        return value.data if value.ndim == 1 else _Rows(value)
    if hasattr(value, "_fields"):
        return type(value)(*map(_viewed, value))
    return value


def in_one_block(state: Any) -> tuple[Any, Ints]:
    """Return the same state with its arrays in one block of memory, and the block, in words.

    So a new run begins with one copy, see `restore`.
    """
    block = np.zeros(_words(state), np.int64)
    moved, _ = _moved(state, block, 0)
    return moved, block


@kernel
def restore(block: Ints, pristine: Ints) -> None:
    """Bring a state back to what it was before the first round."""
    for word in range(block.size):
        block[word] = pristine[word]


def _words(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return -(-value.nbytes // _WORD)
    return sum(_words(part) for part in value) if isinstance(value, tuple) else 0


def _moved(value: Any, block: Ints, first: int) -> tuple[Any, int]:
    """Return a part of a state in the block from word `first` on, and the word after it."""
    if isinstance(value, np.ndarray):
        end = first + _words(value)
        room = block[first:end].view(np.uint8)[: value.nbytes]
        array = room.view(value.dtype).reshape(value.shape)
        array[...] = value
        return array, end
    if not isinstance(value, tuple):
        return value, first
    parts = []
    for part in value:
        moved, first = _moved(part, block, first)
        parts.append(moved)
    return type(value)(*parts), first

"""A state whose arrays lie in one block of memory, so that a new run begins with one copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Ints

_WORD = 8


def in_one_block(state: Any) -> tuple[Any, Ints]:
    """Return the same state with its arrays in one block, and the block in words of 8 bytes."""
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

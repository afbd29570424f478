"""Compiled code is kept where its sources can be read, and only there."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from foretell.sim.compile_cache import compiled_folder, structure_of


class Typed(NamedTuple):
    plays: int


def test_a_state_that_was_typed_into_a_notebook_has_no_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Typed, "__module__", "__main__")
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    compiled_folder.cache_clear()
    assert compiled_folder(structure_of(Typed(1))) is None


def test_a_state_of_a_file_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_folder.cache_clear()
    assert compiled_folder(structure_of(Typed(1))) is not None

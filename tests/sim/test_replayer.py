"""What replays a log, compiled, is looked for without waiting for what is still being imported."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from foretell.policies.registry import policy, start
from foretell.sim import replayer
from foretell.types import Problem


def test_nothing_is_imported_or_compiled_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that another thread is importing is listed before it has anything in it."""
    half = ModuleType("foretell.sim.compiled")
    monkeypatch.setitem(sys.modules, "foretell.sim.compiled", half)
    monkeypatch.setattr(replayer, "_loaded", {})
    assert replayer.loaded_reader(start(policy("ucb"), Problem(2, 2))) is None


@pytest.mark.compiled
def test_what_was_compiled_is_found_by_all_later_states() -> None:
    state = start(policy("ucb"), Problem(2, 2))
    reader = replayer.refit_reader(state, replayer.MANY_DECISIONS)
    assert reader is not None
    assert replayer.loaded_reader(start(policy("ucb"), Problem(3, 2))) is reader

"""Who takes part in the leaderboard."""

from __future__ import annotations

import dataclasses

import foretell as ft
from foretell.studies.leaderboard.entrants import entrants, window_family
from foretell.worlds import suite_entry


def test_entrants_are_set_as_their_papers_say() -> None:
    entry = suite_entry("paper-d500")
    specs = entrants(entry)
    assert set(specs) >= {
        name
        for name, one in ft.registered_policies().items()
        if one.spec.__module__.startswith("foretell.")
    }
    assert str(specs["sw-ucb"]) == "sw-ucb(window=309)"
    assert str(specs["d-ucb"]) == "d-ucb(gamma=0.995159)"
    assert str(specs["exp3s"]) == "exp3s(changes=3)"
    assert str(entrants(suite_entry("stationary-long"))["sw-ts"]) == "sw-ts(window=None)"
    assert len(window_family(entry)) == 12
    assert len(window_family(dataclasses.replace(entry, horizon=500))) == 6

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
    assert str(specs["sw-ucb"]) == "sw-ucb(window=309, scale=0.547723)"
    assert str(specs["sw-kl-ucb"]) == "sw-kl-ucb(window=309)"
    assert str(specs["d-kl-ucb"]) == "d-kl-ucb(gamma=0.995159)"
    assert str(specs["m-ucb"]) == "m-ucb(changes=3, width=150)"
    assert str(specs["cusum-ucb"]) == "cusum-ucb(changes=3, first=150, drift=0.1)"
    assert str(specs["glr-kl-ucb"]) == "glr-kl-ucb(growing=True)"
    assert str(specs["d-ucb"]) == "d-ucb(gamma=0.995159)"
    assert str(specs["exp3s"]) == "exp3s(changes=3)"
    assert str(entrants(suite_entry("stationary-long"))["sw-ts"]) == "sw-ts(window=None)"
    assert len(window_family(entry)) == 12
    assert len(window_family(dataclasses.replace(entry, horizon=500))) == 6

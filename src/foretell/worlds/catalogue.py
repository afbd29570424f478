"""Scenarios by name."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from foretell.errors import UnknownName
from foretell.worlds.censored import CENSORED_WORLDS
from foretell.worlds.paper import paper, paper_stationary, paper_two_actions
from foretell.worlds.scenario import Scenario
from foretell.worlds.suite import suite

if TYPE_CHECKING:
    from collections.abc import Callable

_SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "paper": paper,
    "paper-stationary": paper_stationary,
    "paper-two-actions": paper_two_actions,
    **{name: world.scenario for name, world in CENSORED_WORLDS.items()},
}


def scenarios() -> dict[str, str]:
    """List the named scenarios with a line about each: the paper's, the censored, the suite's."""
    named = {
        name: (make.__doc__ or "").partition("\n")[0].rstrip(".")
        for name, make in _SCENARIOS.items()
    }
    named |= {name: world.about for name, world in CENSORED_WORLDS.items()}
    return named | {entry.name: entry.tests for entry in suite()}


def scenario(name: str, **settings: Any) -> Scenario:
    """Make a named scenario, with settings of one's own.

    Any field of a scenario of the suite can be set; the others say which settings they take.

    >>> scenario("paper", delay=100).actions
    4
    >>> scenario("besson-1", delay=50).delay.rounds
    50
    """
    ready = {entry.name: entry.scenario for entry in suite()}
    if name not in _SCENARIOS and name not in ready:
        raise UnknownName.of("scenario", name, [*_SCENARIOS, *ready])
    if name in _SCENARIOS:
        known = list(inspect.signature(_SCENARIOS[name]).parameters)
    else:
        known = [field.name for field in dataclasses.fields(Scenario)]
    for setting in settings:
        if setting not in known:
            raise UnknownName.of("setting", setting, known, f"of the scenario {name!r}")
    if name in _SCENARIOS:
        return _SCENARIOS[name](**settings)
    return dataclasses.replace(ready[name], **settings)

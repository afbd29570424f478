"""Scenarios by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from foretell.errors import UnknownName
from foretell.worlds.paper import paper, paper_stationary, paper_two_actions

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.worlds.scenario import Scenario

_SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "paper": paper,
    "paper-stationary": paper_stationary,
    "paper-two-actions": paper_two_actions,
}


def scenarios() -> dict[str, str]:
    """List the named scenarios with a line about each."""
    return {
        name: (make.__doc__ or "").partition("\n")[0].rstrip(".")
        for name, make in _SCENARIOS.items()
    }


def scenario(name: str, **settings: Any) -> Scenario:
    """Make a named scenario, with settings of one's own.

    >>> scenario("paper", delay=100).actions
    4
    """
    if name not in _SCENARIOS:
        raise UnknownName.of("scenario", name, _SCENARIOS)
    make = _SCENARIOS[name]
    known = list(inspect.signature(make).parameters)
    for setting in settings:
        if setting not in known:
            raise UnknownName.of(f"setting of the scenario {name!r}", setting, known)
    return make(**settings)

"""Scenarios by name."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from foretell.errors import InvalidInput, UnknownName
from foretell.plugins import SCENARIOS, load_plugins
from foretell.worlds.censored import CENSORED_WORLDS
from foretell.worlds.paper import HORIZON, paper, paper_stationary, paper_two_actions
from foretell.worlds.scenario import Scenario
from foretell.worlds.suite import suite

if TYPE_CHECKING:
    from collections.abc import Callable

Maker = TypeVar("Maker", bound="Callable[..., Scenario]")


@dataclass(frozen=True)
class NamedScenario:
    """A function that makes a scenario, and for how long it is played on the leaderboard."""

    make: Callable[..., Scenario]
    horizon: int = HORIZON

    @property
    def about(self) -> str:
        """What it is: the first line of the function's docstring."""
        return (self.make.__doc__ or "").strip().partition("\n")[0].rstrip(".")


_SCENARIOS: dict[str, NamedScenario] = {
    "paper": NamedScenario(paper),
    "paper-stationary": NamedScenario(paper_stationary),
    "paper-two-actions": NamedScenario(paper_two_actions),
    **{name: NamedScenario(world.scenario) for name, world in CENSORED_WORLDS.items()},
}


def register_scenario(name: str, *, horizon: int = HORIZON) -> Callable[[Maker], Maker]:
    """Register a function that makes a scenario under `name`: a decorator, for your own.

    Its parameters are the settings that `foretell.scenario(name, …)` takes, the first line of its
    docstring says what it is. `horizon` is for how long it is played on the leaderboard.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise InvalidInput(
            f"a scenario's name is lower-case words joined by dashes, got {name!r}: "
            f"for instance 'my-world'"
        )

    def decorate(make: Maker) -> Maker:
        taken = _SCENARIOS.get(name)
        known = None if taken is None else (taken.make.__module__, taken.make.__qualname__)
        here = (make.__module__, make.__qualname__)
        if known not in (None, here) or name in {entry.name for entry in suite()}:
            raise InvalidInput(f"the scenario name {name!r} is taken: choose another")
        _SCENARIOS[name] = NamedScenario(make, horizon)
        return make

    return decorate


def registered_scenarios() -> dict[str, NamedScenario]:
    """List the scenarios that are made by a function, those of installed packages too."""
    for name, loaded in load_plugins(SCENARIOS).items():
        if name not in _SCENARIOS and inspect.isfunction(loaded):
            register_scenario(name)(loaded)
    return dict(_SCENARIOS)


def scenarios() -> dict[str, str]:
    """List the named scenarios with a line about each: the paper's, yours, the suite's."""
    named = {name: one.about for name, one in registered_scenarios().items()}
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
    made = _SCENARIOS if name in _SCENARIOS or name in ready else registered_scenarios()
    if name not in made and name not in ready:
        raise UnknownName.of("scenario", name, [*made, *ready])
    if name in made:
        known = list(inspect.signature(made[name].make).parameters)
    else:
        known = [field.name for field in dataclasses.fields(Scenario)]
    for setting in settings:
        if setting not in known:
            raise UnknownName.of("setting", setting, known, f"of the scenario {name!r}")
    if name in made:
        return made[name].make(**settings)
    return dataclasses.replace(ready[name], **settings)

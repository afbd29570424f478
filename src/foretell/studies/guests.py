"""Policies and scenarios of a user's own that take part in the paper's studies and on the board."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput, UnknownName
from foretell.policies import policy, registered_policies
from foretell.worlds import SuiteEntry, registered_scenarios, scenario, suite
from foretell.worlds.theta_changes import ConstantTheta

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from foretell.policies import Spec
    from foretell.worlds import Scenario


def guest_policies(named: Sequence[str | Spec], modules: Sequence[ModuleType] = ()) -> list[Spec]:
    """Return the policies that are named, else all that the modules register, as by default."""
    if named:
        return list(dict.fromkeys(policy(one) for one in named))
    known = {one.spec: name for name, one in registered_policies().items()}
    found = [known[one] for one in _defined_in(modules) if one in known and not _is_ours(one)]
    guests = []
    for name in dict.fromkeys(found):
        try:
            guests.append(policy(name))
        except TypeError:
            raise InvalidInput(
                f"the policy {name!r} has fields without a default: name it with all of them, "
                f"as in --policy '{name}(field=value)'"
            ) from None
    return guests


def guest_entries(
    named: Sequence[str | SuiteEntry], modules: Sequence[ModuleType] = ()
) -> list[SuiteEntry]:
    """Return the scenarios that are named, else all that the modules register."""
    if named:
        return [one if isinstance(one, SuiteEntry) else _entry(one) for one in named]
    known = {id(one.make): name for name, one in registered_scenarios().items()}
    found = [
        known[id(one)] for one in _defined_in(modules) if id(one) in known and not _is_ours(one)
    ]
    return [_entry(name) for name in dict.fromkeys(found)]


def _defined_in(modules: Sequence[ModuleType]) -> list[Any]:
    """Return the classes and functions that modules hold."""
    held = [value for module in modules for value in vars(module).values()]
    return [value for value in held if callable(value) and hasattr(value, "__module__")]


def _is_ours(part: Any) -> bool:
    return str(part.__module__).startswith("foretell.")


def _entry(name: str) -> SuiteEntry:
    """Return a named scenario as one of the leaderboard."""
    ready = {entry.name: entry for entry in suite()}
    if name in ready:
        return ready[name]
    made = registered_scenarios()
    if name not in made:
        raise UnknownName.of("scenario", name, [*made, *ready])
    drawn = scenario(name)
    horizon = made[name].horizon
    return SuiteEntry(
        name,
        drawn,
        horizon,
        made[name].about,
        right_model=drawn.alpha == 0.0 and isinstance(drawn.theta_changes, ConstantTheta),
        first_rewards=min(_mean_delay(drawn), horizon // 2),
    )


def _mean_delay(made: Scenario) -> int:
    """Return the mean delay in rounds, the largest over signals; 0 where most never arrive."""
    delay: Any = made.delay
    means = [one.mean() for one in delay] if isinstance(delay, tuple) else [delay.mean()]
    return round(max(mean if math.isfinite(mean) else 0.0 for mean in means))

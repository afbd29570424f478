"""Figure 3, stretched: how the regret of policies without signals grows with the horizon."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.studies.charts import Chart
from foretell.studies.growth import Growth, growth, growth_axes, growth_panels
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results

DELAYS = (100, 500, 1000)
AGNOSTIC = ("ucb", "sw-ucb(window=800)")
UNDELAYED = "oracle-ucb-nd"


def panel_name(delay: int) -> str:
    """Name the panel of a delay."""
    return f"D = {delay}"


def world_of(delay: int, factor: int = 1) -> Scenario:
    """Return the paper's world with a delay, and both it and the changes stretched by a factor."""
    at = [factor * change for change in CHANGES]
    return scenario("paper", delay=factor * delay, changes=shifts(at=at))


def growth_of(results: Results, text: str, delay: int) -> Growth:
    """Return how the regret of a policy grows at a delay."""
    return growth(results, panel_name(delay), text, f"{policy(text).name} at D={delay}")


def growth_chart(results: Results) -> Chart:
    """Draw the regret of all stretched policies against the horizon."""

    def curves(delay: int) -> list[tuple[str, Growth]]:
        names = {text: policy(text).name for text in _stretched(delay)}
        return [
            (name, growth_of(results, text, delay)._replace(name=name))
            for text, name in names.items()
        ]

    return Chart(
        "growth",
        "What is linear: the same problem, up to eight times as long",
        "Final regret with 95 % bands when the horizon, the change points and the delay are "
        "stretched alike; D is that of the shortest. A policy that pays for the delay at every "
        "change, or that never leaves a window, pays in proportion to the horizon: a line of "
        "slope 1. Oracle-UCB without delay only pays for learning.",
        tuple(growth_axes(panel_name(delay), curves(delay)) for delay in DELAYS),
        log_x=True,
        log_y=True,
        points=True,
    )


def _stretched(delay: int) -> tuple[str, ...]:
    """Return the policies whose growth is looked at."""
    return (*AGNOSTIC, UNDELAYED, *(["oracle-ucb"] if delay == DELAYS[-1] else []))


GROWTH_PANELS = tuple(
    panel
    for delay in DELAYS
    for panel in growth_panels(
        panel_name(delay),
        partial(world_of, delay),
        tuple(map(policy, _stretched(delay))),
        HORIZON,
    )
)

"""What answers: scenarios, how their laws change, delays, reward families, and drawn worlds."""

from foretell.worlds import delays, rewards
from foretell.worlds.catalogue import scenario, scenarios
from foretell.worlds.changes import interpolation, random_walk, redraws, shifts
from foretell.worlds.scenario import Scenario
from foretell.worlds.world import World

__all__ = [
    "Scenario",
    "World",
    "delays",
    "interpolation",
    "random_walk",
    "redraws",
    "rewards",
    "scenario",
    "scenarios",
    "shifts",
]

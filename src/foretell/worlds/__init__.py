"""What answers: scenarios, how their laws change, delays, reward families, and drawn worlds."""

from foretell.worlds import delays, rewards
from foretell.worlds.catalogue import (
    register_scenario,
    registered_scenarios,
    scenario,
    scenarios,
)
from foretell.worlds.changes import redraws, shifts
from foretell.worlds.drift import interpolation, random_walk
from foretell.worlds.entries import SuiteEntry
from foretell.worlds.scenario import Scenario
from foretell.worlds.suite import random_entries, suite, suite_entry
from foretell.worlds.theta_changes import theta_lines, theta_redraws, theta_steps, theta_walk
from foretell.worlds.world import World

__all__ = [
    "Scenario",
    "SuiteEntry",
    "World",
    "delays",
    "interpolation",
    "random_entries",
    "random_walk",
    "redraws",
    "register_scenario",
    "registered_scenarios",
    "rewards",
    "scenario",
    "scenarios",
    "shifts",
    "suite",
    "suite_entry",
    "theta_lines",
    "theta_redraws",
    "theta_steps",
    "theta_walk",
]

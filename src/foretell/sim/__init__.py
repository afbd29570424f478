"""How policies and worlds meet: runs, compiled runs, batches of runs and their results."""

from foretell.sim.change_statistics import (
    detection_delay,
    false_alarms,
    regret_per_segment,
    regret_since_change,
)
from foretell.sim.comparison import PolicyComparison
from foretell.sim.result import Batch, Batches, Trajectories
from foretell.sim.saved import load
from foretell.sim.simulate import simulate

__all__ = [
    "Batch",
    "Batches",
    "PolicyComparison",
    "Trajectories",
    "detection_delay",
    "false_alarms",
    "load",
    "regret_per_segment",
    "regret_since_change",
    "simulate",
]

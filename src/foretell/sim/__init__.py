"""How policies and worlds meet: runs, compiled runs, batches of runs and their results."""

from foretell.sim.batch import simulate
from foretell.sim.result import Batch, Batches, load

__all__ = ["Batch", "Batches", "load", "simulate"]

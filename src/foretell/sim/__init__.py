"""How policies and worlds meet: runs, compiled runs, batches of runs and their results."""

from foretell.sim.result import Batch, Batches, load
from foretell.sim.simulate import simulate

__all__ = ["Batch", "Batches", "load", "simulate"]

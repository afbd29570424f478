"""The same policy in the same worlds, in the lab: nothing is late, lost or sent twice.

A run of the lab meets the world and the luck of the live run with its number. It is played
several times, with other random numbers of the policy, and the mean is what the live run is
compared with: of the noise of the difference, only the server's is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.errors import MissingExtra
from foretell.policies import start
from foretell.sim.run import new_run_trace, run
from foretell.sim.streams import NOISE_STREAM, POLICY_STREAM, random_stream
from foretell.traffic.plan import Plan
from foretell.types import Floats

REPEATS = 20
"""Times that each world is played."""


class Lab:
    """Plays the runs of a plan. As on a server, the policy knows neither horizon nor changes."""

    def __init__(self, plan: Plan) -> None:
        """Prepare the runs; raise MissingExtra without numba."""
        try:
            from foretell.sim.compiled import compiled_player
        except ImportError as error:
            raise MissingExtra(
                "comparing with the lab needs numba, which is not installed: "
                "pip install 'foretell[lab]'"
            ) from error
        self._plan = plan
        self._problem = plan.scenario.problem()
        self._player = compiled_player(type(start(plan.spec, self._problem)))

    def regret(self, numbers: Sequence[int], delay: int | None = None) -> Floats:
        """Return (runs, repeats): the regret of the runs with these numbers.

        `delay` replaces the scenario's. The first repeat has the random numbers of
        `foretell.simulate`.
        """
        plan = self._plan
        regret = np.zeros((len(numbers), REPEATS))
        for index, number in enumerate(numbers):
            world = plan.world(number, delay)
            for repeat in range(REPEATS):
                record = new_run_trace(np.array([plan.horizon - 1]), plan.scenario.actions, 0)
                run(
                    world,
                    start(plan.spec, self._problem),
                    plan.horizon,
                    record,
                    noise=random_stream(plan.seed, number, NOISE_STREAM),
                    rng=random_stream(plan.seed, number, POLICY_STREAM + repeat),
                    player=self._player,
                )
                regret[index, repeat] = record.total[0]
        return regret

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
from foretell.sim.run import new_trace, run_all
from foretell.sim.streams import NOISE_STREAM, POLICY_STREAM, stream_words
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
        self._player = compiled_player(start(plan.spec, self._problem))

    def regret(self, numbers: Sequence[int], delay: int | None = None) -> Floats:
        """Return (runs, repeats): the regret of the runs with these numbers.

        `delay` replaces the scenario's. The first repeat has the random numbers of
        `foretell.simulate`.
        """
        plan = self._plan
        regret = np.zeros((len(numbers), REPEATS))
        for index, number in enumerate(numbers):
            world = plan.world(number, delay)
            again = world.of_runs(np.zeros(REPEATS, np.int64))
            kinds = (NOISE_STREAM, *range(POLICY_STREAM, POLICY_STREAM + REPEATS))
            own = stream_words(plan.seed, np.array([number]), kinds)[0]
            words = np.zeros((REPEATS, POLICY_STREAM + 1, own.shape[1]), np.uint64)
            words[:, NOISE_STREAM] = own[0]
            words[:, POLICY_STREAM] = own[1:]
            trace = new_trace(np.array([plan.horizon - 1]), REPEATS, plan.scenario.actions, 0)
            state = start(plan.spec, self._problem)
            run_all(again, state, plan.horizon, words, trace, player=self._player)
            regret[index] = trace.regret[:, -1]
        return regret

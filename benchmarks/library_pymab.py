"""UCB in pymab, through its Experiment; run by versus_libraries in an environment of its own.

Its native backend is used, the faster one. Prints CPU seconds of each turn and the mean final
regret, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from pymab import (  # type: ignore[import-not-found]
    BanditEnvironment,
    Experiment,
    ExperimentConfig,
)
from pymab.distributions import BernoulliReward  # type: ignore[import-not-found]
from pymab.policies import UCBPolicy  # type: ignore[import-not-found]


def main(means: list[float], horizon: int, runs: int, turns: int) -> None:
    """Time `runs` runs, `turns` times."""
    seconds, regret = [], 0.0
    for turn in range(turns):
        begun = time.process_time()
        result = Experiment(
            environment=BanditEnvironment(means=np.array(means), reward_model=BernoulliReward()),
            policies={"ucb": UCBPolicy(n_arms=len(means))},
            config=ExperimentConfig(horizon=horizon, n_replicates=runs, seed=turn, backend="rust"),
        ).run()
        seconds.append(time.process_time() - begun)
        regret = float(np.ravel(result.cumulative_regret[-1])[0])
    print("\n" + json.dumps({"seconds": seconds, "regret": regret}))


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))

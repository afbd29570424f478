"""UCB in SMPyBandits, through its Evaluator; run by versus_libraries in an environment of its own.

Prints CPU seconds of each turn and the mean final regret, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from SMPyBandits.Arms import Bernoulli  # type: ignore[import-not-found]
from SMPyBandits.Environment import Evaluator  # type: ignore[import-not-found]
from SMPyBandits.Policies import UCB  # type: ignore[import-not-found]


def main(means: list[float], horizon: int, runs: int, turns: int) -> None:
    """Time `runs` runs, `turns` times."""
    seconds, regret = [], 0.0
    for _ in range(turns):
        begun = time.process_time()
        evaluator = Evaluator(
            {
                "horizon": horizon,
                "repetitions": runs,
                "n_jobs": 1,
                "verbosity": 0,
                "environment": [{"arm_type": Bernoulli, "params": means}],
                "policies": [{"archtype": UCB, "params": {}}],
            }
        )
        for number, environment in enumerate(evaluator.envs):
            evaluator.startOneEnv(number, environment)
        seconds.append(time.process_time() - begun)
        regret = float(evaluator.getCumulatedRegret(0, 0)[-1])
    print("\n" + json.dumps({"seconds": seconds, "regret": regret}))


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))

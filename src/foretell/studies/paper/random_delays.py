"""The remark on random delays: delays of the same mean, from constant to heavy-tailed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.sim.legend import short_labels
from foretell.studies.batch_statistics import mean_ratio
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.claim import Claim, Finding
from foretell.studies.limits import all_below
from foretell.studies.plan import Panel, StudyPlan
from foretell.worlds import delays, scenario
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results

MEAN = 500
FAMILIES = {
    "constant": delays.ConstantDelay(MEAN),
    "uniform": delays.UniformDelay(0, 2 * MEAN),
    "geometric": delays.GeometricDelay(MEAN),
    "heavy-tailed": delays.ParetoDelay(shape=1.5, scale=MEAN / 2),
}
FOUR_TIMES = "constant, four times as long"
NSD = ("nsd-ucrl2(window=800)", "nsd-psrl(window=800)")
SPECS = tuple(policy(text) for text in (*NSD, "sw-ucb(window=800)", "ucb", "oracle-nsd"))


def _charts(results: Results) -> list[Chart]:
    return [
        Chart(
            "random-delays",
            "Random delays with a mean of 500 rounds",
            "Mean regret with 95 % bands in the paper's scenario; W = 800. The heavy-tailed delay "
            "is a Pareto law with shape 1.5, whose variance is infinite.",
            tuple(
                regret_axes(name, results[name], CHANGES, short_labels(results[name]))
                for name in FAMILIES
            ),
        )
    ]


def _no_worse_than_constant(cases: tuple[Results, list[str]]) -> Finding:
    results, families = cases
    ratios = [
        (
            f"{policy(text).name}, {family}",
            mean_ratio(results[family][text].final, results["constant"][text].final),
        )
        for text in NSD
        for family in families
    ]
    return Finding(
        all_below((ratio, 1.1) for _, ratio in ratios),
        "; ".join(f"{name}: {ratio}" for name, ratio in ratios),
    )


STUDY = StudyPlan(
    "random-delays",
    "Random delays",
    "The paper remarks that with random delays the number of missing rewards takes the place of "
    "D. Here the paper's scenario has constant, uniform, geometric and heavy-tailed delays, all "
    "with a mean of 500 rounds, and, as a control, constant delays of 2000 rounds.",
    (
        *(
            Panel(name, scenario("paper", delay=delay), SPECS, HORIZON)
            for name, delay in FAMILIES.items()
        ),
        Panel(FOUR_TIMES, scenario("paper", delay=4 * MEAN), SPECS, HORIZON),
    ),
    _charts,
    (
        Claim(
            "random-delays-cost-their-mean",
            "Random delays cost NSD policies no more than a constant delay of the same mean.",
            "Sec. 4.1, remark on random delays",
            "the mean regret of NSD-UCRL2 and NSD-PSRL under each random delay is at most 1.1 "
            "times that under the constant one, at the upper end of a bootstrap interval",
            _no_worse_than_constant,
            lambda r: (r, ["uniform", "geometric", "heavy-tailed"]),
            lambda r: (r, [FOUR_TIMES]),
        ),
    ),
)

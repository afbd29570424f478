"""Figures 4 and 5: a wrong model in a stationary world."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.sim.legend import short_labels
from foretell.studies.batch_statistics import difference
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import LEARNS, Curve, all_learn, none_worse
from foretell.studies.claim import Claim, Finding
from foretell.studies.growth import LINEAR, Growth, all_grow_linearly, growth, growth_panels
from foretell.studies.limits import all_above
from foretell.studies.plan import Panel, StudyPlan
from foretell.worlds import Scenario, scenario
from foretell.worlds.paper import HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results

FAVOURABLE, BAD = "favourable", "bad"
TWO_ACTIONS = {FAVOURABLE: (0.9, 0.1), BAD: (0.1, 0.9)}
SPECS = tuple(policy(text) for text in ("nsd-ucrl2", "nsd-psrl", "ucb"))
ON_PAR = (
    "the paired difference of final regret is at most a tenth of UCB's mean regret, at the upper "
    "end of its interval"
)


def _title(alpha: float, case: str) -> str:
    return f"α = {alpha}, {case}"


def _curve(results: Results, text: str, alpha: float, case: str) -> Curve:
    name = _title(alpha, case)
    return Curve(f"{policy(text).name} ({name})", results[name][text])


def _world(alpha: float, case: str, _factor: int = 1) -> Scenario:
    """Return the world; there is nothing in it to stretch."""
    return scenario("paper-two-actions", alpha=alpha, mu=TWO_ACTIONS[case])


def _growth(results: Results, case: str) -> Growth:
    name = _title(0.3, case)
    return growth(results, name, "nsd-ucrl2", f"nsd-ucrl2 ({name})")


def _charts(results: Results) -> list[Chart]:
    return [
        Chart(
            figure,
            f"Figure {figure[-1]}: a wrong model, stationary, α = {alpha}",
            "Actions 1 and 2 of Table 1, no delay, no window; left the mixing keeps the best "
            "action (favourable), right it speaks for the other (bad). Mean regret with 95 % "
            "bands.",
            tuple(
                regret_axes(name, results[name], (), short_labels(results[name]))
                for name in (_title(alpha, FAVOURABLE), _title(alpha, BAD))
            ),
        )
        for figure, alpha in (("fig4", 0.1), ("fig5", 0.3))
    ]


def _more_regret(pairs: list[tuple[Curve, Curve]]) -> Finding:
    found = [(one, other, difference(one.batch, other.batch)) for one, other in pairs]
    return Finding(
        all_above((gap, 0.0) for _, _, gap in found),
        "; ".join(f"{one.name} − {other.name}: {gap}" for one, other, gap in found),
    )


CLAIMS = (
    Claim(
        "low-mixing-on-par",
        "At α = 0.1 NSD-UCRL2 is on par with UCB or better, in the favourable and the bad case.",
        "Sec. 5, ablation; Fig. 4",
        ON_PAR,
        none_worse,
        lambda r: [
            (_curve(r, "nsd-ucrl2", 0.1, case), _curve(r, "ucb", 0.1, case))
            for case in (FAVOURABLE, BAD)
        ],
        lambda r: [(_curve(r, "nsd-ucrl2", 0.3, BAD), _curve(r, "ucb", 0.3, BAD))],
    ),
    Claim(
        "ucb-suffers-from-mixing",
        "UCB suffers from mixing, more in the bad case than in the favourable one (α = 0.1).",
        "Sec. 5, ablation; Fig. 4",
        "UCB's final regret in the bad case exceeds that in the favourable case, at the lower end "
        "of the paired interval",
        _more_regret,
        lambda r: [(_curve(r, "ucb", 0.1, BAD), _curve(r, "ucb", 0.1, FAVOURABLE))],
        lambda r: [(_curve(r, "ucb", 0.1, FAVOURABLE), _curve(r, "ucb", 0.1, BAD))],
    ),
    Claim(
        "ucb-learns-anyway",
        "At α = 0.3 UCB learns in the favourable and in the bad case.",
        "Sec. 5, ablation; Fig. 5",
        LEARNS,
        all_learn,
        lambda r: [_curve(r, "ucb", 0.3, case) for case in (FAVOURABLE, BAD)],
        lambda r: [_curve(r, "nsd-ucrl2", 0.3, BAD)],
        expected=True,
    ),
    Claim(
        "favourable-learns",
        "At α = 0.3 NSD-UCRL2 learns in the favourable case.",
        "Sec. 5, ablation; Fig. 5",
        LEARNS,
        all_learn,
        lambda r: [_curve(r, "nsd-ucrl2", 0.3, FAVOURABLE)],
        lambda r: [_curve(r, "nsd-ucrl2", 0.3, BAD)],
        expected=True,
    ),
    Claim(
        "favourable-on-par",
        "At α = 0.3 NSD-UCRL2 is on par with UCB in the favourable case (caption).",
        "Fig. 5, caption",
        ON_PAR,
        none_worse,
        lambda r: [(_curve(r, "nsd-ucrl2", 0.3, FAVOURABLE), _curve(r, "ucb", 0.3, FAVOURABLE))],
        lambda r: [(_curve(r, "nsd-ucrl2", 0.3, BAD), _curve(r, "ucb", 0.3, BAD))],
        group="misprint",
    ),
    Claim(
        "favourable-higher-regret",
        "At α = 0.3 NSD-UCRL2 has a higher regret than UCB in the favourable case (text).",
        "Sec. 5, ablation",
        "NSD-UCRL2's final regret exceeds UCB's, at the lower end of the paired interval",
        _more_regret,
        lambda r: [(_curve(r, "nsd-ucrl2", 0.3, FAVOURABLE), _curve(r, "ucb", 0.3, FAVOURABLE))],
        lambda r: [(_curve(r, "ucb", 0.3, BAD), _curve(r, "nsd-ucrl2", 0.3, BAD))],
    ),
    Claim(
        "bad-case-diverges",
        "At α = 0.3 NSD-UCRL2 diverges in the bad case.",
        "Sec. 5, ablation; Fig. 5",
        LINEAR,
        all_grow_linearly,
        lambda r: [_growth(r, BAD)],
        lambda r: [_growth(r, FAVOURABLE)],
    ),
)


STUDY = StudyPlan(
    "fig4",
    "Figures 4 and 5: a wrong model, stationary",
    "Actions 1 and 2 of Table 1, no delay and no change, T = 8000. In a share α of the rounds the "
    "signal is uniform and the reward has mean μ of the action: μ = (0.9, 0.1) keeps the best "
    "action, μ = (0.1, 0.9) speaks against it.",
    (
        *(
            Panel(_title(alpha, case), _world(alpha, case), SPECS, HORIZON)
            for alpha in (0.1, 0.3)
            for case in TWO_ACTIONS
        ),
        *(
            panel
            for case in TWO_ACTIONS
            for panel in growth_panels(
                _title(0.3, case),
                partial(_world, 0.3, case),
                (policy("nsd-ucrl2"),),
                HORIZON,
            )
        ),
    ),
    _charts,
    CLAIMS,
)

"""Figures 6 and 8: a wrong model in a switching, delayed world, bad and favourable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretell.policies import policy
from foretell.sim.legend import short_labels
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import (
    BETTER,
    LEARNS,
    STALLS,
    Curve,
    all_better,
    all_learn,
    all_stall,
)
from foretell.studies.claim import Claim, Finding
from foretell.studies.plan import Panel, StudyPlan
from foretell.worlds import Scenario, scenario
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results

NSD, AGNOSTIC = "nsd-ucrl2(window=800)", ("sw-ucb(window=800)", "ucb")
SPECS = tuple(policy(text) for text in (NSD, "nsd-psrl(window=800)", *AGNOSTIC))
ALPHAS = (0.1, 0.3, 0.5)
MUS = {"fig6": (0.1, 0.1, 0.1, 0.9), "fig8": (0.9, 0.1, 0.1, 0.1)}


def _scenario(figure: str, alpha: float) -> Scenario:
    return scenario("paper", delay=500, alpha=alpha, mu=MUS[figure])


def _curve(results: Results, text: str, alpha: float) -> Curve:
    return Curve(f"{policy(text).name} (α={alpha})", results[f"α = {alpha}"][text], CHANGES)


def _chart(figure: str, title: str, results: Results) -> Chart:
    return Chart(
        figure,
        title,
        f"D = 500, W = 800, μ = {MUS[figure]}, shifted together with the law. Mean regret with "
        f"95 % bands.",
        tuple(
            regret_axes(name, batches, CHANGES, short_labels(batches))
            for name, batches in results.items()
        ),
    )


def _best_action_changes(cases: list[Scenario]) -> Finding:
    words = []
    changed = []
    for case in cases:
        pure = case.first_law @ np.array(case.theta)
        mixed = (1 - case.alpha) * pure + case.alpha * np.array(case.mu)
        changed.append(int(pure.argmax()) != int(mixed.argmax()))
        top = np.sort(mixed)[::-1]
        words.append(
            f"α={case.alpha}: best {top[0]:.3f}, next {top[1]:.3f}, "
            f"{'another' if changed[-1] else 'the same'} action"
        )
    return Finding(all(changed), "; ".join(words))


def _claims(figure: str, case: str) -> tuple[Claim, ...]:
    """Return the claims of a figure: one reading, its case, of sentences about both cases."""
    where, reading = figure.replace("fig", "Fig. "), f"{case} case"
    learns = Claim(
        f"{figure}-learns",
        "With a wrong model in the switching, delayed world NSD-UCRL2 learns decently fast at "
        "α = 0.1 and 0.3.",
        f"{where}, caption; Sec. 5",
        LEARNS,
        all_learn,
        lambda r: [_curve(r, NSD, alpha) for alpha in (0.1, 0.3)],
        lambda r: [_curve(r, "ucb", alpha) for alpha in (0.1, 0.5)],
        reading=reading,
    )
    beats = Claim(
        f"{figure}-beats-agnostic",
        "Where the model is wrong in a tenth of the rounds, NSD-UCRL2 still clearly beats UCB and "
        "SW-UCB.",
        f"{where}; Sec. 5",
        f"at α = 0.1; {BETTER}",
        all_better,
        lambda r: [(_curve(r, NSD, 0.1), _curve(r, other, 0.1)) for other in AGNOSTIC],
        lambda r: [(_curve(r, other, 0.1), _curve(r, NSD, 0.1)) for other in AGNOSTIC],
        group="main result",
        reading=reading,
    )
    caption = Claim(
        f"{figure}-best-action-changes",
        "μ is chosen so that the best action changes in the mixed model.",
        f"{where}, caption",
        "the best action of the mixed means differs from that of the pure ones at α = 0.1, 0.3 "
        "and 0.5 (arithmetic, no runs)",
        _best_action_changes,
        lambda _: [_scenario(figure, alpha) for alpha in ALPHAS],
        lambda _: [_scenario("fig8", 0.1)],
        group="misprint",
        reading=reading,
    )
    return learns, beats, caption


NOBODY_SOLVES = Claim(
    "nobody-solves-half",
    "At α = 0.5 none of the policies solves the problem.",
    "Sec. 5, ablation; Fig. 6",
    f"NSD-UCRL2, SW-UCB and UCB all stall; {STALLS}",
    all_stall,
    lambda r: [_curve(r, text, 0.5) for text in (NSD, *AGNOSTIC)],
    lambda r: [_curve(r, text, 0.1) for text in (NSD, *AGNOSTIC)],
)


def _study(figure: str, case: str, title: str, claims: tuple[Claim, ...]) -> StudyPlan:
    return StudyPlan(
        figure,
        title,
        f"The paper's scenario with D = 500 in which a share α of the rounds gives a meaningless "
        f"signal and a reward with mean μ of the action; μ = {MUS[figure]} ({case}).",
        tuple(Panel(f"α = {alpha}", _scenario(figure, alpha), SPECS, HORIZON) for alpha in ALPHAS),
        lambda r: [_chart(figure, title, r)],
        claims,
    )


BAD_STUDY = _study(
    "fig6",
    "bad",
    "Figure 6: a wrong model, switching and delayed (bad case)",
    (*_claims("fig6", "bad"), NOBODY_SOLVES),
)
FAVOURABLE_STUDY = _study(
    "fig8",
    "favourable",
    "Figure 8: a wrong model, switching and delayed (favourable case)",
    _claims("fig8", "favourable"),
)

"""Figures 4 and 5: a wrong model in a stationary world; Figures 6 and 8: in a switching one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretell.policies import policy
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import (
    BETTER,
    LEARNS,
    LINEAR,
    Curve,
    all_better,
    all_learn,
    all_linear,
    none_worse,
)
from foretell.studies.labels import short_labels
from foretell.studies.statistics import difference
from foretell.studies.study import Claim, Finding, Panel, Study
from foretell.worlds import Scenario, scenario
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.study import Results

FAVOURABLE, BAD = "favourable", "bad"
TWO_ACTIONS = {FAVOURABLE: (0.9, 0.1), BAD: (0.1, 0.9)}
STATIONARY_SPECS = tuple(policy(text) for text in ("nsd-ucrl2", "nsd-psrl", "ucb"))
SWITCHING_SPECS = tuple(
    policy(text)
    for text in ("nsd-ucrl2(window=800)", "nsd-psrl(window=800)", "sw-ucb(window=800)", "ucb")
)
ALPHAS = (0.1, 0.3, 0.5)
NSD, AGNOSTIC = "nsd-ucrl2(window=800)", ("sw-ucb(window=800)", "ucb")
ON_PAR = (
    "the paired difference of final regret is at most a tenth of UCB's mean regret, at the upper "
    "end of its interval"
)


def _title(alpha: float, case: str) -> str:
    return f"α = {alpha}, {case}"


def _stationary(results: Results, text: str, alpha: float, case: str) -> Curve:
    name = _title(alpha, case)
    return Curve(f"{policy(text).name} ({name})", results[name][text])


def _switching(results: Results, text: str, alpha: float) -> Curve:
    return Curve(f"{policy(text).name} (α={alpha})", results[f"α = {alpha}"][text], CHANGES)


def _charts_of(
    figure: str, title: str, caption: str, panels: tuple[str, ...], results: Results
) -> Chart:
    changes = CHANGES if figure in ("fig6", "fig8") else ()
    return Chart(
        figure,
        title,
        caption + " Mean regret with 95 % bands.",
        tuple(
            regret_axes(name, results[name], changes, short_labels(results[name]))
            for name in panels
        ),
    )


def _stationary_charts(results: Results) -> list[Chart]:
    return [
        _charts_of(
            figure,
            f"Figure {figure[-1]}: a wrong model, stationary, α = {alpha}",
            "Actions 1 and 2 of Table 1, no delay, no window; left the mixing keeps the best "
            "action (favourable), right it speaks for the other (bad).",
            (_title(alpha, FAVOURABLE), _title(alpha, BAD)),
            results,
        )
        for figure, alpha in (("fig4", 0.1), ("fig5", 0.3))
    ]


def _same_best(cases: list[Scenario]) -> Finding:
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


def _more_regret(pairs: list[tuple[Curve, Curve]]) -> Finding:
    found = [(one, other, difference(one.batch, other.batch)) for one, other in pairs]
    return Finding(
        all(gap.low > 0 for _, _, gap in found),
        "; ".join(f"{one.name} − {other.name}: {gap}" for one, other, gap in found),
    )


STATIONARY_CLAIMS = (
    Claim(
        "low-mixing-on-par",
        "At α = 0.1 NSD-UCRL2 is on par with UCB or better, in the favourable and the bad case.",
        "Sec. 5, ablation; Fig. 4",
        ON_PAR,
        none_worse,
        lambda r: [
            (_stationary(r, "nsd-ucrl2", 0.1, case), _stationary(r, "ucb", 0.1, case))
            for case in (FAVOURABLE, BAD)
        ],
        lambda r: [(_stationary(r, "nsd-ucrl2", 0.3, BAD), _stationary(r, "ucb", 0.3, BAD))],
    ),
    Claim(
        "ucb-suffers-from-mixing",
        "UCB suffers from mixing, more in the bad case than in the favourable one (α = 0.1).",
        "Sec. 5, ablation; Fig. 4",
        "UCB's final regret in the bad case exceeds that in the favourable case, at the lower end "
        "of the paired interval",
        _more_regret,
        lambda r: [(_stationary(r, "ucb", 0.1, BAD), _stationary(r, "ucb", 0.1, FAVOURABLE))],
        lambda r: [(_stationary(r, "ucb", 0.1, FAVOURABLE), _stationary(r, "ucb", 0.1, BAD))],
    ),
    Claim(
        "ucb-learns-anyway",
        "At α = 0.3 UCB learns in the favourable and in the bad case.",
        "Sec. 5, ablation; Fig. 5",
        LEARNS,
        all_learn,
        lambda r: [_stationary(r, "ucb", 0.3, case) for case in (FAVOURABLE, BAD)],
        lambda r: [_stationary(r, "nsd-ucrl2", 0.3, BAD)],
    ),
    Claim(
        "favourable-learns",
        "At α = 0.3 NSD-UCRL2 learns in the favourable case.",
        "Sec. 5, ablation; Fig. 5",
        LEARNS,
        all_learn,
        lambda r: [_stationary(r, "nsd-ucrl2", 0.3, FAVOURABLE)],
        lambda r: [_stationary(r, "nsd-ucrl2", 0.3, BAD)],
    ),
    Claim(
        "favourable-on-par",
        "At α = 0.3 NSD-UCRL2 is on par with UCB in the favourable case (caption).",
        "Fig. 5, caption",
        ON_PAR,
        none_worse,
        lambda r: [
            (_stationary(r, "nsd-ucrl2", 0.3, FAVOURABLE), _stationary(r, "ucb", 0.3, FAVOURABLE))
        ],
        lambda r: [(_stationary(r, "nsd-ucrl2", 0.3, BAD), _stationary(r, "ucb", 0.3, BAD))],
    ),
    Claim(
        "favourable-higher-regret",
        "At α = 0.3 NSD-UCRL2 has a higher regret than UCB in the favourable case (text).",
        "Sec. 5, ablation",
        "NSD-UCRL2's final regret exceeds UCB's, at the lower end of the paired interval",
        _more_regret,
        lambda r: [
            (_stationary(r, "nsd-ucrl2", 0.3, FAVOURABLE), _stationary(r, "ucb", 0.3, FAVOURABLE))
        ],
        lambda r: [(_stationary(r, "ucb", 0.3, BAD), _stationary(r, "nsd-ucrl2", 0.3, BAD))],
    ),
    Claim(
        "bad-case-diverges",
        "At α = 0.3 NSD-UCRL2 diverges in the bad case.",
        "Sec. 5, ablation; Fig. 5",
        LINEAR,
        all_linear,
        lambda r: [_stationary(r, "nsd-ucrl2", 0.3, BAD)],
        lambda r: [_stationary(r, "nsd-ucrl2", 0.3, FAVOURABLE)],
    ),
)


def _switching_claims(figure: str, case: str) -> tuple[Claim, ...]:
    learns = Claim(
        f"{figure}-learns",
        f"With a mixed model in the switching, delayed world ({case}), NSD-UCRL2 learns decently "
        f"fast at α = 0.1 and 0.3.",
        f"{figure.replace('fig', 'Fig. ')}, caption; Sec. 5",
        LEARNS,
        all_learn,
        lambda r: [_switching(r, NSD, alpha) for alpha in (0.1, 0.3)],
        lambda r: [_switching(r, "ucb", alpha) for alpha in (0.1, 0.5)],
    )
    beats = Claim(
        f"{figure}-beats-agnostic",
        f"When α is small NSD-UCRL2 clearly beats UCB and SW-UCB ({case}).",
        f"{figure.replace('fig', 'Fig. ')}; Sec. 5",
        f"at α = 0.1; {BETTER}",
        all_better,
        lambda r: [(_switching(r, NSD, 0.1), _switching(r, other, 0.1)) for other in AGNOSTIC],
        lambda r: [(_switching(r, other, 0.1), _switching(r, NSD, 0.1)) for other in AGNOSTIC],
    )
    caption = Claim(
        f"{figure}-best-action-changes",
        f"μ is chosen so that the best action changes in the mixed model ({case}).",
        f"{figure.replace('fig', 'Fig. ')}, caption",
        "the best action of the mixed means differs from that of the pure ones at α = 0.1, 0.3 "
        "and 0.5 (arithmetic, no runs)",
        _same_best,
        lambda _: [_switching_scenario(figure, alpha) for alpha in ALPHAS],
        lambda _: [_switching_scenario("fig8", 0.1)],
    )
    return learns, beats, caption


NOBODY_SOLVES = Claim(
    "nobody-solves-half",
    "At α = 0.5 none of the policies solves the problem.",
    "Sec. 5, ablation; Fig. 6",
    f"NSD-UCRL2, SW-UCB and UCB are all linear; {LINEAR}",
    all_linear,
    lambda r: [_switching(r, text, 0.5) for text in (NSD, *AGNOSTIC)],
    lambda r: [_switching(r, text, 0.1) for text in (NSD, *AGNOSTIC)],
)

MUS = {"fig6": (0.1, 0.1, 0.1, 0.9), "fig8": (0.9, 0.1, 0.1, 0.1)}


def _switching_scenario(figure: str, alpha: float) -> Scenario:
    return scenario("paper", delay=500, alpha=alpha, mu=MUS[figure])


def _switching_study(figure: str, case: str, title: str, claims: tuple[Claim, ...]) -> Study:
    caption = f"D = 500, W = 800, μ = {MUS[figure]}, shifted together with the law."
    return Study(
        figure,
        title,
        f"The paper's scenario with D = 500 in which a share α of the rounds gives a meaningless "
        f"signal and a reward with mean μ of the action; μ = {MUS[figure]} ({case}).",
        tuple(
            Panel(f"α = {alpha}", _switching_scenario(figure, alpha), SWITCHING_SPECS, HORIZON)
            for alpha in ALPHAS
        ),
        lambda r: [_charts_of(figure, title, caption, tuple(r), r)],
        claims,
    )


STATIONARY_STUDY = Study(
    "fig4",
    "Figures 4 and 5: a wrong model, stationary",
    "Actions 1 and 2 of Table 1, no delay and no change, T = 8000. In a share α of the rounds the "
    "signal is uniform and the reward has mean μ of the action: μ = (0.9, 0.1) keeps the best "
    "action, μ = (0.1, 0.9) speaks against it.",
    tuple(
        Panel(
            _title(alpha, case),
            scenario("paper-two-actions", alpha=alpha, mu=mu),
            STATIONARY_SPECS,
            HORIZON,
        )
        for alpha in (0.1, 0.3)
        for case, mu in TWO_ACTIONS.items()
    ),
    _stationary_charts,
    STATIONARY_CLAIMS,
)

BAD_STUDY = _switching_study(
    "fig6",
    BAD,
    "Figure 6: a wrong model, switching and delayed (bad case)",
    (*_switching_claims("fig6", BAD), NOBODY_SOLVES),
)
FAVOURABLE_STUDY = _switching_study(
    "fig8",
    FAVOURABLE,
    "Figure 8: a wrong model, switching and delayed (favourable case)",
    _switching_claims("fig8", FAVOURABLE),
)

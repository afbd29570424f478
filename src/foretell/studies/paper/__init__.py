"""Every study of the paper, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.errors import UnknownName
from foretell.studies.paper import (
    bounds,
    explore,
    fig2,
    fig3,
    fig4,
    fig6,
    horizon_scaling,
    long_run,
    price_of_delay,
    random_delays,
    readings,
    window_sweep,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.studies.plan import StudyPlan

STUDIES: dict[str, StudyPlan] = {
    study.name: study
    for study in (
        fig2.STUDY,
        fig3.STUDY,
        fig4.STUDY,
        fig6.BAD_STUDY,
        fig6.FAVOURABLE_STUDY,
        random_delays.STUDY,
        price_of_delay.STUDY,
        horizon_scaling.STUDY,
        window_sweep.STUDY,
        bounds.STUDY,
        readings.STUDY,
        explore.STUDY,
    )
}
LONG: dict[str, StudyPlan] = {long_run.STUDY.name: long_run.STUDY}
"""Studies that take many minutes: they are run where they are named."""
_SHARED = {"fig7": "fig3", "fig5": "fig4"}
"""Figures that are drawn from the runs of another."""


def chosen_studies(names: Sequence[str]) -> list[StudyPlan]:
    """Return the studies of these figures, all but the long ones where none (or `all`) is named."""
    if not names or "all" in names:
        return list(STUDIES.values()) + [LONG[name] for name in names if name in LONG]
    known = [*STUDIES, *_SHARED, *LONG]
    for name in names:
        if name not in known:
            raise UnknownName.of("study", name, [*known, "all"])
    wanted = [_SHARED.get(name, name) for name in names]
    return [study for name, study in (STUDIES | LONG).items() if name in wanted]

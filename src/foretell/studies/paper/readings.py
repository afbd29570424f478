"""The regret under our reading of the paper and under others, for every open question.

The two sides of a reading meet the same luck, so their difference is paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import NsdUcrl2, Spec
from foretell.sim import Batches
from foretell.sim.legend import short_label
from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import difference
from foretell.studies.charts import Axes, Chart, regret_axes
from foretell.studies.checks import BETTER, Curve, all_better
from foretell.studies.claim import Claim
from foretell.studies.paper.open_questions import (
    LONG_DELAY,
    NO_DELAY,
    OURS,
    READINGS,
    SHORT_DELAY,
    WORLDS,
    Side,
)
from foretell.studies.plan import Panel, StudyPlan
from foretell.studies.tables import ReportTable
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results


def _panels() -> tuple[Panel, ...]:
    specs: dict[str, dict[Spec, None]] = {world: {} for world in WORLDS}
    for reading in READINGS:
        for side in (reading.ours, reading.other):
            specs[side.world][side.spec] = None
    return tuple(
        Panel(world, WORLDS[world], tuple(chosen), HORIZON) for world, chosen in specs.items()
    )


def _tables(results: Results) -> list[ReportTable]:
    rows = tuple(
        (
            reading.erratum,
            reading.question,
            short_label(str(reading.ours.spec)),
            reading.ours.world,
            reading.ours.words,
            str(Estimate.of(reading.ours.batch(results).final)),
            reading.other.words,
            str(Estimate.of(reading.other.batch(results).final)),
            str(difference(reading.other.batch(results), reading.ours.batch(results), 0.95)),
        )
        for reading in READINGS
    )
    columns = ("erratum", "what is open", "policy", "world", "our reading", "final regret")
    return [
        ReportTable(
            "readings",
            "Final regret under our reading and under another, with 95 % intervals; the difference "
            "(other − ours) is paired",
            (*columns, "other reading", "its final regret", "difference"),
            rows,
        )
    ]


def _axes(results: Results, title: str, sides: list[Side]) -> Axes:
    """Draw the sides of some readings; the key of a line begins with its policy, for its style."""
    drawn = Batches()
    for side in sides:
        drawn[f"{side.spec.name}({side.words})"] = side.batch(results)
    labels = {key: key.replace("(", ", ", 1).removesuffix(")") for key in drawn}
    return regret_axes(title, drawn, CHANGES, labels)


def _sides(erratum: str, world: str, *names: str) -> list[Side]:
    """Return the sides of a reading for the policies named, ours first, each once."""
    found: dict[Side, None] = {}
    for name in names:
        for reading in READINGS:
            sides = (reading.ours, reading.other)
            if (reading.erratum, reading.ours.world, sides[0].spec.name) == (erratum, world, name):
                found |= dict.fromkeys(sides)
    return list(found)


def _charts(results: Results) -> list[Chart]:
    return [
        Chart(
            "readings",
            "Where the paper is silent: our reading and others",
            "Mean regret with 95 % bands in the paper's scenario. From left to right: the third "
            "row of Table 1 and δ (D = 500), the exploration constant of the baselines (D = 100), "
            "and what SW-UCB's window counts (D = 1000).",
            (
                _axes(results, "third row (E1)", _sides("E1", OURS, "nsd-ucrl2")),
                _axes(results, "δ (E4)", _sides("E4", OURS, "nsd-ucrl2")),
                _axes(results, "exploration (E6)", _sides("E6", SHORT_DELAY, "ucb", "oracle-ucb")),
                _axes(results, "window over (E7)", _sides("E7", LONG_DELAY, "sw-ucb")),
            ),
        )
    ]


def _every_reading(results: Results) -> list[tuple[Curve, Curve]]:
    """Pair NSD-UCRL2 with UCB and SW-UCB, each as read in every way, wherever they meet."""

    def curves(world: str, *names: str) -> list[Curve]:
        return [
            Curve(f"{batch.spec} ({world})", batch)
            for batch in results[world].values()
            if batch.spec.name in names
        ]

    return [
        (nsd, other)
        for world in results
        for nsd in curves(world, "nsd-ucrl2")
        for other in curves(world, "ucb", "sw-ucb")
    ]


def _tight_window(results: Results, window: int) -> Curve:
    spec = NsdUcrl2(window=window, tight=True)
    return Curve(f"W={window}, tight", results[NO_DELAY][spec])


CLAIMS = (
    Claim(
        "nsd-beats-agnostic-however-read",
        "NSD-UCRL2 and NSD-PSRL beat every policy that is no oracle.",
        "Sec. 5, comparison; Fig. 3",
        "in every world of this study each NSD-UCRL2 is better than each UCB and SW-UCB, whatever "
        f"constants and window they are given; {BETTER}",
        all_better,
        _every_reading,
        lambda r: [(other, nsd) for nsd, other in _every_reading(r)],
        group="main result",
        reading="NSD-UCRL2 against UCB and SW-UCB, whichever way the paper's silences are read",
    ),
    Claim(
        "w-800-best-tight",
        "W = 800 works best in this calibration.",
        "Sec. 5, choice of W; Fig. 2",
        f"with tight constants and no delay W=800 is better than W=400 and W=2000; {BETTER}",
        all_better,
        lambda r: [(_tight_window(r, 800), _tight_window(r, other)) for other in (400, 2000)],
        lambda r: [(_tight_window(r, 400), _tight_window(r, other)) for other in (800, 2000)],
        reading="with the tight constants",
    ),
)

STUDY = StudyPlan(
    "readings",
    "Where the paper is silent: the numbers both ways",
    "The paper's scenario under our reading of its text and under others: the third row of Table "
    "1, which is misprinted; δ, the exploration constants and what SW-UCB's window counts, which "
    "are not stated; and where a change and an arrival fall by one round.",
    _panels(),
    _charts,
    CLAIMS,
    _tables,
)

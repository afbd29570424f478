"""Where the paper is silent or misprinted: the regret under our reading and under another.

Each reading names its erratum (docs/errata.md). Its two sides meet the same luck, whether they
differ in the policy or in the world, so their difference is paired.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretell.policies import NsdUcrl2, Spec, policy
from foretell.sim import Batch, Batches
from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import difference
from foretell.studies.charts import Axes, Chart, regret_axes
from foretell.studies.checks import BETTER, Curve, all_better
from foretell.studies.legend import short_label
from foretell.studies.study import Claim, Panel, Study
from foretell.studies.tables import ReportTable
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import CHANGES, HORIZON, LAW

if TYPE_CHECKING:
    from foretell.studies.study import Results

DELAY = 500
NSD, ORACLE_NSD = "nsd-ucrl2(window=800)", "oracle-nsd"
UCB, SW_UCB, ORACLE_UCB = "ucb", "sw-ucb(window=800)", "oracle-ucb"
POLICIES = (NSD, UCB, SW_UCB, ORACLE_UCB, ORACLE_NSD)
AGNOSTIC = (UCB, SW_UCB, ORACLE_UCB)
WINDOWS = (400, 800, 2000)

NO_DELAY, SHORT_DELAY, OURS, LONG_DELAY = "D = 0", "D = 100", f"D = {DELAY}", "D = 1000"
NORMALISED, TWICE_BEST = "third row (.8, .1, .8) / 1.7", "third row (.8, .1, .1)"
SHORTER, EARLIER = f"D = {DELAY - 1}", "changes one round earlier"


def _third_row(*row: float) -> Scenario:
    law = (LAW[0], LAW[1], row, LAW[3])
    return dataclasses.replace(scenario("paper", delay=DELAY), law=law)


WORLDS = {
    NO_DELAY: scenario("paper", delay=0),
    SHORT_DELAY: scenario("paper", delay=100),
    OURS: scenario("paper", delay=DELAY),
    LONG_DELAY: scenario("paper", delay=1000),
    NORMALISED: _third_row(0.8 / 1.7, 0.1 / 1.7, 0.8 / 1.7),
    TWICE_BEST: _third_row(0.8, 0.1, 0.1),
    SHORTER: scenario("paper", delay=DELAY - 1),
    EARLIER: scenario("paper", delay=DELAY, changes=shifts(at=[one - 1 for one in CHANGES])),
}
"""Worlds by name; those whose name says no delay have D = 500."""


@dataclass(frozen=True)
class Side:
    """One side of a reading: a policy in a world, in words."""

    words: str
    world: str
    spec: Spec

    def batch(self, results: Results) -> Batch:
        """Return its runs."""
        return results[self.world][self.spec]


@dataclass(frozen=True)
class PaperReading:
    """A question that the paper leaves open, with our answer and another one."""

    erratum: str
    question: str
    ours: Side
    other: Side


def _policies(
    erratum: str,
    question: str,
    field: str,
    others: tuple[object, ...],
    *cases: tuple[str, str],
) -> list[PaperReading]:
    """Return a field other values than ours, its default, for each policy in its world."""
    return [
        PaperReading(
            erratum,
            question,
            Side(f"{field}={getattr(policy(text), field)}", world, policy(text)),
            Side(f"{field}={other}", world, dataclasses.replace(policy(text), **{field: other})),
        )
        for text, world in cases
        for other in others
    ]


def _worlds(erratum: str, question: str, ours: str, *others: str) -> list[PaperReading]:
    """Put every policy into other worlds than ours."""
    return [
        PaperReading(
            erratum, question, Side(ours, OURS, policy(text)), Side(other, other, policy(text))
        )
        for other in others
        for text in POLICIES
    ]


READINGS = (
    *_worlds("E1", "third row of Table 1", "third row (.1, .1, .8)", NORMALISED, TWICE_BEST),
    *_policies("E4", "δ", "delta", (0.05, 1.0), (NSD, NO_DELAY), (NSD, OURS), (ORACLE_NSD, OURS)),
    *_policies(
        "E6",
        "exploration constant",
        "scale",
        (0.5,),
        *((text, SHORT_DELAY) for text in AGNOSTIC),
        *((text, OURS) for text in AGNOSTIC),
    ),
    *_policies(
        "E7",
        "what the window of SW-UCB counts",
        "over",
        ("rounds",),
        (SW_UCB, OURS),
        (SW_UCB, LONG_DELAY),
    ),
    *_worlds("E18", "first round of a new law", "the 2001st", EARLIER),
    *_worlds("S11", "first round that can use a reward", "u + D + 1", SHORTER),
    *_policies(
        "P1, P2",
        "constants of the radii",
        "tight",
        (True,),
        *((f"nsd-ucrl2(window={window})", NO_DELAY) for window in WINDOWS),
        *((NSD, world) for world in (SHORT_DELAY, OURS, LONG_DELAY)),
    ),
)


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
            str(difference(reading.other.batch(results), reading.ours.batch(results))),
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
        "NSD-UCRL2 beats UCB and SW-UCB, whichever way the silences of the paper are read.",
        "Sec. 5, comparison; Fig. 3",
        "in every world of this study each NSD-UCRL2 is better than each UCB and SW-UCB, whatever "
        f"constants and window they are given; {BETTER}",
        all_better,
        _every_reading,
        lambda r: [(other, nsd) for nsd, other in _every_reading(r)],
    ),
    Claim(
        "w-800-best-tight",
        "W = 800 works best in the calibration, read with the tight constants.",
        "Sec. 5, choice of W; Fig. 2",
        f"with tight constants and no delay W=800 is better than W=400 and W=2000; {BETTER}",
        all_better,
        lambda r: [(_tight_window(r, 800), _tight_window(r, other)) for other in (400, 2000)],
        lambda r: [(_tight_window(r, 400), _tight_window(r, other)) for other in (800, 2000)],
    ),
)

STUDY = Study(
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

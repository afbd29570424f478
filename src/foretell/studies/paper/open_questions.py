"""Where the paper is silent or misprinted: our reading of it, and another one.

Each reading names its erratum (docs/errata.md). Its two sides meet the same luck, whether they
differ in the policy or in the world.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretell.policies import Spec, policy
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import CHANGES, LAW

if TYPE_CHECKING:
    from foretell.sim import Batch
    from foretell.studies.claim import Results

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

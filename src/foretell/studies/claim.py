"""A claim: a sentence about results, decided by looking at no more runs than it needs.

A check compares intervals with limits. It holds where every interval lies on the right side of
its limit, and fails where one lies on the wrong side. Where an interval straddles its limit the
claim is undecided: the runs are doubled and the check looks again, at five looks in all. The
error level of 5 % is split over these looks, so that every interval of a check has a level of
99 %, and looking again cannot make a false claim come true more often than once in twenty times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from foretell.sim import Batches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MOST_LOOKS = 5
LEVEL = 1.0 - 0.05 / MOST_LOOKS
"""The level of every interval that decides a claim."""

Results: TypeAlias = dict[str, Batches]
"""The batches of each panel, by its name."""
MoreRuns: TypeAlias = "Callable[[Collection[str], int], Results]"
"""Runs panels, by name, with so many times their runs."""
Group: TypeAlias = Literal["main result", "remark", "misprint"]


@dataclass(frozen=True)
class Finding:
    """What a check found: whether the claim holds, None where that is open, and its numbers."""

    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Claim:
    """A sentence about results, and the check that decides it.

    The same check is put to the `subject`, the runs the sentence is about, and to a `control`:
    runs of which the sentence is false. A check that cannot tell the two apart is no check.
    """

    name: str
    words: str
    """The sentence, in our words."""
    source: str
    """Where it stands in the paper."""
    definition: str
    """What is counted as true, fixed before it is run."""
    check: Callable[[Any], Finding]
    subject: Callable[[Results], Any]
    control: Callable[[Results], Any]
    group: Group = "remark"
    expected: bool = False
    """The paper expects it ("should", "we expect", "can") and does not state it."""
    reading: str = ""
    """How the sentence is read, where several claims are readings of one sentence."""


@dataclass(frozen=True)
class Verdict:
    """A claim, decided."""

    claim: Claim
    finding: Finding
    control: Finding
    runs: int = 0
    """The most runs that were looked at; 0 for arithmetic."""
    looks: int = 1

    @property
    def word(self) -> str:
        """`supported`, `not supported`, or `undecided`: the runs or the control leave it open."""
        if self.control.holds is not False or self.finding.holds is None:
            return "undecided"
        return "supported" if self.finding.holds else "not supported"


class _Asked(Results):
    """Results that remember which panels were asked for."""

    def __init__(self, results: Results) -> None:
        super().__init__(results)
        self.panels: dict[str, None] = {}

    def __getitem__(self, panel: str) -> Batches:
        self.panels[panel] = None
        return super().__getitem__(panel)


def decide(claim: Claim, results: Results, more_runs: MoreRuns) -> Verdict:
    """Decide a claim, with more runs of the panels that it is about while it is undecided."""
    looks = 1
    while True:
        asked = _Asked(results)
        finding, control = claim.check(claim.subject(asked)), claim.check(claim.control(asked))
        runs = max(
            (batch.runs for panel in asked.panels for batch in results[panel].values()), default=0
        )
        verdict = Verdict(claim, finding, control, runs, looks)
        if verdict.word != "undecided" or control.holds or looks == MOST_LOOKS or not asked.panels:
            return verdict
        results = more_runs(asked.panels, 2**looks)
        looks += 1

"""Policies compared run by run: differences, tests, and which of them may be the best."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import InvalidInput
from foretell.html_table import cell_text, html_table
from foretell.stats.estimate import Estimate
from foretell.stats.paired_tests import holm_adjusted, signed_rank_test

if TYPE_CHECKING:
    from foretell.policies import Spec
    from foretell.sim.result import Batch, Batches
    from foretell.sim.result_tables import Library


@dataclass(frozen=True)
class ComparedPolicy:
    """One policy against the baseline."""

    policy: str
    mean: float
    """The mean of its final regret."""
    difference: float
    """The mean of its final regret minus that of the baseline, paired by run."""
    low: float
    high: float
    """The Student interval of this difference, for this policy alone."""
    p: float
    """Of Wilcoxon's signed-rank test, two-sided, that the differences are symmetric about 0."""
    p_holm: float
    """The same, adjusted by Holm's method for all policies that are compared with the baseline."""
    wins: float
    """The share of runs with less regret than the baseline; equal ones count half."""
    may_be_best: bool
    """Whether it is in the set of policies that may be the best."""


@dataclass(frozen=True, repr=False)
class PolicyComparison:
    """Every policy against a baseline, and the set of those that may be the best.

    Policy j is left out of the set if some other policy i has less final regret, by Wilcoxon's
    one-sided signed-rank test of i against j, with a p-value of at most (1 − level) / (m − 1), m
    being the number of policies; the one with the least mean regret always stays. A policy that
    is truly no worse than any other (no difference to another has a distribution that leans
    above 0) is left out with a probability of at most 1 − level, whatever m is: it would take
    one of m − 1 false rejections.
    """

    baseline: str
    level: float
    runs: int
    rows: tuple[ComparedPolicy, ...]

    @property
    def may_be_best(self) -> tuple[str, ...]:
        """The policies that may be the best."""
        return tuple(row.policy for row in self.rows if row.may_be_best)

    def __getitem__(self, policy: str | Spec) -> ComparedPolicy:
        """Return the row of a policy, by any way to write its spec."""
        from foretell.errors import UnknownName
        from foretell.policies import policy as parsed

        for row in self.rows:
            if row.policy == policy or parsed(row.policy) == parsed(policy):
                return row
        raise UnknownName.of("policy", str(policy), [row.policy for row in self.rows])

    def to_frame(self, library: Library | None = None) -> Any:
        """Return a row for every policy as a data frame of pandas or polars."""
        from foretell.sim.result_tables import as_frame

        return as_frame({name: np.array(values) for name, values in self._columns()}, library)

    def _columns(self) -> list[tuple[str, list[Any]]]:
        names = [field.name for field in dataclasses.fields(ComparedPolicy)]
        return [(name, [getattr(row, name) for row in self.rows]) for name in names]

    def _caption(self) -> str:
        return (
            f"Final regret against {self.baseline}, {self.runs} paired runs, "
            f"{self.level:.0%} intervals"
        )

    def __repr__(self) -> str:
        """Show the table as text."""
        cells = [[name, *map(cell_text, values)] for name, values in self._columns()]
        widths = [max(map(len, column)) for column in cells]
        lines = [
            "  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in zip(*cells, strict=True)
        ]
        return "\n".join([self._caption(), *lines])

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = zip(*(values for _, values in columns), strict=True)
        return html_table(self._caption(), [name for name, _ in columns], list(rows))


def compare(batches: Batches, baseline: str | Spec, level: float = 0.95) -> PolicyComparison:
    """Compare every policy with a baseline; refuse batches whose runs are no pairs."""
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"the level must lie in (0, 1), got {level!r}: try 0.95")
    base = batches[baseline]
    for batch in batches.values():
        _check_paired(base, batch)
    others = [name for name, batch in batches.items() if batch is not base]
    tests = [signed_rank_test(batches[name].final - base.final) for name in others]
    p_values = dict(zip(others, tests, strict=True))
    adjusted = dict(zip(others, holm_adjusted(tests), strict=True))
    best = may_be_best(batches, level)
    rows = []
    for name, batch in batches.items():
        difference = batch.final - base.final
        mean, low, high = Estimate.of(difference, level)
        rows.append(
            ComparedPolicy(
                policy=name,
                mean=float(batch.final.mean()),
                difference=mean,
                low=low,
                high=high,
                p=p_values.get(name, 1.0),
                p_holm=adjusted.get(name, 1.0),
                wins=float(np.mean((difference < 0.0) + 0.5 * (difference == 0.0))),
                may_be_best=name in best,
            )
        )
    return PolicyComparison(str(base.spec), level, base.runs, tuple(rows))


def may_be_best(batches: Batches, level: float) -> set[str]:
    """Return the policies that may be the best, as `PolicyComparison` says."""
    least = min(batches, key=lambda name: float(batches[name].final.mean()))
    threshold = (1.0 - level) / max(1, len(batches) - 1)
    kept = {least}
    for name, batch in batches.items():
        beaten = any(
            signed_rank_test(other.final - batch.final, "less") <= threshold
            for other in batches.values()
            if other is not batch
        )
        if not beaten:
            kept.add(name)
    return kept


def _check_paired(base: Batch, batch: Batch) -> None:
    """Refuse a batch whose run i did not meet the world and the luck of run i of the baseline."""
    for what, one, other in (
        ("seed", base.seed, batch.seed),
        ("first run", base.first_run, batch.first_run),
        ("number of runs", base.runs, batch.runs),
        ("horizon", base.horizon, batch.horizon),
        ("last checkpoint", int(base.rounds[-1]), int(batch.rounds[-1])),
    ):
        if one != other:
            raise InvalidInput(
                f"runs are compared in pairs: the {what} of {base.spec} is {one} and that of "
                f"{batch.spec} {other}: simulate both in one call"
            )
    if base.scenario != batch.scenario:
        raise InvalidInput(
            f"runs are compared in pairs: {base.spec} and {batch.spec} were simulated in different "
            f"scenarios: simulate both in one call"
        )

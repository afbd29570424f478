"""The numbers behind each picture: the same rows are shown as a table and sent as CSV."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from foretell import protocol
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.open_decisions import MadeBetween
from foretell.service.ui.formats import NONE, count

Cell = str | int | float | None
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a formula begins with."""


class Numbers(NamedTuple):
    """A table: `name` is that of its CSV, `title` what it shows."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]

    def csv(self) -> bytes:
        """Return the table as CSV, with every digit; what is not known is empty.

        No text is a formula for the program that opens it.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([as_text(cell) for cell in row] for row in self.rows)
        return text.getvalue().encode()

    def latest(self, rows: int, columns: int) -> Numbers:
        """Return the last rows and first columns, for a page."""
        kept = [row[:columns] for row in self.rows[-rows:]]
        return Numbers(self.name, self.title, self.columns[:columns], kept)


def as_text(cell: Cell) -> Cell:
    """Return a cell that spreadsheets show and never compute: text, where it would be a formula.

    >>> as_text("=cmd()"), as_text("@sum"), as_text("a"), as_text(-0.5)
    ("'=cmd()", "'@sum", 'a', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def shown_cell(cell: Cell) -> str:
    """Return a cell as a page shows it.

    >>> shown_cell(0.12345), shown_cell(12000), shown_cell(None), shown_cell("a")
    ('0.123', '12,000', '–', 'a')
    """
    if cell is None:
        return NONE
    if isinstance(cell, float):
        return f"{cell:,.3f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return count(cell) if isinstance(cell, int) else cell


def _ends(found: protocol.RewardInterval | None) -> list[Cell]:
    return [None] * 3 if found is None else [found.mean, found.low, found.high]


def action_numbers(report: protocol.CampaignReport) -> Numbers:
    """Return the actions with their traffic, their record and what they would earn now."""
    columns = ["action", "status", "decisions", "share", "recent_share"]
    columns += ["observed", "observed_low", "observed_high", "observed_n"]
    columns += ["value", "value_low", "value_high", "best"]
    rows: list[list[Cell]] = [
        [
            *(one.action, one.status, one.decisions, one.share, one.recent_share),
            *_ends(one.observed),
            None if one.observed is None else one.observed.n,
            *_ends(one.value),
            one.best,
        ]
        for one in report.actions
    ]
    return Numbers("actions", "Actions", columns, rows)


def traffic_numbers(series: protocol.Timeseries) -> Numbers:
    """Return the decisions of each period by action."""
    columns = ["from", "decisions", *(one.name for one in series.actions)]
    rows: list[list[Cell]] = [
        [at, series.total.decisions[index], *(one.decisions[index] for one in series.actions)]
        for index, at in enumerate(series.at)
    ]
    return Numbers("traffic", "Decisions by period and action", columns, rows)


def signal_numbers(table: protocol.SignalTable, periods: int | None = None) -> Numbers:
    """Return the settled signals of each period by action, or of the last so many periods."""
    first = 0 if periods is None else max(0, len(table.at) - periods)
    names = [row.signal for row in table.signals]
    rows: list[list[Cell]] = [
        [
            at,
            one.action,
            int(table.mature[index]),
            one.counts[index],
            *(one.by_period[name][index] if name in one.by_period else 0 for name in names),
        ]
        for index, at in enumerate(table.at[first:], first)
        for one in table.actions
    ]
    columns = ["from", "action", "complete", "settled", *names]
    return Numbers("signals", "Settled signals by period and action", columns, rows)


def validity_numbers(found: protocol.ValidityReport) -> Numbers:
    """Return the reward after each signal, by action."""
    rows: list[list[Cell]] = [
        [one.action, one.signal, one.mean, one.low, one.high, one.n] for one in found.cells
    ]
    columns = ["action", "signal", "mean", "low", "high", "n"]
    return Numbers("validity", "Reward after each signal, by action", columns, rows)


def delay_numbers(found: protocol.DelayReport) -> Numbers:
    """Return the share of rewards that had come by each age, after each signal."""
    rows: list[list[Cell]] = [
        [one.signal or "any", age, share]
        for one in (found.all_rewards, *found.rewards)
        for age, share in zip(one.ages, one.shares, strict=True)
    ]
    columns = ["after_signal", "age_seconds", "share"]
    return Numbers("delays", "Share of rewards that had come by each age", columns, rows)


def uplift_numbers(series: protocol.Timeseries) -> Numbers:
    """Return the uplift over the holdout of all decisions up to the end of each period."""
    rows: list[list[Cell]] = [
        [at, int(complete), *_ends(found)]
        for at, complete, found in zip(
            series.at, series.mature.rewards, series.uplift, strict=False
        )
    ]
    columns = ["from", "complete", "uplift", "low", "high"]
    return Numbers("uplift", "Uplift over the holdout", columns, rows)


def open_numbers(made: list[MadeBetween]) -> Numbers:
    """Return the decisions by when they were made, settled and open."""
    rows: list[list[Cell]] = [
        [*_moments(one.begin, one.end), one.decisions, one.settled, one.open] for one in made
    ]
    columns = ["from", "to", "decisions", "settled", "open"]
    return Numbers("open", "Decisions by when they were made", columns, rows)


def _moments(*ends: int | None) -> list[Cell]:
    return [None if at is None else format_timestamp(at) for at in ends]


def pending_numbers(report: protocol.CampaignReport) -> Numbers:
    """Return what is open, and what was unusual about the feedback."""
    counts = report.counts
    rows: list[list[Cell]] = [
        [name, getattr(counts, name)] for name in protocol.ReportCounts.__struct_fields__
    ]
    return Numbers("pending", "Counts of decisions and feedback", ["what", "count"], rows)


def evaluation_numbers(found: protocol.EvaluationList) -> Numbers:
    """Return what other policies would have earned."""
    rows: list[list[Cell]] = []
    for one in found.evaluations:
        if one.result is not None:
            value, earned = one.result.value, one.result.earned
            robust, gain = value.doubly_robust, value.gain
            rows.append(
                [
                    *(one.policy, one.as_of, one.result.counted, value.effective_decisions),
                    *(earned.mean, robust.mean, robust.low, robust.high),
                    *(gain.mean, gain.low, gain.high),
                ]
            )
    columns = ["policy", "as_of", "counted", "effective_decisions", "earned"]
    columns += ["would_have_earned", "low", "high", "gain", "gain_low", "gain_high"]
    return Numbers("policies", "What other policies would have earned", columns, rows)

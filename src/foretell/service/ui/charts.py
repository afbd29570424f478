"""What the charts draw: plain lists, put into the page as JSON and drawn by static/draw.js."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell import protocol
from foretell.service.model.timestamps import parse_timestamp
from foretell.service.ui.formats import colour

MOST_LINES = 6
"""Actions that are drawn with a line of their own; the others are taken together."""
MOST_PANELS = 12
"""Actions whose signals are drawn."""
ENOUGH = 20
"""A share of fewer signals would say more about chance than about the action."""
Chart = dict[str, Any]


def seconds(text: str) -> float:
    """Return a time of the API in seconds.

    >>> seconds("1970-01-01T00:01:00Z")
    60.0
    """
    return (parse_timestamp(text) or 0) / 1e6


def _marks(changes: protocol.SignalChanges, action: str | None = None) -> list[float]:
    return [seconds(one.at) for one in changes.changes if action in {None, one.action}]


def traffic_chart(series: protocol.Timeseries, changes: protocol.SignalChanges) -> Chart:
    """Return the share of each action by period, stacked."""
    totals = series.total.decisions
    ranked = sorted(range(len(series.actions)), key=lambda i: -sum(series.actions[i].decisions))
    drawn = sorted(ranked[:MOST_LINES])
    lines = [
        {
            "label": series.actions[index].name,
            "colour": colour(index),
            "y": _shares(series.actions[index].decisions, totals),
        }
        for index in drawn
    ]
    if len(ranked) > MOST_LINES:
        rest = [sum(counts) for counts in zip(*_others(series, drawn), strict=True)]
        lines.append({"label": "all others", "colour": "7", "y": _shares(rest, totals)})
    return {
        "kind": "stack",
        "x": [seconds(at) for at in series.at],
        "width": series.width,
        "unit": "share",
        "lines": lines,
        "complete": [True] * len(series.at),
        "marks": _marks(changes),
    }


def _others(series: protocol.Timeseries, drawn: list[int]) -> list[list[int]]:
    return [one.decisions for index, one in enumerate(series.actions) if index not in drawn]


def _shares(counts: list[int], totals: list[int]) -> list[float | None]:
    return [
        round(one / total, 4) if total else None for one, total in zip(counts, totals, strict=True)
    ]


def signal_charts(
    table: protocol.SignalTable, changes: protocol.SignalChanges, order: list[str]
) -> list[Chart]:
    """Return for each action, in this order, how often each signal came, by period."""
    rows = {one.action: (index, one) for index, one in enumerate(table.actions)}
    x = [seconds(at) for at in table.at]
    charts = []
    for name in order[:MOST_PANELS]:
        index, row = rows[name]
        rates = {
            signal.signal: _pooled(row.by_period.get(signal.signal, [0] * len(x)), row.counts)
            for signal in table.signals
        }
        charts.append(
            {
                "kind": "signals",
                "label": name,
                "colour": colour(index),
                "x": x,
                "width": table.width,
                "unit": "share",
                "rates": rates,
                "complete": table.mature,
                "marks": _marks(changes, name),
            }
        )
    return charts


def _pooled(counts: Sequence[float], totals: list[int]) -> list[float | None]:
    """Return a mean by period; periods with few decisions are taken together.

    The mean stands at the last of the periods that were taken together.

    >>> _pooled([1, 5, 10], [2, 18, 40])
    [None, 0.3, 0.25]
    """
    shares: list[float | None] = []
    seen, of = 0.0, 0
    for one, total in zip(counts, totals, strict=True):
        seen, of = seen + one, of + total
        shares.append(round(seen / of, 4) if of >= ENOUGH else None)
        if of >= ENOUGH:
            seen, of = 0.0, 0
    return shares


def action_trends(
    table: protocol.SignalTable, validity: protocol.ValidityReport
) -> dict[str, list[float | None]]:
    """Return for each action what its signals were worth, by period; those with a value at all.

    A signal counts as what it has earned after all actions together; where it means different
    things for different actions, as what it has earned after this one.
    """
    own = {}
    if validity.verdict == "misleading":
        own = {(one.action, one.signal): one.mean for one in validity.cells}
    found = {}
    for row in table.actions:
        means = {
            one.signal: own.get((row.action, one.signal), one.theta)
            for one in table.signals
            if one.signal in row.by_period
        }
        if row.by_period and None not in means.values():
            counts = np.array([row.by_period[name] for name in means])
            sums = np.array(list(means.values()), float) @ counts
            points = _pooled(sums.tolist(), row.counts)[: table.mature.count(True)]
            if any(one is not None for one in points):
                found[row.action] = points
    return found


def delay_chart(found: protocol.DelayReport) -> Chart:
    """Return the share of rewards that had come by each age."""
    curves = [one for one in found.rewards if one.arrived] or [found.all_rewards]
    return {
        "kind": "delays",
        "unit": "share",
        "window": found.reward_window,
        "oldest": found.oldest or 0.0,
        "curves": [
            {"label": f"after {one.signal or 'any'}", "x": one.ages, "y": one.shares}
            for one in curves
            if one.ages
        ],
    }


def uplift_chart(series: protocol.Timeseries) -> Chart:
    """Return the uplift over the holdout with its interval, period by period."""
    found = series.uplift or [None] * len(series.at)
    return {
        "kind": "band",
        "x": [seconds(at) for at in series.at],
        "width": series.width,
        "unit": "reward",
        "label": "uplift",
        "y": [None if one is None else one.mean for one in found],
        "low": [None if one is None else one.low for one in found],
        "high": [None if one is None else one.high for one in found],
        "complete": series.mature.rewards,
        "marks": [],
    }

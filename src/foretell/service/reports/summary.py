"""What a campaign has come to, read off its counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import Running
from foretell.service.model.counters import COUNTS
from foretell.service.model.events import Setup
from foretell.service.model.timestamps import text
from foretell.stats.change_points import change_points
from foretell.stats.estimate import Estimate, estimate_action, estimate_signal
from foretell.types import GRAIN


def report(live: Running, head: int) -> protocol.Report:
    """Give the report of a campaign."""
    campaign, setup, tally = live.campaign, live.setup, live.campaign.tally
    counts = protocol.Counts(
        **{name: int(tally.counts[place]) for place, name in enumerate(COUNTS)}
    )
    counts.duplicates = live.counts.get("duplicates", 0)
    counts.rejected = live.counts.get("rejected", 0)
    counts.open_signals = campaign.decided - int(tally.seen.sum())
    counts.open_rewards = campaign.decided - int(tally.paid.sum())
    return protocol.Report(
        campaign=setup.name,
        status=setup.status,
        policy=setup.policy,
        counts=counts,
        actions=_actions(live),
        signals=signal_rows(live),
        log=protocol.LogReport(head, text(campaign.as_of), campaign.digest()),
    )


def _actions(live: Running) -> list[protocol.ActionReport]:
    """Give each action's traffic and value: its signals' shares times what each is worth."""
    setup, tally = live.setup, live.campaign.tally
    decided = tally.decided.sum(axis=0)
    signals = _worths(live)
    return [
        protocol.ActionReport(
            action,
            setup.standing[place],
            int(decided[place]),
            float(decided[place] / max(1, decided.sum())),
            *_told(setup, estimate_action(tally.seen[place], signals)),
        )
        for place, action in enumerate(setup.actions)
    ]


def signal_rows(live: Running) -> list[protocol.SignalReportRow]:
    """Give what each signal is worth."""
    setup, tally = live.setup, live.campaign.tally
    return [
        protocol.SignalReportRow(
            signal,
            *_told(setup, worth),
            int(tally.paid[:, place].sum()),
            int(tally.seen[:, place].sum()),
        )
        for place, (signal, worth) in enumerate(zip(setup.signals, _worths(live), strict=True))
    ]


def _worths(live: Running) -> list[Estimate | None]:
    tally = live.campaign.tally
    every = zip(tally.paid.sum(axis=0), tally.grains.sum(axis=0), strict=True)
    return [estimate_signal(int(paid), int(grains)) for paid, grains in every]


def _told(setup: Setup, worth: Estimate | None) -> tuple[float | None, float | None, float | None]:
    """Give a worth in the unit of the campaign's rewards."""
    if worth is None:
        return None, None, None
    mean, low, high = (_natural(setup, one) for one in worth)
    return mean, low, high


def signals(live: Running) -> protocol.SignalTable:
    """Give the settled signals by action."""
    setup, tally = live.setup, live.campaign.tally
    rows = [
        protocol.SignalTableRow(
            action,
            int(tally.seen[place].sum()),
            _rates(setup, tally.seen[place]),
        )
        for place, action in enumerate(setup.actions)
    ]
    return protocol.SignalTable(setup.name, rows, signal_rows(live))


def timeseries(live: Running) -> protocol.Timeseries:
    """Give the campaign over time."""
    setup, tally = live.setup, live.campaign.tally
    first, width = int(tally.clock[0]), int(tally.clock[1])
    points = []
    filled = np.flatnonzero(tally.decided.sum(axis=1))
    for stretch in range(int(filled[-1]) + 1 if filled.size else 0):
        paid, grains = (int(one) for one in tally.rewarded[stretch])
        decisions = tally.decided[stretch]
        points.append(
            protocol.SeriesPoint(
                at=text(first + stretch * width),
                decisions={
                    setup.actions[place]: int(decisions[place])
                    for place in np.flatnonzero(decisions)
                },
                signals={
                    name: int(count)
                    for name, count in zip(
                        setup.signals, tally.signalled[stretch].sum(axis=0), strict=True
                    )
                },
                rewards=paid,
                reward=_natural(setup, grains / GRAIN / paid) if paid else None,
                mature=paid == int(decisions.sum()),
            )
        )
    return protocol.Timeseries(setup.name, width / 1e6, points)


def changes(live: Running) -> protocol.Changes:
    """Give the moments at which the signals of an action changed."""
    setup, tally = live.setup, live.campaign.tally
    found = []
    for place, action in enumerate(setup.actions):
        counts = tally.signalled[:, place]
        places = change_points(counts, len(setup.actions))
        edges = [0, *places, len(counts)]
        for number, stretch in enumerate(places):
            found.append(
                protocol.Change(
                    action,
                    text(int(tally.clock[0] + stretch * tally.clock[1])),
                    _rates(setup, counts[edges[number] : stretch].sum(axis=0)),
                    _rates(setup, counts[stretch : edges[number + 2]].sum(axis=0)),
                )
            )
    return protocol.Changes(setup.name, found)


def _rates(setup: Setup, counts: Any) -> dict[str, float]:
    total = max(1, int(counts.sum()))
    return {name: float(one / total) for name, one in zip(setup.signals, counts, strict=True)}


def _natural(setup: Setup, unit: float) -> float:
    low, high = setup.reward_range
    return low + unit * (high - low)

"""How fresh what is known is: when something last came, and how much was due since."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell import protocol
from foretell.protocol.fields import SILENT
from foretell.service.model.arrivals import EDGES
from foretell.service.model.counters import LATEST
from foretell.service.model.pauses import Pauses
from foretell.service.model.stretches import DECISIONS, VOIDS
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.stats.overdue import SELDOM, SURELY, MadeAt, arrival_rate, due, silence
from foretell.types import Floats, Ints

STEPS = 24


class _Kind(NamedTuple):
    """Decisions of one kind, and how many arrivals each brings by an age."""

    made: MadeAt
    edges: Floats
    by_age: Floats


class Freshness(NamedTuple):
    """What is shown, and whether rewards or signals have stopped."""

    shown: protocol.FreshnessReport
    stopped: bool
    """Whether rewards have."""
    last_reward: int
    signals_stopped: bool
    last_signal: int
    last_decision: int


def freshness(copy: CampaignCopy) -> Freshness:
    """Return how fresh a campaign is at its position."""
    counters, now = copy.counters, copy.as_of
    decided, signalled, rewarded = (counters.latest[LATEST.index(name)] for name in LATEST)
    waiting = _waiting_for_rewards(copy, rewarded) if rewarded >= 0 else []
    owed = _owed(waiting, rewarded, now)
    owed_signals = _owed(_waiting_for_signals(copy, signalled), signalled, now)
    arrivals, ledger = counters.arrivals, copy.ledger
    shown = protocol.FreshnessReport(
        _moment(decided),
        _moment(signalled),
        _moment(rewarded),
        _expected_by(copy, waiting, rewarded),
        owed,
        ledger.closed,
        owed_signals,
    )
    return Freshness(
        shown,
        _stopped(owed, int(arrivals.rewards.sum()), rewarded, now, ledger.rewards),
        rewarded,
        _stopped(owed_signals, int(arrivals.signals.sum()), signalled, now, ledger.signals),
        signalled,
        decided,
    )


def _stopped(owed: float, arrived: int, last: int, now: int, pauses: Pauses) -> bool:
    """Return whether nothing came though so much was owed, for longer than is usual."""
    return last >= 0 and now - last > pauses.usual and silence(owed, arrived) < SELDOM


def _waiting_for_rewards(copy: CampaignCopy, last: int) -> list[_Kind]:
    """Return decisions by signal, each kind with the ages at which its rewards come.

    Decisions whose signal is open are one more kind, with the ages of all.
    """
    settled, shown = _settled_and_shown(copy)
    arrivals = copy.counters.arrivals.rewards
    edges = _edges(arrivals)
    if not edges.size or not len(settled):
        return []
    found, everyone = [], np.zeros(edges.size)
    by_signal = settled.sum(axis=1)
    for decisions, came in zip(by_signal.T, arrivals, strict=True):
        made = _made(copy, decisions)
        rate = arrival_rate(made, edges, came[: edges.size].astype(np.float64), float(last))
        found.append(_Kind(made, edges, rate))
        everyone += rate * decisions.sum() / max(1, by_signal.sum())
    open_now = shown.sum(axis=1) - by_signal.sum(axis=1)
    return [*found, _Kind(_made(copy, open_now), edges, everyone)]


def _waiting_for_signals(copy: CampaignCopy, last: int) -> list[_Kind]:
    """Return all decisions, with the ages at which signals come.

    A decision counts as much more or less as its action has more or fewer signals than others.
    """
    settled, shown = _settled_and_shown(copy)
    arrivals = copy.counters.arrivals.signals
    edges = _edges(arrivals)
    if last < 0 or not edges.size or not len(settled):
        return []
    told = [index for index, name in enumerate(copy.config.signals) if name != SILENT]
    known = settled.sum(axis=(0, 2))
    spoken = settled[..., told].sum(axis=(0, 2))
    share = spoken.sum() / max(1, known.sum())
    weight = np.where(known > 0, spoken / np.maximum(1, known) / max(1e-9, share), 1.0)
    waits = copy.rules.stages[0].waits
    exposed = _made(copy, settled.sum(axis=(1, 2)) if waits else shown.sum(axis=1))
    came = arrivals.sum(axis=0)[: edges.size].astype(np.float64)
    return [_Kind(_made(copy, shown @ weight), edges, arrival_rate(exposed, edges, came, last))]


def _settled_and_shown(copy: CampaignCopy) -> tuple[Ints, Ints]:
    """Return settled signals (stretches, actions, signals) and decisions (stretches, actions)."""
    stretches, kept = copy.counters.stretches, len(copy.counters.stretches)
    traffic = stretches.traffic[:kept].sum(axis=1)
    return stretches.cells[:kept, ..., 0], traffic[..., DECISIONS] - traffic[..., VOIDS]


def _edges(arrivals: Ints) -> Floats:
    """Return the ages up to the oldest at which something has come."""
    bins = np.flatnonzero(arrivals.sum(axis=0))
    reached = min(int(bins[-1]), len(EDGES) - 1) + 1 if bins.size else 0
    return np.array(EDGES[:reached], np.float64)


def _made(copy: CampaignCopy, decisions: Ints | Floats) -> MadeAt:
    stretches = copy.counters.stretches
    begin = np.array([stretches.begin(index) for index in range(len(decisions))], np.float64)
    end = np.minimum(begin + stretches.length, stretches.last + 1)
    begin = np.maximum(begin, stretches.first)
    return MadeAt.over(begin, end, decisions.astype(np.float64))


def _owed(waiting: list[_Kind], then: int, until: int) -> float:
    return sum(due(*one, float(then), float(until)) for one in waiting)


def _expected_by(copy: CampaignCopy, waiting: list[_Kind], then: int) -> str | None:
    """Return the moment by which a reward was to come with 95 %, by the decisions there are."""
    near, far = then, then + round(copy.config.reward_stage.window * 2e6)
    if not waiting or _owed(waiting, then, far) < SURELY:
        return None
    for _ in range(STEPS):
        middle = (near + far) // 2
        near, far = (near, middle) if _owed(waiting, then, middle) >= SURELY else (middle, far)
    return format_timestamp(far)


def _moment(at: int) -> str | None:
    return None if at < 0 else format_timestamp(at)

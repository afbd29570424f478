"""Delays: how long signals and rewards take to arrive, and what their windows miss.

A young decision has had no time for a late arrival. So the share that comes at an age is counted
among the decisions that have reached it, and what a window misses among those that are at least
two windows old. The oldest few of a young campaign count as more: one of their rewards would else
outweigh all that came before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell import protocol
from foretell.service.model.arrivals import EDGES
from foretell.service.model.counters import Counters
from foretell.service.model.events import CampaignConfig
from foretell.service.model.outcome import Rules
from foretell.service.model.stretches import DECISIONS, VOIDS, Stretches
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.words import day_and_time, percent, span, span_adjective
from foretell.stats.delay_curves import delay_curve
from foretell.stats.overdue import MadeAt, arrival_rate
from foretell.types import Floats, Ints

_EDGES = np.array(EDGES) / 1e6
REACHED = 0.1
"""The share of the decisions that has reached an age at least, as it is counted."""
AT_ONCE = 0.1
"""Seconds within which nobody notices a delay."""


class _Stage(NamedTuple):
    """What is known about the arrivals of signals, or of rewards."""

    word: str
    window: float
    """In seconds."""
    ages: Ints
    """(signals, bins): arrivals."""
    exposed: Ints
    """(stretches, signals): decisions that could have had such an arrival."""
    arrived: Ints
    """(signals, 2): arrivals of decisions at least two windows old, and the late ones of them."""


def delay_report(
    config: CampaignConfig, rules: Rules, counters: Counters, now: int
) -> protocol.DelayReport:
    """Return the ages of decisions when the signal came that counts, and their first reward."""
    stretches, size = counters.stretches, len(counters.stretches)
    settled = stretches.cells[:size, ..., 0].sum(axis=1)
    shown = stretches.traffic[:size].sum(axis=(1, 2))
    could = settled.sum(axis=1)
    if not rules.stages[0].waits:
        could = shown[:, DECISIONS] - shown[:, VOIDS]
    signals = _Stage(
        "signal",
        rules.stages[0].window.length / 1e6,
        counters.arrivals.signals,
        np.repeat(could[:, None], len(config.signals), axis=1),
        _of_the_old(stretches, rules, 0, now),
    )
    rewards = _Stage(
        "reward",
        rules.stages[-1].window.length / 1e6,
        counters.arrivals.rewards,
        settled,
        _of_the_old(stretches, rules, -1, now),
    )
    all_signals, all_rewards = (_in_all(one, stretches, settled, now) for one in (signals, rewards))
    return protocol.DelayReport(
        campaign=config.name,
        as_of=format_timestamp(now),
        sentence=_sentence(rewards, all_rewards, stretches, now),
        signal_sentence=_sentence(signals, all_signals, stretches, now),
        signal_window=signals.window,
        reward_window=rewards.window,
        decisions=counters.counts[0],
        all_signals=all_signals,
        all_rewards=all_rewards,
        signals=_by_signal(config, signals, stretches, settled, now),
        rewards=_by_signal(config, rewards, stretches, settled, now),
        oldest=_oldest(stretches, now) if stretches else None,
    )


def _oldest(stretches: Stretches, now: int) -> float:
    """Return the age of the oldest decision, in seconds."""
    return max(0, now - stretches.first) / 1e6


def _of_the_old(stretches: Stretches, rules: Rules, stage: int, now: int) -> Ints:
    """Return (signals, 2): arrivals of decisions at least two windows old, and late ones."""
    first = 0 if stage == 0 else 2
    waited = 2 * rules.stages[stage].window.length
    ends = [stretches.begin(index + 1) for index in range(len(stretches))]
    old = sum(end + waited <= now for end in ends)
    found: Ints = stretches.arrived[:old, :, first : first + 2].sum(axis=0)
    return found


def _in_all(stage: _Stage, stretches: Stretches, settled: Ints, now: int) -> protocol.Delays:
    exposed = stage.exposed[:, 0] if stage.word == "signal" else stage.exposed.sum(axis=1)
    ages, arrived = stage.ages.sum(axis=0), stage.arrived.sum(axis=0)
    made, oldest = _made(stretches, exposed), _oldest(stretches, now)
    return _delays(None, int(settled.sum()), ages, made, arrived, oldest, now)


def _by_signal(
    config: CampaignConfig, stage: _Stage, stretches: Stretches, settled: Ints, now: int
) -> list[protocol.Delays]:
    return [
        _delays(
            name,
            int(settled[:, index].sum()),
            stage.ages[index],
            _made(stretches, stage.exposed[:, index]),
            stage.arrived[index],
            _oldest(stretches, now),
            now,
        )
        for index, name in enumerate(config.signals)
    ]


def _made(stretches: Stretches, count: Ints) -> MadeAt:
    """Spread decisions over their stretches; those of the first and the last, where there are."""
    begins = np.array([stretches.begin(index) for index in range(len(stretches))], float)
    ends = np.minimum(begins + stretches.length, stretches.last + 1)
    begins = np.maximum(begins, stretches.first)
    return MadeAt.over(begins / 1e6, ends / 1e6, count.astype(float))


def _delays(
    signal: str | None,
    decisions: int,
    ages: Ints,
    made: MadeAt,
    arrived: Ints,
    oldest: float,
    now: int,
) -> protocol.Delays:
    counted: Floats = ages[:-1].astype(float)
    by_age = counted
    if counted.any():
        least = REACHED * float(made.number.sum())
        by_age = arrival_rate(made, _EDGES, counted, now / 1e6, least)
    curve = delay_curve(np.minimum(_EDGES, oldest), by_age)
    came, late = arrived.tolist()
    return protocol.Delays(
        signal=signal,
        decisions=decisions,
        arrived=int(ages.sum()),
        median=curve.age(0.5),
        p90=curve.age(0.9),
        misses=late / came if came else None,
        missed=late,
        misses_of=came,
        ages=curve.ages,
        shares=curve.shares,
    )


def _sentence(stage: _Stage, found: protocol.Delays, stretches: Stretches, now: int) -> str:
    """Return the finding in words: how long it takes, and what the window misses."""
    word, window = stage.word, span_adjective(stage.window)
    if found.median is None or found.p90 is None:
        return f"No {word} counts yet, so nothing can be said about its delay."
    took = _took(word, found.median, found.p90)
    if found.misses is not None:
        return (
            f"{took}. Your {window} window misses {percent(found.misses)} of them: "
            f"{found.missed:,} of {found.misses_of:,} came later, counted over decisions at least "
            f"two windows old."
        )
    known = stretches.begin(1) + round(2e6 * stage.window)
    if known <= now:
        return f"{took}; but none has come of the decisions that are two windows old."
    oldest = _oldest(stretches, now)
    so_far = f"{took}, so far"
    if oldest < stage.window:
        so_far = (
            f"{_took(word, found.median, found.p90, 'came')}, so far; but no decision is older "
            f"than {span(oldest)}, so a later {word} could not be seen yet"
        )
    return (
        f"{so_far}. It is too early to say what your {window} window misses: the first "
        f"decisions are two windows old on {day_and_time(known, now)}."
    )


def _took(word: str, median: float, p90: float, come: str = "come") -> str:
    """Return how long half of them take, and nine in ten."""
    if p90 < AT_ONCE:
        return f"Nine in ten {word}s {come} at once"
    half = "at once" if median < AT_ONCE else f"within {span(median)} of their decision"
    return f"Half of the {word}s {come} {half}, nine in ten within {span(p90)}"

"""What the counters of a campaign must hold, counted again from all records of every decision."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from foretell.service.model.arrivals import BINS, EDGES
from foretell.service.model.events import OBSERVED, CampaignConfig, DecisionRecords, Feedback
from foretell.service.model.outcome import Rules, is_void, outcome_of, rewards, signals
from foretell.service.model.stretches import kept_stretches, lengths

GRAINS = 2**30


def campaign_counts(
    config: CampaignConfig, decisions: Sequence[DecisionRecords], now: int
) -> dict[str, Any]:
    """Return the arrays of `Counters.arrays` at a moment, but for those that count records."""
    rules = Rules.of(config)
    kept = kept_stretches(len(config.actions), len(config.signals))
    first, last = decisions[0].decided_at, decisions[-1].decided_at
    length = next(one for one in lengths() if last // one - first // one < kept)
    size = last // length - first // length + 1
    actions, kinds = len(config.actions), len(config.signals)
    found: dict[str, Any] = {
        "latest": np.array([last, -1, -1]),
        "clock": np.array([first, last, length]),
        "total": np.zeros((actions, kinds, 4), int),
        "traffic": np.zeros((size, 4, actions, 6), int),
        "cells": np.zeros((size, actions, kinds, 4), int),
        "mode_signals": np.zeros((size, 4, kinds), int),
        "arrived": np.zeros((size, kinds, 4), int),
        "signal_ages": np.zeros((kinds, BINS), int),
        "reward_ages": np.zeros((kinds, BINS), int),
    }
    for records in decisions:
        _count(found, config, rules, records, now)
    return found


def _count(
    found: dict[str, Any],
    config: CampaignConfig,
    rules: Rules,
    records: DecisionRecords,
    now: int,
) -> None:
    first, _, length = found["clock"]
    stretch = records.decided_at // length - first // length
    mode, action = records.decided.mode_index, records.decided.action
    traffic = found["traffic"][stretch, mode, action]
    traffic[0] += 1
    traffic[1] += any(is_void(record) for record in records.feedback)
    came = signals(records.feedback, 0)
    paid = [
        record.recorded_at
        for record in rewards(records.feedback, len(rules.stages) - 1)
        if isinstance(record.event, Feedback) and record.event.verb_index == OBSERVED
    ]
    found["latest"][1] = max([found["latest"][1], *(at for at, _ in came)])
    found["latest"][2] = max([found["latest"][2], *paid])
    outcome = outcome_of(rules, records, rules.closed_by(records.decided_at, now))
    if outcome[0] is None:
        return
    signal, reward = int(outcome[0]), outcome[-1]
    cells = [found["cells"][stretch, action, signal], found["total"][action, signal]]
    found["mode_signals"][stretch, mode, signal] += 1
    traffic[2] += 1
    for cell in cells:
        cell[0] += 1
    if reward is not None:
        low, high = config.reward_range
        unit = (Fraction(min(max(reward, low), high)) - Fraction(low)) / Fraction(high - low)
        grains = int(unit * GRAINS + Fraction(1, 2))
        square = int(Fraction(grains * grains, GRAINS) + Fraction(1, 2))
        for numbers in (traffic[3:], *(cell[1:] for cell in cells)):
            numbers[:] += (1, grains, square)
    dues = rules.dues(records.decided_at)
    for what, moments, due in (
        ("signal", [at for at, one in came if one == signal], dues[0]),
        ("reward", paid, dues[-1]),
    ):
        if moments:
            age, late = moments[0] - records.decided_at, moments[0] >= due
            found[f"{what}_ages"][signal, sum(edge <= age for edge in EDGES)] += 1
            index = ("signal", "reward").index(what) * 2
            found["arrived"][stretch, signal, index] += 1
            found["arrived"][stretch, signal, index + 1] += late

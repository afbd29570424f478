"""A campaign's log as arrays, with which another policy can be evaluated.

The outcome of a decision is the present one, known from the moment on at which it became so: when
its window closed, or with the last record that changed it. A decision that was never shown is left
out, as if it had not been made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.evaluation.decision_log import UNKNOWN, DecisionLog
from foretell.service.model.events import (
    CampaignConfig,
    DecisionRecords,
    moment,
    stamp,
)
from foretell.service.model.outcome import Rules, is_void, outcome_of, rewards, signals
from foretell.types import Bools, RewardScale

_SLOT = 1
"""A window that is due closes before any record of its microsecond."""


class _Row(NamedTuple):
    """One decision; its fields are those of `DecisionLog`."""

    decided_at: int
    action: int
    eligible: int
    propensity: float
    explore: float
    held_out: bool
    first: int
    signal: int
    signal_at: int
    reward: float
    reward_at: int
    settled: bool


class DecisionLogBuilder:
    """Reads decisions in their order, as of a position in the log."""

    def __init__(self, config: CampaignConfig, explores: dict[int, float], position: int) -> None:
        """Read by this configuration; `explores` has the share of exploration of each version."""
        self.voided = 0
        """Decisions that were left out, because they were never shown."""
        self._config, self._explores, self._position = config, explores, position
        self._rules = Rules.of(config)
        self._scale = RewardScale("bounded", *config.reward_range)
        self._rows: list[_Row] = []
        self._index: dict[int, int] = {}
        """The row of each decision, by its number."""
        self._masks: dict[int | bytes, int] = {}

    def add(self, records: DecisionRecords) -> None:
        """Read the next decision."""
        records = records.before(self._position)
        if any(is_void(record) for record in records.feedback):
            self.voided += 1
            return
        decided, row = records.decided, len(self._rows)
        first = self._index.get(decided.first, -1) if decided.first else row
        drawn = self._rows[first] if 0 <= first < row else None
        signal, signal_at, reward, reward_at, closed = self._outcome(records)
        self._index[records.number] = row
        self._rows.append(
            _Row(
                records.number,
                decided.action,
                self._masks.setdefault(decided.eligible, len(self._masks)),
                decided.propensity,
                self._explores[decided.config],
                decided.mode == "holdout" if drawn is None else drawn.held_out,
                max(first, 0),
                signal,
                signal_at,
                reward,
                reward_at,
                closed and first >= 0 and not np.isnan(reward),
            )
        )

    def _outcome(self, records: DecisionRecords) -> tuple[int, int, float, int, bool]:
        """Return signal and reward, each with the place in the log from which on it is known."""
        rules, dues = self._rules, self._rules.dues(records.decided_at)
        closed = rules.closed_by(records.decided_at, moment(self._position))
        outcome = outcome_of(rules, records, closed)
        signal_at, reward_at = stamp(dues[0]), stamp(dues[-1])
        signal, reward = UNKNOWN, np.nan
        if outcome[0] is not None:
            signal = int(outcome[0])
            seen = (at for at, value in signals(records.feedback, 0) if value == signal)
            arrived = stamp(next(seen, 0)) + _SLOT
            signal_at = max(signal_at, arrived) if rules.stages[0].waits else arrived
        if outcome[-1] is not None:
            low, high = self._config.reward_range
            reward = self._scale.unit(min(max(outcome[-1], low), high))
            rewarded = rewards(records.feedback, len(rules.stages) - 1)
            arrived = rewarded[-1].seq if rewarded else 0
            reward_at = max(reward_at, arrived) if rules.stages[-1].waits else arrived
        return signal, signal_at, reward, reward_at, closed[-1]

    def build(self) -> DecisionLog:
        """Return all decisions that were read."""
        actions = len(self._config.actions)
        columns = list(zip(*self._rows, strict=True)) or [()] * len(_Row._fields)
        arrays = dict(zip(_Row._fields, map(np.array, columns), strict=True))
        masks = np.array([eligible_mask(one, actions) for one in self._masks], np.bool_)
        return DecisionLog(
            masks=masks.reshape(len(self._masks), actions),
            **{name: array.astype(_KINDS[name]) for name, array in arrays.items()},
        )


_KINDS: dict[str, type] = {
    name: np.float64
    if name in ("propensity", "explore", "reward")
    else np.bool_
    if name in ("held_out", "settled")
    else np.int64
    for name in _Row._fields
}


def eligible_mask(eligible: int | bytes, actions: int) -> Bools:
    """Return which of so many actions could be chosen."""
    mask = np.zeros(actions, np.bool_)
    if isinstance(eligible, int):
        mask[:eligible] = True
    else:
        bits = np.unpackbits(np.frombuffer(eligible, np.uint8))[:actions]
        mask[: bits.size] = bits
    return mask

"""Decisions whose reward may still come, counted by signal and age.

Where only conversions are ever reported, a decision that is silent so far says something, and the
longer it is silent the more: it is counted here from its signal until its reward window closes,
and then by `theta` as any other. Time is counted in ticks, rounds in the lab and thousandths of a
second live, and moves with `elapse` only.

Decisions are counted in cells of time that double with age, O(log of the age) for each signal. A
level has cells of twice the width of the level below. Which cell a decision is in depends on when
it was made and on the present alone, never on when something was learned about it: so all counts
are whole numbers, the order in which they are learned does not matter, and each can be undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.parts.theta import to_grains
from foretell.policies.verbs import SILENT

if TYPE_CHECKING:
    from foretell.policies.censored_spec import CensoredSpec
    from foretell.types import Floats, Ints, Problem

LEVELS = 24
CELLS = 4
"""A level has two to four cells in use."""
RESOLUTION = 16.0
"""The youngest cells are this part of the shortest typical delay wide."""
NOT_BEGUN = -1

ORIGIN, NOW = 0, 1


class OpenRewards(NamedTuple):
    """Decisions by signal and age, and the delays of the rewards that came before the close."""

    width: int
    """Ticks of the youngest cells; 0 where rewards are not censored, and all the rest is empty."""
    typical: Floats
    """(signals,): the mean delay that was declared, in ticks."""
    clock: Ints
    """(2,): the tick at which time began, or NOT_BEGUN, and the ticks since then."""
    first: Ints
    """(levels,): the number of the oldest cell of each level; cell n of level l begins n times its
    width after the origin."""
    silent: Ints
    """(signals, levels · CELLS): open decisions without a reward."""
    arrived: Ints
    """(signals, levels · CELLS): open decisions with one."""
    grains: Ints
    """(signals,): the rewards of these."""
    conversions: Ints
    """(signals,): rewards that arrived before the close, of open and of closed decisions."""
    ticks: Ints
    """(signals,): the sum of their delays."""
    scratch_stale: Ints
    """(1,): 1 where what follows is not that of the counts above."""
    scratch_known: Floats
    """(signals,): open decisions, each by the chance that its reward would have come by now."""
    scratch_counts: Ints
    scratch_grains: Ints
    """(signals,): rewards that have arrived, or whose window is closed."""
    scratch_prior: Floats
    """(signals,): what counts besides: declared values, and open decisions that are silent."""
    scratch_age: Floats
    scratch_silent: Floats
    scratch_total: Floats
    """(levels · CELLS,): the cells in use of one signal."""


def new_open_rewards(spec: CensoredSpec, problem: Problem) -> OpenRewards:
    """Return what is known before the first round; where rewards are not censored all is empty."""
    signals = problem.signals if spec.censored else 0
    cells = LEVELS * CELLS if signals else 0
    typical = np.ones(signals)
    if spec.censored:
        _check(problem, spec.typical_delay)
        typical[:] = spec.typical_delay
    width = max(1, int(typical.min() / RESOLUTION)) if signals else 0
    first = np.full(LEVELS if signals else 0, -4, np.int64)
    first[:1] = -2
    return OpenRewards(
        width=width,
        typical=typical,
        clock=np.array([NOT_BEGUN, 0]),
        first=first,
        silent=np.zeros((signals, cells), np.int64),
        arrived=np.zeros((signals, cells), np.int64),
        grains=np.zeros(signals, np.int64),
        conversions=np.zeros(signals, np.int64),
        ticks=np.zeros(signals, np.int64),
        scratch_stale=np.ones(1, np.int64),
        scratch_known=np.zeros(signals),
        scratch_counts=np.zeros(signals, np.int64),
        scratch_grains=np.zeros(signals, np.int64),
        scratch_prior=np.zeros(signals),
        scratch_age=np.zeros(cells),
        scratch_silent=np.zeros(cells),
        scratch_total=np.zeros(cells),
    )


def _check(problem: Problem, typical_delay: object) -> None:
    if problem.rewards != "bounded":
        raise InvalidInput(
            f"censored rewards must be bounded, as silence is the lowest of them, got "
            f"{problem.rewards} ones: leave censored out"
        )
    if isinstance(typical_delay, tuple) and len(typical_delay) != problem.signals:
        raise InvalidInput(
            f"typical_delay must be one number, or one for each of the {problem.signals} signals, "
            f"got {len(typical_delay)}"
        )


@kernel
def _cell_of(rewards: OpenRewards, tick: int) -> int:
    """Return the column of the cell of a tick, counted from the origin."""
    number = tick // rewards.width
    level = 0
    while level < LEVELS - 1 and number < rewards.first[level]:
        number //= 2
        level += 1
    return level * CELLS + max(number, rewards.first[level]) % CELLS


@kernel
def open_changed(rewards: OpenRewards) -> None:
    """Note that closed decisions have changed, which are counted by `theta`."""
    rewards.scratch_stale[0] = 1


@kernel
def open_elapse(rewards: OpenRewards, now: int) -> None:
    """Let time move on to `now`: cells that have become old are merged, two into one."""
    if rewards.width == 0:
        return
    if rewards.clock[ORIGIN] == NOT_BEGUN:
        rewards.clock[ORIGIN] = now
    rewards.clock[NOW] = max(rewards.clock[NOW], now - rewards.clock[ORIGIN])
    open_changed(rewards)
    number = rewards.clock[NOW] // rewards.width
    changed = 0
    while changed < LEVELS and rewards.first[changed] != number // 2 * 2 - 2:
        number = number // 2 - 1
        changed += 1
    # From the top: what leaves a level finds those above in order.
    for level in range(changed - 1, -1, -1):
        _raise_first(rewards, level)


@kernel
def _raise_first(rewards: OpenRewards, level: int) -> None:
    """Put the oldest cell of a level where the present says, and merge what is older upwards."""
    number = rewards.clock[NOW] // rewards.width
    for _ in range(level):
        number = number // 2 - 1
    before = rewards.first[level]
    first = number // 2 * 2 - 2
    rewards.first[level] = first
    for old in range(before, min(before + CELLS, first)):
        column = level * CELLS + old % CELLS
        other = old
        target = level
        while target < LEVELS - 1 and other < rewards.first[target]:
            other //= 2
            target += 1
        other = target * CELLS + max(other, rewards.first[target]) % CELLS
        if other != column:
            for signal in range(len(rewards.typical)):
                rewards.silent[signal][other] += rewards.silent[signal][column]
                rewards.arrived[signal][other] += rewards.arrived[signal][column]
                rewards.silent[signal][column] = 0
                rewards.arrived[signal][column] = 0


@kernel
def open_count(
    rewards: OpenRewards, made: int, signal: int, delay: int, reward: float, closed: bool, by: int
) -> None:
    """Count a decision made at a tick, or undo that: `by` is 1 or −1.

    `delay` is that of its reward, or SILENT; once its window is closed only that counts here.
    """
    if rewards.width == 0:
        return
    open_changed(rewards)
    if delay != SILENT:
        rewards.conversions[signal] += by
        rewards.ticks[signal] += by * delay
    if closed:
        return
    tick = min(max(made - rewards.clock[ORIGIN], 0), rewards.clock[NOW])
    column = _cell_of(rewards, tick)
    if delay == SILENT:
        rewards.silent[signal][column] += by
    else:
        rewards.arrived[signal][column] += by
        rewards.grains[signal] += by * to_grains(reward)

"""Since when has the law of an action been what it is? A filter over the answers.

Each action has a few hypotheses "its law last changed in round r", with a weight and the counts
of the signals seen since r [Adams2007]. A signal multiplies the weights by what each hypothesis
predicted, with the Krichevsky–Trofimov estimator (c + 1/2) / (m + S/2); a new hypothesis "it
changed just now" receives the hazard; the lightest is dropped when there are too many.

Nobody knows how often laws change, so the hazards are learned from the changes found so far:

* an action in play changes at the rate (ACTIVE + changes found) / (rounds watched);
* while an action rests it may change unseen. Changes found elsewhere make that likelier, unless
  actions have been found to change together, since then somebody would have noticed: the rate is
  changes · (1 − coupling) / rounds watched. A small part, idle / (sqrt(K) t), is always there:
  resting actions are looked at again now and then, for nothing else can tell;
* a change found in one action moves the share `coupling` of every other action's weight to a
  hypothesis "it changed as well", and what their next signals say about it teaches the coupling.

A change counts as found when hypotheses younger than the last found one weigh more than SURE.
The likeliest hypothesis stands at index 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel, uniform

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

HYPOTHESES = 12
ACTIVE = 0.02
"""Changes assumed of the actions in play before any is found."""
AGE = 20.0
"""Rounds assumed watched before the first one."""
SURE = 0.9
LEARNED = -1.0
"""Stands for a coupling that is learned."""
NONE = -1

CHANGES, TOGETHER, APART = 0, 1, 2


class RunLengths(NamedTuple):
    """Hypotheses by action, and what has been learned about changes."""

    idle: float
    """Resting actions may change unseen at the rate idle / (sqrt(K) t)."""
    coupling: float
    """The share of other actions that change along; LEARNED to learn it."""
    weight: Floats
    """(actions, hypotheses): they sum to 1 over the ones in use."""
    counts: Ints
    """(actions, hypotheses, signals): signals seen since the change."""
    totals: Ints
    """(actions, hypotheses): their sums."""
    start: Ints
    """(actions, hypotheses): the round of the change."""
    used: Ints
    """(actions,): hypotheses in use."""
    last: Ints
    """(actions,): the round of the latest signal."""
    found: Ints
    """(actions,): the round in which its latest change was found."""
    pending: Ints
    """(actions,): the round of a change elsewhere that is not yet confirmed here, or NONE."""
    tally: Ints
    """(3,): changes found first, found to have happened along with those, found not to have."""
    watched: Ints
    """(1,): rounds between consecutive signals of an action, summed over all."""


def new_run_lengths(actions: int, signals: int, idle: float, coupling: float) -> RunLengths:
    """Return what is known before the first round: one empty hypothesis for every action."""
    weight = np.zeros((actions, HYPOTHESES))
    weight[:, 0] = 1.0
    return RunLengths(
        idle=idle,
        coupling=coupling,
        weight=weight,
        counts=np.zeros((actions, HYPOTHESES, signals), np.int64),
        totals=np.zeros((actions, HYPOTHESES), np.int64),
        start=np.zeros((actions, HYPOTHESES), np.int64),
        used=np.ones(actions, np.int64),
        last=np.zeros(actions, np.int64),
        found=np.zeros(actions, np.int64),
        pending=np.full(actions, NONE, np.int64),
        tally=np.zeros(3, np.int64),
        watched=np.zeros(1, np.int64),
    )


@kernel
def coupling_share(runs: RunLengths) -> float:
    """Return the chance that a change of one action is one of another, too."""
    if runs.coupling != LEARNED:
        return runs.coupling
    together = runs.tally[TOGETHER] + 1.0
    return together / (together + runs.tally[APART] + 1.0)


@kernel
def resting_rate(runs: RunLengths) -> float:
    """Return the learned rate at which a resting action changes unseen."""
    return runs.tally[CHANGES] * (1.0 - coupling_share(runs)) / (runs.watched[0] + AGE)


@kernel
def idle_share(runs: RunLengths) -> float:
    """Return idle / sqrt(K): the more actions rest, the less is each looked at."""
    return runs.idle / math.sqrt(len(runs.last))


@kernel
def kept_share(runs: RunLengths, action: int, t: int, rate: float) -> float:
    """Return the chance that an action has not changed since its latest signal."""
    last = runs.last[action]
    if t <= last:
        return 1.0
    unseen = idle_share(runs) * math.log((t + AGE) / (last + AGE))
    return math.exp(-unseen - rate * (t - last))


@kernel
def draw_run(runs: RunLengths, action: int, t: int, rate: float, rng: np.random.Generator) -> int:
    """Draw a hypothesis by weight; NONE for a change since the latest signal.

    The chance of no change is at least 1 − bound, so the exact one is seldom needed.
    """
    rest = max(0, t - runs.last[action])
    bound = rest * (idle_share(runs) / (runs.last[action] + AGE) + rate)
    left = uniform(rng)
    if left < 1.0 - bound:
        left /= 1.0 - bound
    else:
        surely = max(0.0, 1.0 - bound)
        kept = kept_share(runs, action, t, rate)
        if left >= kept:
            return NONE
        left = (left - surely) / (kept - surely)
    last = runs.used[action] - 1
    for index in range(last):
        left -= runs.weight[action, index]
        if left < 0.0:
            return index
    return last


@kernel
def is_new(runs: RunLengths, action: int, index: int) -> bool:
    """Return whether a hypothesis has the action change along with another, not yet confirmed."""
    change = runs.pending[action]
    if NONE in (change, index):
        return False
    return runs.start[action, index] >= change


@kernel
def _new_hypothesis(runs: RunLengths, action: int, start: int) -> int:
    """Make room for an empty hypothesis of weight 0, dropping the lightest if need be."""
    weight, index = runs.weight[action], runs.used[action]
    if index < HYPOTHESES:
        runs.used[action] = index + 1
    else:
        index = 1
        lightest = weight[1]
        for other in range(2, HYPOTHESES):
            each = weight[other]
            if each < lightest:
                index = other
                lightest = each
    counts = runs.counts[action][index]
    for signal in range(len(counts)):
        counts[signal] = 0
    runs.totals[action][index] = 0
    runs.start[action][index] = start
    weight[index] = 0.0
    return index


@kernel
def normalise_runs(runs: RunLengths, action: int) -> None:
    """Let the weights sum to 1, the heaviest first."""
    weight, used = runs.weight[action], runs.used[action]
    mass = 0.0
    heaviest = 0
    largest = weight[0]
    for index in range(used):
        each = weight[index]
        mass += each
        if each > largest:
            heaviest = index
            largest = each
    for index in range(used):
        weight[index] /= mass
    if heaviest != 0:
        _swap(runs, action, heaviest)


@kernel
def _swap(runs: RunLengths, action: int, index: int) -> None:
    weights, totals, starts = runs.weight[action], runs.totals[action], runs.start[action]
    weight = weights[index]
    weights[index] = weights[0]
    weights[0] = weight
    total = totals[index]
    totals[index] = totals[0]
    totals[0] = total
    start = starts[index]
    starts[index] = starts[0]
    starts[0] = start
    one, other = runs.counts[action][index], runs.counts[action][0]
    for signal in range(len(one)):
        count = one[signal]
        one[signal] = other[signal]
        other[signal] = count


@kernel
def _move(runs: RunLengths, action: int, change: int, share: float) -> float:
    """Move a share of what is older than a change to "it changed then"; return what was older."""
    weight, totals, start = runs.weight[action], runs.totals[action], runs.start[action]
    older = 0.0
    empty = NONE
    for index in range(runs.used[action]):
        if totals[index] == 0:
            empty = index
        elif start[index] < change:
            older += weight[index]
            weight[index] *= 1.0 - share
    if older == 0.0:
        return 0.0
    if empty == NONE:
        empty = _new_hypothesis(runs, action, change)
    start[empty] = change
    weight[empty] += share * older
    normalise_runs(runs, action)
    return older


@kernel
def _share_change(runs: RunLengths, action: int, change: int) -> None:
    """Let the others know of a change of `action`, which may be theirs as well."""
    share = coupling_share(runs)
    if share == 0.0:
        return
    for other in range(len(runs.used)):
        if other != action:
            older = _move(runs, other, change, share)
            if older > 0.5 and runs.pending[other] == NONE:
                runs.pending[other] = change


@kernel
def _younger(runs: RunLengths, action: int, than: int) -> float:
    """Return how much the hypotheses weigh that begin after a round."""
    weight, start = runs.weight[action], runs.start[action]
    mass = 0.0
    for index in range(runs.used[action]):
        if start[index] > than:
            mass += weight[index]
    return mass


@kernel
def settle_runs(runs: RunLengths, action: int, t: int) -> bool:
    """Return whether the action is found to have changed, and learn from that."""
    pending = runs.pending[action]
    if pending != NONE:
        along = _younger(runs, action, pending - 1)
        if along < 1.0 - SURE:
            runs.tally[APART] += 1
            runs.pending[action] = NONE
        if along <= SURE:
            return False
        runs.tally[TOGETHER] += 1
        runs.pending[action] = NONE
    else:
        if _younger(runs, action, runs.found[action]) <= SURE:
            return False
        runs.tally[CHANGES] += 1
        _share_change(runs, action, runs.start[action][0])
    runs.found[action] = t
    return True


@kernel
def age_runs(runs: RunLengths, action: int, t: int) -> tuple[float, int]:
    """Come to round t; return the chance of no change, and an empty hypothesis for the rest.

    The latter is NONE where the only hypothesis is empty itself.
    """
    hazard = (ACTIVE + runs.tally[CHANGES]) / (runs.watched[0] + AGE)
    kept = kept_share(runs, action, t, resting_rate(runs)) * (1.0 - min(0.5, hazard))
    if t > runs.last[action]:
        runs.watched[0] += t - runs.last[action]
        runs.last[action] = t
    fresh = NONE
    if runs.used[action] > 1 or runs.totals[action][0] > 0:
        fresh = _new_hypothesis(runs, action, t)
    return kept, fresh


@kernel
def run_observe(runs: RunLengths, action: int, t: int, signal: int) -> bool:
    """Learn a signal of round t; return whether the action is now found to have changed."""
    kept, fresh = age_runs(runs, action, t)
    weights, counts, totals = runs.weight[action], runs.counts[action], runs.totals[action]
    half = 0.5 * runs.counts.shape[2]
    for index in range(runs.used[action]):
        count, total = counts[index][signal], totals[index]
        weight = 1.0 - kept if index == fresh else kept * weights[index]
        weights[index] = weight * ((count + 0.5) / (total + half))
        counts[index][signal] = count + 1
        totals[index] = total + 1
    normalise_runs(runs, action)
    return settle_runs(runs, action, t)

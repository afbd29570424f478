"""Do the intervals of an evaluation cover? On simulated logs, where the true value is known.

A policy with a share of uniform play decides in a drawn world, and its log is evaluated for others.
The truth is what the other policy would have earned along its replay: at each counted decision the
mean reward of every action, weighted by its probability. `python -m
foretell.studies.evaluation_coverage` prints the table of docs/how-to/evaluate.md.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from foretell.evaluation.decision_log import DecisionLog
from foretell.evaluation.evaluate import Evaluation, EvaluationRun
from foretell.evaluation.replay import Replay, replay_rounds
from foretell.policies.draw import choices, pick
from foretell.policies.registry import policy, start
from foretell.policies.verbs import credit, observe, play
from foretell.sim.draw_worlds import draw_from, draw_worlds
from foretell.sim.streams import stream_words
from foretell.types import Floats, Problem
from foretell.worlds.changes import shifts
from foretell.worlds.scenario import Scenario
from foretell.worlds.world import Now, World, answer, before_round_zero, move_to

HELD_OUT = 0.05
"""The share of decisions that are held out."""


class SimulatedLog(NamedTuple):
    """A log, and the mean reward of every action at each decision."""

    log: DecisionLog
    means: Floats
    """(decisions, actions), in unit rewards"""


def simulated_log(
    scenario: Scenario, logger: str, explore: float, horizon: int, seed: int
) -> SimulatedLog:
    """Let a policy with a share of uniform play decide in a drawn world."""
    words = stream_words(seed, np.arange(1))
    world = draw_worlds(scenario, horizon, words, draw_from)
    now = before_round_zero(world)
    noise, rng = (np.random.Generator(np.random.SFC64((seed, part))) for part in range(2))
    actions = scenario.actions
    state = start(policy(logger), Problem(actions, scenario.signals))
    everything = np.ones(actions, np.bool_)
    played = np.zeros((7, horizon))
    means = np.zeros((horizon, actions))
    pending: dict[int, list[tuple[int, int, int, float]]] = {}
    for t in range(horizon):
        move_to(world, now, t)
        means[t] = _means(world, now)
        shares = choices(state, t, everything, rng, 32).shares
        held_out = rng.random() < HELD_OUT
        mixed = explore / actions + (1.0 - explore) * shares
        probabilities = np.full(actions, 1.0 / actions) if held_out else mixed
        action = pick(probabilities, rng)
        play(state, t, action)
        signal, reward, delay = answer(world, now, action, noise)
        observe(state, t, action, signal)
        pending.setdefault(t + int(delay), []).append((t, action, signal, reward))
        for arrived in pending.pop(t, []):
            credit(state, *arrived)
        played[:, t] = t, action, probabilities[action], held_out, signal, reward, delay
    return SimulatedLog(_decision_log(played, actions, explore), means)


def _decision_log(played: Floats, actions: int, explore: float) -> DecisionLog:
    rounds, action, propensity, held_out, signal, reward, delay = played
    t = rounds.astype(np.int64)
    known = t + delay.astype(np.int64) + 1
    return DecisionLog(
        decided_at=t,
        action=action.astype(np.int64),
        eligible=np.zeros(t.size, np.int64),
        masks=np.ones((1, actions), np.bool_),
        propensity=propensity.copy(),
        explore=np.full(t.size, explore),
        held_out=held_out > 0.0,
        first=t.copy(),
        signal=signal.astype(np.int64),
        signal_at=t + 1,
        reward=np.where(known <= t.size, reward, np.nan),
        reward_at=known,
        settled=known <= t.size,
    )


def _means(world: World, now: Now) -> Floats:
    """Return the mean reward of every action, under a law that does not drift."""
    through_signals = world.laws[now.knot[0]] @ now.theta
    means: Floats = (1.0 - world.alpha) * through_signals + world.alpha * now.mu
    return means


def true_value(
    target: str, simulated: SimulatedLog, problem: Problem, *, withheld: bool, replayer: Any
) -> float:
    """Return what a policy would have earned per counted decision, along its replay."""
    log = simulated.log
    replay = Replay(policy(target), log, problem, withheld=withheld, replayer=replayer)
    values = np.zeros(log.decisions)
    while replay.step(1):
        values[replay.t - 1] = replay.shares @ simulated.means[replay.t - 1]
    return float(values[log.counted].mean())


class Coverage(NamedTuple):
    """How often each interval covers the truth, and how wide it is, over many logs."""

    logs: int
    covered: dict[str, float]
    width: dict[str, float]
    effective: float
    """The mean share of effective decisions among those counted."""


ESTIMATORS = ("inverse_propensity", "self_normalised", "doubly_robust")


def coverage(
    scenario: Scenario,
    logger: str,
    target: str,
    *,
    explore: float,
    horizon: int,
    logs: int,
    compiled: bool = True,
    seed: int = 0,
) -> Coverage:
    """Evaluate a policy on many logs of another, and count how often the truth is covered."""
    replayer: Any = lambda _: replay_rounds  # noqa: E731
    if compiled:
        from foretell.sim.compiled import compiled_replayer as replayer
    names = (*ESTIMATORS, "without_signal")
    hits, widths = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    problem, effective = Problem(scenario.actions, scenario.signals), 0.0
    for index in range(logs):
        simulated = simulated_log(scenario, logger, explore, horizon, seed + index)
        run = EvaluationRun(policy(target), simulated.log, problem, replayer)
        while run.step(horizon):
            pass
        found: Evaluation = run.result()
        pairs = {name: (getattr(found.value, name), False) for name in ESTIMATORS}
        if found.without_signal is not None:
            pairs["without_signal"] = (found.without_signal.doubly_robust, True)
        truths = {
            withheld: true_value(target, simulated, problem, withheld=withheld, replayer=replayer)
            for withheld in {one for _, one in pairs.values()}
        }
        for name, (estimate, withheld) in pairs.items():
            hits[name] += estimate.low <= truths[withheld] <= estimate.high
            widths[name] += estimate.high - estimate.low
        effective += found.value.effective_decisions / found.counted
    return Coverage(
        logs,
        {name: hit / logs for name, hit in hits.items()},
        {name: width / logs for name, width in widths.items()},
        effective / logs,
    )


def _worlds() -> dict[str, Scenario]:
    """Return worlds whose laws do not drift: with changes, with rare rewards, a wrong model."""
    law = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
    theta = [0.8, 0.4, 0.2]
    rare = [[0.97, 0.03], [0.95, 0.05], [0.98, 0.02], [0.96, 0.04], [0.99, 0.01]]
    return {
        "changes": Scenario(law=law, theta=theta, changes=shifts(at=[800, 1600]), delay=200),
        "rare rewards": Scenario(law=rare, theta=[0.01, 0.3], delay=300),
        "misleading signal": Scenario(
            law=law, theta=theta, alpha=0.5, mu=[0.1, 0.9, 0.5, 0.3], delay=200
        ),
    }


CELLS = (
    ("nsd-ucrl2", 0.05, "nsd-adaptive"),
    ("nsd-ucrl2", 0.05, "ucb"),
    ("nsd-ucrl2", 0.1, "nsd-ucrl2"),
    ("exp3s", 0.1, "nsd-adaptive"),
    ("uniform", 1.0, "nsd-ucrl2"),
)
"""Who decided, with which share of uniform play, and who is evaluated."""


FRESH = 100_000
"""The first seed of the table: the form of the intervals was chosen on logs with other seeds."""


def main(logs: int, horizon: int = 2000) -> None:
    """Print the table, a row for each world and pair of policies."""
    names = (*ESTIMATORS, "without_signal")
    _row("world", "decided by", "explore", "evaluated", *names, "effective")
    _row(*["---"] * (len(names) + 5))
    for world, scenario in _worlds().items():
        for logger, explore, target in CELLS:
            found = coverage(
                scenario, logger, target, explore=explore, horizon=horizon, logs=logs, seed=FRESH
            )
            cells = (
                f"{found.covered[name]:.1%} ({found.width[name] / 2:.3f})"
                if found.width[name]
                else "–"
                for name in names
            )
            _row(world, logger, f"{explore:g}", target, *cells, f"{found.effective:.0%}")


def _row(*cells: str) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

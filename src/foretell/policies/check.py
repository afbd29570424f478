"""The laws that every policy obeys, and `check_policy`, which tests them.

Any registered policy, ours or a user's own, passes; a policy that does not is refused with the
law it broke. The laws are checked on the plain verbs, with fixed seeds.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.errors import PolicyDefect
from foretell.policies.registry import entry, policy, start
from foretell.policies.state import fingerprint, grow, leaves
from foretell.policies.verbs import choose, credit, has, indices, observe, play, uncredit
from foretell.types import GRAIN, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.policies.spec import Spec
    from foretell.types import Floats

ACTIONS, SIGNALS, ROUNDS = 4, 3, 60
DRAWS = 600
WINDOW = 400


class Round(NamedTuple):
    """What happened in one round."""

    t: int
    action: int
    signal: int
    reward: float


def check_policy(spec: str | Spec) -> tuple[str, ...]:
    """Check every law; give their names, or raise `PolicyDefect` with the one that is broken.

    >>> check_policy("nsd-ucrl2(window=50)")[0]
    'a spec is read back from its text'
    """
    spec = policy(spec)
    for law, check in LAWS.items():
        broken = check(spec)
        if broken:
            raise PolicyDefect(law, f"{spec} {broken}")
    return tuple(LAWS)


def _check_text(spec: Spec) -> str:
    return "" if policy(str(spec)) == spec else f"is printed as {spec}, which means another spec"


def _check_honest(spec: Spec) -> str:
    known = entry(spec)
    if known.undelayed and not known.lab_only:
        return "gets rewards before they arrive (undelayed): register it with lab_only=True"
    kind = known.rewards[0]
    told = start(spec, Problem(ACTIONS, SIGNALS, kind, ROUNDS, (20, 40)))
    untold = start(spec, Problem(ACTIONS, SIGNALS, kind, ROUNDS))
    if not known.lab_only and fingerprint(told) != fingerprint(untold):
        return "uses the change points: register it with lab_only=True"
    return ""


def _check_reads_only(spec: Spec) -> str:
    state = _lived(spec, _history(0))
    before = fingerprint(state)
    first = _choices(state, ROUNDS, draws=20)
    if fingerprint(state) != before:
        return "changes its state in choose: change it in play, observe or credit"
    if not np.array_equal(first, _choices(state, ROUNDS, draws=20)):
        return "chooses differently when asked again with the same random numbers"
    return ""


def _check_eligible(spec: Spec) -> str:
    state = _lived(spec, _history(1))
    for mask in range(1, 2**ACTIONS):
        eligible = np.array([mask >> action & 1 for action in range(ACTIONS)], np.bool_)
        chosen = choose(state, ROUNDS, eligible, np.random.default_rng(mask))
        if not 0 <= chosen < ACTIONS or not eligible[chosen]:
            return f"chose {chosen} when only {np.flatnonzero(eligible).tolist()} were eligible"
    return ""


def _check_ties(spec: Spec) -> str:
    shares = np.bincount(_choices(start(spec, _problem(spec)), 0), minlength=ACTIONS) / DRAWS
    if abs(shares - 1 / ACTIONS).max() > 6 * np.sqrt(0.25 * 0.75 / DRAWS):
        return (
            f"knows nothing in round 0 and yet plays the actions with shares "
            f"{np.round(shares, 2).tolist()}: break ties at random"
        )
    return ""


def _check_relabelling(spec: Spec) -> str:
    order = np.array([2, 0, 3, 1])
    history = _history(2)
    renamed = [r._replace(action=int(order[r.action])) for r in history]
    one, other = _lived(spec, history), _lived(spec, renamed)
    if has(indices, one):
        same = np.isclose(
            _indices(one, ROUNDS), _indices(other, ROUNDS)[order], rtol=0, atol=1e-9, equal_nan=True
        )
        if not same.all():
            return "ranks actions by their numbers: relabelled actions have other indices"
    shares = np.bincount(_choices(one, ROUNDS), minlength=ACTIONS) / DRAWS
    other_shares = (np.bincount(_choices(other, ROUNDS), minlength=ACTIONS) / DRAWS)[order]
    if abs(shares - other_shares).max() > 6 * np.sqrt(0.5 / DRAWS):
        return (
            f"plays relabelled actions with shares {np.round(other_shares, 2).tolist()}, "
            f"not {np.round(shares, 2).tolist()}"
        )
    return ""


def _check_order(spec: Spec) -> str:
    if entry(spec).stream:
        return ""
    history = _history(3)
    reference = fingerprint(_lived(spec, history))
    for seed in range(6):
        if fingerprint(_lived_late(spec, history, np.random.default_rng(seed))) != reference:
            return (
                "knows something else when the same signals and rewards arrive in another order: "
                "make observe and credit of distinct rounds commute, or register it stream=True"
            )
    return ""


def _check_window(spec: Spec) -> str:
    if not any(field.name == "window" for field in dataclasses.fields(spec)):
        return ""
    spec = dataclasses.replace(spec, window=WINDOW)  # type: ignore[call-arg]
    length = WINDOW + 50
    windowed = [what for what in ("signal", "reward") if _matters(spec, what, length, length - 1)]
    forgets = [what for what in windowed if not _matters(spec, what, length, 0)]
    if not forgets:
        return f"has a window of {WINDOW} rounds and yet forgets nothing that is older"
    for what in forgets:
        if _matters(spec, what, length, length - WINDOW - 1):
            return f"still knows the {what} of the round just before its window: off by one"
        if not _matters(spec, what, length, length - WINDOW):
            return f"has forgotten the {what} of the oldest round in its window: off by one"
    return ""


def _check_uncredit(spec: Spec) -> str:
    state = _lived(spec, _history(4))
    if not has(uncredit, state):
        return ""
    play(state, ROUNDS, 1)
    observe(state, ROUNDS, 1, 2)
    before = fingerprint(state)
    credit(state, ROUNDS, 1, 2, 0.625)
    uncredit(state, ROUNDS, 1, 2, 0.625)
    if fingerprint(state) != before:
        return "does not undo a credit exactly with uncredit"
    return ""


def _check_growth(spec: Spec) -> str:
    state = _lived(spec, _history(5), horizon=None)
    larger = dataclasses.replace(_problem(spec, None), actions=ACTIONS + 2, signals=SIGNALS + 1)
    grown = grow(spec, state, larger)
    fresh = start(spec, larger)
    pairs = zip(leaves(state), leaves(grown), leaves(fresh), strict=True)
    for (name, known), (_, now), (_, blank) in pairs:
        if not isinstance(known, np.ndarray):
            continue
        inside = tuple(slice(length) for length in known.shape)
        added = np.ones(now.shape, np.bool_)
        added[inside] = False
        if not (np.array_equal(now[inside], known) and np.array_equal(now[added], blank[added])):
            return f"does not keep what it knew, or makes up what it did not, in {name} as it grows"
    chosen = _choices(grown, ROUNDS, actions=ACTIONS + 2)
    if not ((chosen >= 0) & (chosen < ACTIONS + 2)).all():
        return "chooses an action that does not exist after it has grown"
    return ""


LAWS: dict[str, Callable[[Spec], str]] = {
    "a spec is read back from its text": _check_text,
    "no reward is used early": _check_honest,
    "choose reads only": _check_reads_only,
    "only eligible actions are chosen": _check_eligible,
    "ties are broken at random": _check_ties,
    "actions are only names": _check_relabelling,
    "the order of arrival does not matter": _check_order,
    "a window forgets what is older, and only that": _check_window,
    "uncredit undoes credit": _check_uncredit,
    "growth keeps what is known": _check_growth,
}


def _problem(spec: Spec, horizon: int | None = ROUNDS) -> Problem:
    changes = (20, 40) if entry(spec).lab_only else ()
    return Problem(ACTIONS, SIGNALS, entry(spec).rewards[0], horizon, changes)


def _history(seed: int) -> list[Round]:
    rng = np.random.default_rng(seed)
    return [
        Round(
            t,
            int(rng.integers(ACTIONS)),
            int(rng.integers(SIGNALS)),
            float(np.floor(rng.random() * GRAIN) / GRAIN),
        )
        for t in range(ROUNDS)
    ]


def _lived(spec: Spec, history: list[Round], horizon: int | None = ROUNDS) -> Any:
    """Give the state after a history in which everything arrives at once."""
    state = start(spec, _problem(spec, horizon))
    for t, action, signal, reward in history:
        play(state, t, action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, reward)
    return state


def _lived_late(spec: Spec, history: list[Round], rng: np.random.Generator) -> Any:
    """Give the state after the same history with signals and rewards late, in random order."""
    state = start(spec, _problem(spec))
    waiting: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def deliver(count: int) -> None:
        for _ in range(count):
            verb, arguments = waiting.pop(int(rng.integers(len(waiting))))
            verb(state, *arguments)

    for t, action, signal, reward in history:
        play(state, t, action)
        waiting.append((observe, (t, action, signal)))
        waiting.append((credit, (t, action, signal, reward)))
        deliver(int(rng.integers(min(4, len(waiting)) + 1)))
    deliver(len(waiting))
    return state


def _choices(state: Any, t: int, draws: int = DRAWS, actions: int = ACTIONS) -> Any:
    """Give the choices made in one state with many random numbers."""
    eligible = np.ones(actions, np.bool_)
    return np.array(
        [choose(state, t, eligible, np.random.default_rng(draw)) for draw in range(draws)]
    )


def _indices(state: Any, t: int, actions: int = ACTIONS) -> Floats:
    values = np.zeros(actions)
    indices(state, t, values)
    return values


def _matters(spec: Spec, what: str, length: int, probed: int) -> bool:
    """Tell whether the signal, or the reward, of one round changes what is chosen at the end.

    The round's reward is withheld when its signal is probed, so that only the law can tell.
    """
    ends = []
    for signal, reward in ((0, 0.0), (1, 0.0)) if what == "signal" else ((0, 0.0), (0, 1.0)):
        state = start(spec, Problem(2, 2, entry(spec).rewards[0], length))
        for t in range(length):
            here = t == probed
            one = Round(
                t, t % 2, signal if here else t // 2 % 2, reward if here else t // 2 % 4 / 4
            )
            play(state, *one[:2])
            observe(state, *one[:3])
            if not (here and what == "signal"):
                credit(state, *one)
        if has(indices, state):
            ends.append(_indices(state, length, actions=2))
        else:
            ends.append(_choices(state, length, draws=4 * DRAWS, actions=2))
    return not np.array_equal(ends[0], ends[1])

"""The laws that every policy obeys, and `check_policy`, which tests them.

Any registered policy, ours or a user's own, passes; a policy that does not is refused with the
law it broke. The laws are checked on the plain verbs, with fixed seeds. A law about what a policy
does not have, a window for instance, does not apply to it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.errors import PolicyDefect
from foretell.policies.conformance_runs import (
    ACTIONS,
    ROUNDS,
    SAMPLES,
    SIGNALS,
    is_remembered,
    sample_choices,
    sample_history,
    sample_indices,
    sample_problem,
    state_after,
    state_after_shuffled,
    state_with_signal,
    state_without_play,
)
from foretell.policies.registry import entry, policy, start
from foretell.policies.state import fingerprint, grow, leaves
from foretell.policies.verbs import (
    admit,
    choose,
    credit,
    has,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
    unplay,
)
from foretell.types import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.policies.spec import Spec

WINDOW = 400
SHORT_WINDOW = 20


class CheckedLaw(NamedTuple):
    """A law that a policy obeys, or that does not apply to it."""

    law: str
    reason: str = ""
    """Why it does not apply; empty where it was tested."""

    @property
    def applies(self) -> bool:
        """Whether it was tested."""
        return not self.reason

    def __str__(self) -> str:
        """Print the law, and why it does not apply."""
        return self.law if self.applies else f"{self.law}: does not apply, {self.reason}"


class _DoesNotApply(Exception):
    """The policy does not have what a law is about."""


def check_policy(spec: str | Spec) -> tuple[CheckedLaw, ...]:
    """Check every law; return them, or raise `PolicyDefect` with the one that is broken.

    >>> for checked in check_policy("uniform")[5:8]:
    ...     print(checked)
    actions are only names
    the order of arrival does not matter
    a window forgets what is older, and only that: does not apply, it has no window
    """
    spec = policy(spec)
    return tuple(_checked(spec, law, check) for law, check in LAWS.items())


def _checked(spec: Spec, law: str, check: Callable[[Spec], str]) -> CheckedLaw:
    try:
        broken = check(spec)
    except _DoesNotApply as reason:
        return CheckedLaw(law, str(reason))
    if broken:
        raise PolicyDefect(law, f"{spec} {broken}")
    return CheckedLaw(law)


def _check_text(spec: Spec) -> str:
    return "" if policy(str(spec)) == spec else f"is printed as {spec}, which means another spec"


def _check_honest(spec: Spec) -> str:
    known = entry(spec)
    if known.undelayed and not known.lab_only:
        return "gets rewards before they arrive (undelayed): register it with lab_only=True"
    kind = known.rewards[0]
    informed = start(spec, Problem(ACTIONS, SIGNALS, kind, ROUNDS, (20, 40)))
    uninformed = start(spec, Problem(ACTIONS, SIGNALS, kind, ROUNDS))
    if not known.lab_only and fingerprint(informed) != fingerprint(uninformed):
        return "uses the change points: register it with lab_only=True"
    return ""


def _check_reads_only(spec: Spec) -> str:
    state = state_after(spec, sample_history(0))
    before = fingerprint(state)
    first = sample_choices(state, ROUNDS, draws=20)
    if fingerprint(state) != before:
        return "changes its state in choose: change it in play, observe or credit"
    if not np.array_equal(first, sample_choices(state, ROUNDS, draws=20)):
        return "chooses differently when asked again with the same random numbers"
    return ""


def _check_eligible(spec: Spec) -> str:
    state = state_after(spec, sample_history(1))
    for mask in range(1, 2**ACTIONS):
        eligible = np.array([mask >> action & 1 for action in range(ACTIONS)], np.bool_)
        chosen = choose(state, ROUNDS, eligible, np.random.default_rng(mask))
        if not 0 <= chosen < ACTIONS or not eligible[chosen]:
            return f"chose {chosen} when only {np.flatnonzero(eligible).tolist()} were eligible"
    return ""


def _check_ties(spec: Spec) -> str:
    shares = (
        np.bincount(sample_choices(start(spec, sample_problem(spec)), 0), minlength=ACTIONS)
        / SAMPLES
    )
    if abs(shares - 1 / ACTIONS).max() > 6 * np.sqrt(0.25 * 0.75 / SAMPLES):
        return (
            f"knows nothing in round 0 and yet plays the actions with shares "
            f"{np.round(shares, 2).tolist()}: break ties at random"
        )
    return ""


def _check_relabelling(spec: Spec) -> str:
    order = np.array([2, 0, 3, 1])
    history = sample_history(2)
    renamed = [r._replace(action=int(order[r.action])) for r in history]
    one, other = state_after(spec, history), state_after(spec, renamed)
    if has(indices, one):
        same = np.isclose(
            sample_indices(one, ROUNDS),
            sample_indices(other, ROUNDS)[order],
            rtol=0,
            atol=1e-9,
            equal_nan=True,
        )
        if not same.all():
            return "ranks actions by their numbers: relabelled actions have other indices"
    shares = np.bincount(sample_choices(one, ROUNDS), minlength=ACTIONS) / SAMPLES
    other_shares = (np.bincount(sample_choices(other, ROUNDS), minlength=ACTIONS) / SAMPLES)[order]
    if abs(shares - other_shares).max() > 6 * np.sqrt(0.5 / SAMPLES):
        return (
            f"plays relabelled actions with shares {np.round(other_shares, 2).tolist()}, "
            f"not {np.round(shares, 2).tolist()}"
        )
    return ""


def _check_order(spec: Spec) -> str:
    if entry(spec).stream:
        raise _DoesNotApply("it reads signals as a stream")
    history = sample_history(3)
    reference = fingerprint(state_after(spec, history))
    for seed in range(6):
        if (
            fingerprint(state_after_shuffled(spec, history, np.random.default_rng(seed)))
            != reference
        ):
            return (
                "knows something else when the same signals and rewards arrive in another order: "
                "make observe and credit of distinct rounds commute, or register it stream=True"
            )
    return ""


def _check_window(spec: Spec) -> str:
    if not _has_window(spec):
        raise _DoesNotApply("it has no window")
    spec = dataclasses.replace(spec, window=WINDOW)  # type: ignore[call-arg]
    length = WINDOW + 50
    windowed = [
        what for what in ("signal", "reward") if is_remembered(spec, what, length, length - 1)
    ]
    forgets = [what for what in windowed if not is_remembered(spec, what, length, 0)]
    if not forgets:
        return f"has a window of {WINDOW} rounds and yet forgets nothing that is older"
    for what in forgets:
        if is_remembered(spec, what, length, length - WINDOW - 1):
            return f"still knows the {what} of the round just before its window: off by one"
        if not is_remembered(spec, what, length, length - WINDOW):
            return f"has forgotten the {what} of the oldest round in its window: off by one"
    return ""


def _check_uncredit(spec: Spec) -> str:
    state = state_after(spec, sample_history(4))
    if not has(uncredit, state):
        raise _DoesNotApply("it has no uncredit")
    play(state, ROUNDS, 1)
    observe(state, ROUNDS, 1, 2)
    before = fingerprint(state)
    credit(state, ROUNDS, 1, 2, 0.625)
    uncredit(state, ROUNDS, 1, 2, 0.625)
    if fingerprint(state) != before:
        return "does not undo a credit exactly with uncredit"
    return ""


def _check_unobserve(spec: Spec) -> str:
    if not has(unobserve, start(spec, sample_problem(spec))):
        raise _DoesNotApply("it has no unobserve")
    history = sample_history(6)
    for one in _with_short_window(spec):
        for t in (0, ROUNDS - SHORT_WINDOW // 2, ROUNDS - 1):
            action = history[t].action
            state = state_with_signal(one, history, t, 1)
            unobserve(state, t, action, 1)
            if fingerprint(state) != fingerprint(state_with_signal(one, history, t, None)):
                return f"does not undo the signal of {ROUNDS - t} rounds ago with unobserve"
            observe(state, t, action, 2)
            if fingerprint(state) != fingerprint(state_with_signal(one, history, t, 2)):
                return "knows something else when a signal is undone and another one observed"
    return ""


def _check_unplay(spec: Spec) -> str:
    if not has(unplay, start(spec, sample_problem(spec))):
        raise _DoesNotApply("it has no unplay")
    history = sample_history(7)
    for one in _with_short_window(spec):
        for t in (0, ROUNDS - SHORT_WINDOW // 2, ROUNDS - 1):
            state = state_with_signal(one, history, t, None)
            unplay(state, t, history[t].action)
            if fingerprint(state) != fingerprint(state_without_play(one, history, t)):
                return (
                    f"knows something else when the play of {ROUNDS - t} rounds ago is undone late"
                )
        if fingerprint(state) == fingerprint(state_with_signal(one, history, ROUNDS - 1, None)):
            return "still counts a play that unplay has undone"
    return ""


def _with_short_window(spec: Spec) -> list[Spec]:
    """Return a spec, and the same with a window that forgets, where it has one."""
    if not _has_window(spec):
        return [spec]
    return [spec, dataclasses.replace(spec, window=SHORT_WINDOW)]  # type: ignore[call-arg]


def _has_window(spec: Spec) -> bool:
    return any(field.name == "window" for field in dataclasses.fields(spec))


def _declares_each_signal(spec: Spec) -> bool:
    """Return whether a spec has something for each signal: with one more it is another spec."""
    return any(isinstance(getattr(spec, one.name), tuple) for one in dataclasses.fields(spec))


def _check_growth(spec: Spec) -> str:
    state = state_after(spec, sample_history(5), horizon=None)
    signals = SIGNALS if _declares_each_signal(spec) else SIGNALS + 1
    larger = dataclasses.replace(sample_problem(spec, None), actions=ACTIONS + 2, signals=signals)
    grown = grow(spec, state, ACTIONS, larger)
    fresh = start(spec, larger)
    pairs = zip(leaves(state), leaves(grown), leaves(fresh), strict=True)
    for (name, known), (_, now), (_, blank) in pairs:
        if not isinstance(known, np.ndarray):
            continue
        inside = tuple(slice(length) for length in known.shape)
        added = np.ones(now.shape, np.bool_)
        added[inside] = False
        begun = has(admit, grown) or np.array_equal(now[added], blank[added])
        if not (np.array_equal(now[inside], known) and begun):
            return f"does not keep what it knew, or makes up what it did not, in {name} as it grows"
    chosen = sample_choices(grown, ROUNDS, actions=ACTIONS + 2)
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
    "unobserve undoes observe": _check_unobserve,
    "unplay undoes play, whenever it comes": _check_unplay,
    "growth keeps what is known": _check_growth,
}

"""What a policy can be asked to do: the verbs.

A policy is a spec (its hyper-parameters), a state (a NamedTuple of scalars and NumPy arrays: all
that it knows) and these verbs, registered for its own spec and state. They are plain functions;
`foretell.sim.compiled` hands the very same ones to the compiler.

In each round t = 0, 1, …

    action = choose(state, t, eligible, rng)      reads only (arrays named scratch… aside)
    play(state, t, action)                        the action is committed; clocks move here only
    drawn(state, t, action, propensity)           only where somebody else drew it, see below
    observe(state, t, action, signal)             the early signal of round t
    credit(state, t, action, signal, reward)      the late reward of round t, in unit rewards

A policy that weights by the probability with which an action was drawn has `drawn`: its own
probability is not the one when exploration, a holdout or a choice among eligible actions came in
between. An agent and the service hand over the exact propensity that they log; in the simulator
the policy draws by itself, from all actions, and `play` knows.

And, where a report was wrong, `unobserve` and `uncredit` with what was delivered before.

Where only conversions are reported, `credit` comes when a round's reward window closes, and a
policy that corrects for silence is also asked to

    elapse(state, now)                            time moves on, in ticks; after each play
    wait(state, made, signal, delay, …)           a decision that it may still hear of
    unwait(state, made, signal, delay, …)         undoes `wait` with what was delivered before

The others ignore these three. A tick is a round in the lab, a millisecond of log time live.

A policy that tests for changes says with `alarms` how many it has found; trajectories hold them.

`t` is always the round of the decision, never of the arrival. The law of the verbs: after the
same plays, `observe` and `credit` of distinct rounds commute, so any order of arrival gives the
same state to the last bit. A policy that reads a stream cannot obey, and is registered `stream`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from foretell.types import Bools, Floats, Ints, Problem


SILENT = -1
"""The delay of a reward that has not arrived."""
OPEN, CLOSED = False, True
"""Whether the reward window of a decision is closed."""


def _lacks(verb: str, subject: object) -> TypeError:
    return TypeError(
        f"{type(subject).__name__} has no verb '{verb}': register one with @{verb}.register"
    )


@singledispatch
def begin(spec: Any, problem: Problem) -> Any:
    """Return the state before the first round."""
    raise _lacks("begin", spec)


@singledispatch
def choose(state: Any, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    """Choose one of the eligible actions for round t, without changing what is known."""
    raise _lacks("choose", state)


@singledispatch
def indices(state: Any, t: int, out: Floats) -> None:
    """Write into `out` what each action is ranked by in round t; only index policies have it."""
    raise _lacks("indices", state)


@singledispatch
def sample_values(state: Any, t: int, out: Floats, rng: np.random.Generator) -> None:
    """Draw into `out` the value of every action in round t, where the policy has a posterior.

    This is what the policy believes, whatever sharper or wider draws it chooses by.
    """
    raise _lacks("sample_values", state)


@singledispatch
def draw_values(state: Any, t: int, actions: Ints, draws: int, rng: np.random.Generator) -> Floats:
    """Draw the value of each of these actions in round t, so many times: (actions, draws).

    In each draw the largest value among the eligible actions is what `choose` would play. Only
    policies that sample values have it, in NumPy: all draws at once.
    """
    raise _lacks("draw_values", state)


@singledispatch
def weights(state: Any, t: int, out: Floats) -> None:
    """Write into `out` in proportion to what actions are drawn in round t, where that is known."""
    raise _lacks("weights", state)


@singledispatch
def play(state: Any, t: int, action: int) -> None:
    """Commit the action of round t: clocks and windows over rounds move here, and only here."""
    raise _lacks("play", state)


@singledispatch
def drawn(state: Any, t: int, action: int, propensity: float) -> None:
    """Learn with which probability the action of round t, just played, was drawn.

    Only policies that weight rewards by it have this verb.
    """
    raise _lacks("drawn", state)


@singledispatch
def observe(state: Any, t: int, action: int, signal: int) -> None:
    """Learn the early signal of round t."""
    raise _lacks("observe", state)


@singledispatch
def credit(state: Any, t: int, action: int, signal: int, reward: float) -> None:
    """Learn the late reward of round t."""
    raise _lacks("credit", state)


@singledispatch
def uncredit(state: Any, t: int, action: int, signal: int, reward: float) -> None:
    """Undo `credit` exactly, for corrections; policies that cannot do so have none."""
    raise _lacks("uncredit", state)


@singledispatch
def unobserve(state: Any, t: int, action: int, signal: int) -> None:
    """Undo `observe` exactly, for corrections; policies that cannot do so have none."""
    raise _lacks("unobserve", state)


@singledispatch
def unplay(state: Any, t: int, action: int) -> None:
    """Stop counting the play of round t, which was never shown; clocks and windows stay.

    What was observed of it is undone before. Only policies that count plays need it.
    """
    raise _lacks("unplay", state)


@singledispatch
def elapse(state: Any, now: int) -> None:
    """Let time move on to tick `now`; it never goes back."""


@singledispatch
def wait(state: Any, made: int, signal: int, delay: int, reward: float, closed: bool) -> None:
    """Learn what is known of the reward of a decision made at tick `made`, no later than now.

    `delay` is the ticks after which its reward arrived, SILENT while it has not. Once its window is
    `closed`, `credit` brings the reward, and only the delay of one that came in time is news.
    """


@singledispatch
def unwait(state: Any, made: int, signal: int, delay: int, reward: float, closed: bool) -> None:
    """Undo `wait` exactly."""


@singledispatch
def alarms(state: Any) -> int:
    """Return how many alarms the policy has raised so far: changes that its own test has found.

    Only policies that detect changes register it.
    """
    return 0


@singledispatch
def forget(state: Any) -> None:
    """Drop what is not stationary, as after a known change: the state restarts at its round 0."""
    raise _lacks("forget", state)


@singledispatch
def admit(state: Any, known: int) -> None:
    """Place the actions added after the first `known`, where `begin` would not do them justice."""
    raise _lacks("admit", state)


def _nothing(state: Any, t: int = 0, action: int = 0, signal: int = 0, reward: float = 0.0) -> None:
    """Learn nothing; compiled code has no call here."""


IGNORABLE = (play, observe, credit, uncredit, unobserve, forget)
"""The verbs that a policy may ignore; the others return or write something."""


def ignore(state_type: type, *verbs: Any) -> None:
    """Let a policy ignore these verbs: they do nothing to states of this type.

    A policy that does not register a verb lacks it, and cannot be asked; one that ignores it has
    it. `ignore(UcbState, play, observe, unobserve)` says that UCB learns from rewards alone.
    """
    for verb in verbs:
        if verb not in IGNORABLE:
            raise TypeError(
                f"'{verb.__name__}' cannot be ignored, because it says what the policy does: "
                f"register one with @{verb.__name__}.register"
            )
        verb.register(state_type, _nothing)


COMPILED = (choose, indices, weights, play, observe, credit, elapse, wait, unwait, forget, alarms)
"""The verbs that the simulator compiles."""


def ignores(verb: Any, state: Any) -> bool:
    """Return whether `verb` does nothing to this state."""
    ignored: bool = verb.dispatch(type(state)) is _nothing
    return ignored


def has(verb: Any, state: Any) -> bool:
    """Return whether `verb` is registered for this state (or spec)."""
    return registered(verb, type(state))


def registered(verb: Any, state_type: type) -> bool:
    """Return whether `verb` is registered for states (or specs) of this type."""
    return verb.dispatch(state_type) is not verb.dispatch(object)


def value_verb_of(state_type: type) -> Any:
    """Return the verb that writes what states of a type rank, or weigh, all their actions by.

    None where a policy can only be asked to choose, or to draw values.
    """
    return next((verb for verb in (indices, weights) if registered(verb, state_type)), None)

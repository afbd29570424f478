"""From a state to an action and its exact propensity: nothing else draws live actions.

An index policy plays the action of largest index, so its probabilities are the shares of its
ties. A policy that draws by weights has theirs. The probabilities of any other sampling policy
have no formula: a number of choices is drawn, and one of them is played. Given these, the share of
an action among them is its probability.

`foretell.sim.compiled.compiled_choices` compiles the functions below that write shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax_shares
from foretell.policies.verbs import choose, indices, registered, weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Bools, Floats


class Choices(NamedTuple):
    """With which probability each action is drawn."""

    shares: Floats
    """(actions,): exact for an action that `pick` draws from them; 0 if it is not eligible."""


def choices(state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int) -> Choices:
    """Return the probabilities of round t; `rng` and `draws` are used by sampling policies only."""
    shares = np.empty(eligible.size)
    share_writer(state)(state, t, eligible, rng, draws, shares)
    return Choices(shares)


def pick(shares: Floats, rng: np.random.Generator) -> int:
    """Draw an action with these probabilities, from one uniform number."""
    reached = np.cumsum(shares)
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))


def share_writer(state: Any) -> Callable[..., None]:
    """Return the function that writes the shares of such a state."""
    return share_writer_of(type(state))


def share_writer_of(state_type: type) -> Callable[..., None]:
    """Return the function that writes the shares of states of a type."""
    if registered(indices, state_type):
        return write_index_shares
    return write_weight_shares if registered(weights, state_type) else write_sampled_shares


def write_shares(
    state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int, shares: Floats
) -> None:
    """Write the shares of round t; compiled code has the writer of its state in place of it."""
    share_writer(state)(state, t, eligible, rng, draws, shares)


@kernel
def write_index_shares(
    state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int, shares: Floats
) -> None:
    """Write the shares of the actions among which an index policy breaks its tie."""
    indices(state, t, shares)
    argmax_shares(shares, eligible)


@kernel
def write_weight_shares(
    state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int, shares: Floats
) -> None:
    """Write the shares of the eligible actions in a policy's weights."""
    weights(state, t, shares)
    mass, count = 0.0, 0
    for action in range(shares.size):
        if eligible[action]:
            mass += shares[action]
            count += 1
    for action in range(shares.size):
        if not eligible[action]:
            shares[action] = 0.0
        elif mass > 0.0:
            shares[action] /= mass
        else:
            shares[action] = 1.0 / count


@kernel
def write_sampled_shares(
    state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int, shares: Floats
) -> None:
    """Write the share of every action among `draws` choices of a sampling policy."""
    shares[:] = 0.0
    for _ in range(draws):
        shares[choose(state, t, eligible, rng)] += 1.0
    for action in range(shares.size):
        shares[action] /= draws

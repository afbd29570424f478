"""The verbs themselves: what a policy has, lacks, and ignores."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import pytest

from foretell.policies.verbs import (
    IGNORABLE,
    admit,
    begin,
    choose,
    has,
    ignore,
    indices,
    observe,
    play,
    weights,
)


class OwnState(NamedTuple):
    known: int


class OwnChildState(OwnState):
    pass


@pytest.mark.parametrize("verb", IGNORABLE)
def test_a_verb_is_lacking_until_it_is_ignored(verb: Any) -> None:
    class State(NamedTuple):
        known: int

    state = State(7)
    arguments = [1] * (len(inspect.signature(verb.dispatch(object)).parameters) - 1)
    assert not has(verb, state)
    with pytest.raises(TypeError, match=f"has no verb '{verb.__name__}'"):
        verb(state, *arguments)
    ignore(State, verb)
    assert has(verb, state)
    assert verb(state, *arguments) is None


def test_what_a_state_ignores_its_children_ignore() -> None:
    ignore(OwnState, play)
    assert has(play, OwnChildState(1))
    assert not has(observe, OwnChildState(1))


@pytest.mark.parametrize("verb", [begin, choose, indices, weights, admit])
def test_a_verb_that_says_what_a_policy_does_cannot_be_ignored(verb: Any) -> None:
    with pytest.raises(TypeError, match="cannot be ignored"):
        ignore(OwnState, verb)
    assert not has(verb, OwnState(1))

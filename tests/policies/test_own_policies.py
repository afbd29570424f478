"""A policy in a user's own file is a policy like ours."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import foretell as ft

OWN_POLICY = '''
"""Greedy with a coin: a policy of one's own."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import foretell as ft
from foretell.policies.parts.argmax import argmax
from foretell.policies.verbs import begin, choose, credit, ignore, observe, play


@ft.register("own-greedy")
@dataclass(frozen=True)
class OwnGreedy(ft.Spec):
    """The best mean so far, or with probability epsilon any action."""

    epsilon: float = 0.1


class OwnGreedyState(NamedTuple):
    epsilon: float
    counts: np.ndarray
    grains: np.ndarray
    scratch: np.ndarray


@ft.kernel
def mean_of(grains, counts, action):
    return grains[action] / max(1, counts[action]) / 2**30


@begin.register
def _begin(spec: OwnGreedy, problem: ft.Problem) -> OwnGreedyState:
    zeros = np.zeros(problem.actions, np.int64)
    return OwnGreedyState(spec.epsilon, zeros, zeros.copy(), np.zeros(problem.actions))


@choose.register
def _choose(
    state: OwnGreedyState, t: int, eligible: np.ndarray, rng: np.random.Generator
) -> int:
    explores = rng.random() < state.epsilon
    for action in range(state.scratch.size):
        state.scratch[action] = 0.0 if explores else mean_of(state.grains, state.counts, action)
    return argmax(state.scratch, eligible, rng)


ignore(OwnGreedyState, play)


@observe.register
def _observe(state: OwnGreedyState, t: int, action: int, signal: int) -> None:
    pass


@credit.register
def _credit(state: OwnGreedyState, t: int, action: int, signal: int, reward: float) -> None:
    state.counts[action] += 1
    state.grains[action] += int(np.floor(reward * 2**30 + 0.5))
'''

ALLOCATES = OWN_POLICY.replace(
    "state.scratch[action] = 0.0 if", "state.scratch[action] = np.zeros(3)[0] if"
)

RECIPE = ft.scenario("paper", delay=10, changes=ft.shifts(at=[100]))


@pytest.fixture
def own_file(tmp_path: Path, own_registry: None) -> Iterator[Path]:
    yield tmp_path / "own_greedy_policy.py"
    sys.modules.pop("own_greedy_policy", None)


def imported(path: Path, text: str) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    found.loader.exec_module(module)
    return module


def both(runs: int = 2) -> tuple[ft.Batch, ft.Batch]:
    compiled, plain = (
        ft.simulate(RECIPE, "own-greedy(epsilon=0.2)", 300, runs, compiled=compiled)
        for compiled in (True, False)
    )
    return compiled, plain


def test_it_passes_the_laws_and_lives_in_an_agent(own_file: Path) -> None:
    imported(own_file, OWN_POLICY)
    assert ft.check_policy("own-greedy")
    assert ft.check_policy("own-greedy(epsilon=0.5)")
    assert ft.registered_policies()["own-greedy"].summary.startswith("The best mean so far")
    agent = ft.Agent("own-greedy", actions=["a", "b"], signals=["n", "c"], seed=0)
    for _ in range(30):
        decision = agent.decide()
        agent.signal(decision, "c")
        agent.reward(decision, float(decision.action == "b"))
    played = [agent.decide().action for _ in range(40)]
    assert played.count("b") > 30
    agent.save(own_file.parent / "agent")
    assert ft.Agent.load(own_file.parent / "agent").decide() == agent.decide()


@pytest.mark.compiled
def test_it_runs_compiled_as_it_runs_plain(own_file: Path) -> None:
    imported(own_file, OWN_POLICY)
    compiled, plain = both()
    assert compiled.regret.tobytes() == plain.regret.tobytes()
    batches = ft.simulate(RECIPE, ["ucb", "own-greedy"], 300, 2, compiled=False)
    assert list(batches) == ["ucb", "own-greedy(epsilon=0.1)"]


@pytest.mark.compiled
def test_an_edited_file_is_compiled_again(own_file: Path) -> None:
    """After an edit and a reload, compiled and plain still agree."""
    imported(own_file, OWN_POLICY)
    before, _ = both()
    edited = OWN_POLICY.replace("rng.random() < state.epsilon", "rng.random() >= state.epsilon")
    imported(own_file, edited)
    compiled, plain = both()
    assert plain.regret.tobytes() != before.regret.tobytes()
    assert compiled.regret.tobytes() == plain.regret.tobytes()


@pytest.mark.compiled
def test_a_policy_that_allocates_is_refused_compiled_and_runs_plain(own_file: Path) -> None:
    imported(own_file, ALLOCATES)
    with pytest.raises(ft.ForetellError, match="makes a new array in a verb") as caught:
        ft.simulate(RECIPE, "own-greedy", 200, 1)
    assert "\n" not in str(caught.value)
    assert ft.simulate(RECIPE, "own-greedy", 200, 1, compiled=False).final > 0


def test_its_name_must_be_free(own_file: Path) -> None:
    for taken in ("ucb", "nsd-ucrl2"):
        text = OWN_POLICY.replace('"own-greedy"', f'"{taken}"')
        with pytest.raises(ft.ForetellError, match=f"the policy name '{taken}' is taken"):
            imported(own_file, text)


def test_the_name_of_ours_is_not_free_for_a_class_of_the_same_name(own_file: Path) -> None:
    text = OWN_POLICY.replace('"own-greedy"', '"ucb"')
    with pytest.raises(ft.ForetellError, match="the policy name 'ucb' is taken"):
        imported(own_file, text.replace("OwnGreedy", "Ucb"))


def test_a_file_can_be_loaded_again(own_file: Path) -> None:
    imported(own_file, OWN_POLICY)
    again = imported(own_file, OWN_POLICY)
    assert isinstance(ft.policy("own-greedy"), again.OwnGreedy)

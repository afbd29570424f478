"""An agent is the policy of the simulator, with names, and in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.errors import DamagedFile, DecisionError, InvalidInput, UnknownName
from foretell.policies.registry import start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import credit, has, observe, play, unobserve

ACTIONS, SIGNALS = ["red", "green", "blue"], ["none", "click", "buy"]
LIVE = [name for name, known in ft.registered_policies().items() if not known.lab_only]
ORDER_FREE = [name for name in LIVE if not ft.registered_policies()[name].stream]


def spec_of(name: str, window: int = 8) -> ft.Spec:
    windowed = "window" in ft.registered_policies()[name].spec.__dataclass_fields__
    return ft.policy(f"{name}(window={window})" if windowed else name)


def an_agent(spec: str | ft.Spec = "nsd-ucrl2(window=8)", **settings: Any) -> ft.Agent:
    return ft.Agent(
        spec, **{"actions": ACTIONS, "signals": SIGNALS, "seed": 0, "draws": 8, **settings}
    )


def live(agent: ft.Agent, rounds: int, seed: int = 0) -> list[ft.Decision]:
    """Decide, and report what a fixed world answers, a few rounds late."""
    rng = np.random.default_rng(seed)
    waiting: list[tuple[ft.Decision, float]] = []
    decisions = []
    for _ in range(rounds):
        decision = agent.decide()
        decisions.append(decision)
        agent.signal(decision, SIGNALS[int(rng.integers(3))])
        waiting.append((decision, float(rng.integers(2))))
        if len(waiting) > 4:
            agent.reward(*waiting.pop(int(rng.integers(5))))
    return decisions


@pytest.mark.parametrize("name", ORDER_FREE)
@settings(max_examples=10)
@given(data=st.data())
def test_any_order_of_feedback_gives_the_state_of_the_verbs(name: str, data: st.DataObject) -> None:
    spec = spec_of(name)
    agent = an_agent(spec)
    state = start(agent.spec, ft.Problem(3, 3))
    decisions = [agent.decide() for _ in range(12)]
    answers = data.draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 8).map(lambda n: n / 8)),
            min_size=12,
            max_size=12,
        )
    )
    for t, decision in enumerate(decisions):
        play(state, t, ACTIONS.index(decision.action))
    for t, (signal, reward) in enumerate(answers):
        action = ACTIONS.index(decisions[t].action)
        observe(state, t, action, signal)
        credit(state, t, action, signal, reward)
    for feedback in data.draw(st.permutations(range(24))):
        t, is_reward = divmod(feedback, 2)
        if is_reward:
            agent.reward(decisions[t], answers[t][1])
        else:
            agent.signal(decisions[t].id, SIGNALS[answers[t][0]])
    assert fingerprint(agent._state) == fingerprint(state)
    assert not agent._open


@pytest.mark.parametrize("name", LIVE)
def test_the_same_seed_and_the_same_calls_give_the_same_decisions(name: str) -> None:
    one, other = (live(an_agent(spec_of(name)), 40) for _ in range(2))
    assert one == other
    assert [decision.id for decision in one] == list(range(40))
    others = [live(an_agent(spec_of(name), seed=seed), 40) for seed in range(1, 6)]
    assert any(other != one for other in others)


@pytest.mark.parametrize("name", LIVE)
def test_a_saved_agent_goes_on_exactly_where_it_stopped(name: str, tmp_path: Path) -> None:
    whole, half = an_agent(spec_of(name)), an_agent(spec_of(name))
    for agent in (whole, half):
        live(agent, 30)
        agent.reward(agent.decide(), 1.0)  # waits for its signal
    half.save(tmp_path / "agent")
    again = ft.Agent.load(tmp_path / "agent")
    assert [path.name for path in tmp_path.iterdir()] == ["agent"]
    assert fingerprint(again._state) == fingerprint(whole._state)
    for agent in (whole, again):
        agent.signal(30, "buy")
    assert live(again, 30, seed=3) == live(whole, 30, seed=3)
    assert fingerprint(again._state) == fingerprint(whole._state)


def test_a_saved_agent_keeps_its_settings(tmp_path: Path) -> None:
    agent = an_agent("nsd-psrl(window=8)", reward_sigma=2.5, horizon=500, draws=7, seed=12)
    agent.add_action("black")
    live(agent, 5)
    agent.save(tmp_path / "agent")
    again = ft.Agent.load(str(tmp_path / "agent"))
    for field in ("spec", "actions", "signals", "scale", "horizon", "seed", "draws", "decided"):
        assert getattr(again, field) == getattr(agent, field)
    assert again.decide() == agent.decide()


def test_a_drawn_seed_is_kept(tmp_path: Path) -> None:
    agent = an_agent(seed=None)
    agent.save(tmp_path / "agent")
    assert ft.Agent.load(tmp_path / "agent").seed == agent.seed
    assert an_agent(seed=None).seed != agent.seed


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    live(agent := an_agent(), 10)
    agent.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    wrong = [
        content[:index]
        + bytes([content[index] ^ (1 << int(rng.integers(8)))])
        + content[index + 1 :]
        for index in rng.integers(0, len(content), 60)
    ]
    for damaged in (*wrong, content[:-1], content[:10], b"", b"a letter", content + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match="is damaged or is no saved agent"):
            ft.Agent.load(path)
    with pytest.raises(InvalidInput, match="there is no file"):
        ft.Agent.load(tmp_path / "none")


@pytest.mark.parametrize("name", LIVE)
def test_only_eligible_actions_are_chosen(name: str) -> None:
    agent = an_agent(spec_of(name))
    rng = np.random.default_rng(0)
    for _ in range(40):
        eligible = [one for one in ACTIONS if rng.random() < 0.5] or ["green"]
        decision = agent.decide(eligible)
        assert decision.action in eligible
        assert 0.0 < decision.propensity <= 1.0
        agent.signal(decision, "click")
        agent.reward(decision, float(rng.integers(2)))
    alone = agent.decide("blue")
    assert (alone.action, alone.propensity) == ("blue", 1.0)


@pytest.mark.parametrize("name", LIVE)
def test_an_added_action_is_explored_and_nothing_known_is_touched(name: str) -> None:
    agent = an_agent(spec_of(name))
    live(agent, 30)
    first = agent.decide()
    agent.add_action("black")
    assert agent.actions == [*ACTIONS, "black"]
    agent.signal(first, "none")  # a decision from before may still be answered
    agent.reward(first, 0.5)
    assert agent.decide("black").action == "black"
    played = {agent.decide().action for _ in range(60)}
    assert "black" in played


@pytest.mark.parametrize("name", ORDER_FREE)
def test_nothing_counts_that_is_said_about_a_voided_decision(name: str, tmp_path: Path) -> None:
    spec = spec_of(name)
    agent, other = an_agent(spec), an_agent(spec)
    decisions = [agent.decide() for _ in range(6)]
    assert [other.decide() for _ in range(6)] == decisions
    for one in (agent, other):
        one.signal(decisions[0], "buy")
        one.reward(decisions[1], 1.0)
    agent.void(decisions[2])
    agent.signal(decisions[3], "click")
    agent.void(decisions[3].id)
    agent.void(decisions[4])
    agent.save(tmp_path / "agent")
    agent = ft.Agent.load(tmp_path / "agent")
    for again in (decisions[2], decisions[3], decisions[4]):
        agent.signal(again, "buy")
        agent.reward(again, 1.0)
        agent.void(again)
    undone = has(unobserve, agent._state)
    assert (fingerprint(agent._state) == fingerprint(other._state)) is undone
    agent.signal(decisions[1], "none")
    with pytest.raises(DecisionError, match="has its signal and its reward already"):
        agent.void(decisions[1])
    with pytest.raises(DecisionError, match="never made"):
        agent.void(99)


def test_the_propensity_of_ties_is_their_share() -> None:
    counts = dict.fromkeys(ACTIONS, 0)
    for seed in range(900):
        decision = an_agent("ucb", seed=seed).decide()
        assert decision.propensity == pytest.approx(1 / 3)
        counts[decision.action] += 1
    for count in counts.values():
        assert count / 900 == pytest.approx(1 / 3, abs=0.07)
    assert an_agent("ucb").decide(["red", "blue"]).propensity == 0.5


def test_the_propensity_of_a_sampling_policy_is_its_share_of_the_draws() -> None:
    """Decisions weighted by 1 / propensity, averaged over seeds, count every action once."""
    agent = an_agent("nsd-psrl", draws=25)
    live(agent, 25)
    seeds = 400
    weight = dict.fromkeys(ACTIONS, 0.0)
    for seed in range(seeds):
        agent.seed, agent.decided = seed, 25
        action, propensity = agent.decide()[1:]
        assert (propensity * 25) == pytest.approx(round(propensity * 25))
        weight[action] += 1 / propensity
    for total in weight.values():
        assert total / seeds == pytest.approx(1.0, abs=0.35)


def test_a_policy_that_weights_by_propensities_gets_those_among_the_eligible() -> None:
    agent = an_agent("exp3s(gamma=0.3)")
    for t, eligible in enumerate([None, ["red", "blue"], ["red"]]):
        decision = agent.decide(eligible)
        assert agent._state.played[t] == decision.propensity
    assert decision.propensity == 1.0


def test_a_decision_can_be_drawn_again_from_its_seed_and_round() -> None:
    agent = an_agent("uniform", seed=5)
    first = [agent.decide().action for _ in range(50)]
    for t in (0, 17, 49):
        again = an_agent("uniform", seed=5)
        again.decided = t
        assert again.decide().action == first[t]
    assert len(set(first)) == 3


@pytest.mark.parametrize(
    ("reward_range", "sigma", "reward", "unit"),
    [((-5.0, 15.0), None, 5.0, 0.5), ((0.0, 1.0), None, 1, 1.0), ((0.0, 1.0), 4.0, -6.0, -1.5)],
)
def test_rewards_are_learned_in_units_of_their_scale(
    reward_range: tuple[float, float], sigma: float | None, reward: float, unit: float
) -> None:
    agent = an_agent("ucb", reward_range=reward_range, reward_sigma=sigma)
    decision = agent.decide()
    agent.signal(decision, "buy")
    agent.reward(decision, reward)
    assert agent._state.rewards.grains.sum() / 2**30 == unit


def test_what_is_wrong_with_feedback_is_said_in_a_sentence() -> None:
    agent = an_agent()
    first, second = agent.decide(), agent.decide()
    agent.signal(first, "click")
    agent.reward(second, 0.5)
    wrong: list[tuple[type[Exception], str, Any]] = [
        (
            UnknownName,
            "there is no signal 'clik': did you mean 'click'",
            (agent.signal, second, "clik"),
        ),
        (
            UnknownName,
            "there is no signal 'zzz': choose one of 'none'",
            (agent.signal, second, "zzz"),
        ),
        (UnknownName, "there is no action 'gren': did you mean 'green'", (agent.decide, ["gren"])),
        (InvalidInput, "no action is eligible", (agent.decide, [])),
        (DecisionError, "decision 0 has the signal 'click' already", (agent.signal, first, "buy")),
        (DecisionError, "has a reward already, which waits", (agent.reward, second, 0.5)),
        (DecisionError, "no open decision 7: it was never made", (agent.reward, 7, 0.5)),
        (DecisionError, "no open decision -1: it was never made", (agent.reward, -1, 0.5)),
        (DecisionError, "no open decision 'x': it was never made", (agent.signal, "x", "buy")),
        (InvalidInput, r"declared range \[0.0, 1.0\], got 1.5", (agent.reward, first, 1.5)),
        (InvalidInput, "a finite number, got nan", (agent.reward, first, float("nan"))),
        (InvalidInput, "a finite number, got inf", (agent.reward, first, float("inf"))),
        (InvalidInput, "needs a name of its own, got 'red' twice", (agent.add_action, "red")),
    ]
    before = fingerprint(agent._state)
    for kind, fragment, (call, *arguments) in wrong:
        with pytest.raises(kind, match=fragment) as caught:
            call(*arguments)
        assert isinstance(caught.value, ft.ForetellError)
        assert "\n" not in str(caught.value)
    assert fingerprint(agent._state) == before
    agent.reward(first, 0.5)
    with pytest.raises(DecisionError, match="has its signal and its reward already"):
        agent.reward(first, 0.5)


@pytest.mark.parametrize("reward", ["x", None, [1.0]])
def test_a_reward_that_is_no_number_is_refused(reward: object) -> None:
    agent = an_agent()
    with pytest.raises(InvalidInput, match="reward"):
        agent.reward(agent.decide(), reward)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "fragment"),
    [
        ({"actions": ["a"]}, "at least 2 actions"),
        ({"signals": ["a"]}, "at least 2 signals"),
        ({"actions": "ab"}, "actions must be a list of names"),
        ({"actions": ["a", ""]}, "actions must be a list of names"),
        ({"signals": ["a", 3]}, "signals must be a list of names"),
        ({"signals": ["a", "a"]}, "got 'a' twice"),
        ({"reward_range": (1.0, 0.0)}, "low < high"),
        ({"reward_range": (0.0, float("inf"))}, "finite"),
        ({"reward_sigma": 0.0}, "low < high"),
        ({"draws": 0}, "draws must be at least 1"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"policy_spec": "oracle-ucb"}, "needs what nobody knows outside a simulation"),
        ({"policy_spec": "oracle-nsd-nd"}, "needs what nobody knows outside a simulation"),
        ({"policy_spec": "nsd-ucrl"}, "did you mean 'nsd-ucrl2'"),
    ],
)
def test_what_cannot_be_an_agent_is_refused(settings: dict[str, Any], fragment: str) -> None:
    with pytest.raises(ft.ForetellError, match=fragment) as caught:
        ft.Agent(
            **{"policy_spec": "ucb", "actions": ACTIONS, "signals": SIGNALS, "seed": 0, **settings}
        )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 2.5, "x", 2**200])
def test_a_seed_that_is_no_seed_is_refused_at_once(seed: Any) -> None:
    with pytest.raises(InvalidInput, match="seed"):
        an_agent(seed=seed)


def test_an_agent_decides_as_the_simulator_does_where_nothing_is_random() -> None:
    """Fed with a history of the simulator, an agent's state is the simulator's."""
    recipe = ft.Scenario(law=[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], theta=[0.9, 0.5, 0.1], delay=4)
    batch = ft.simulate(recipe, "ucb", 60, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    actions, signals, rewards, _ = (column[0] for column in batch.trajectories[:4])
    agent = ft.Agent("ucb", actions=["a", "b"], signals=SIGNALS, seed=0)
    for t in range(60):
        decision = agent.decide(["ab"[actions[t]]])
        agent.signal(decision, SIGNALS[signals[t]])
        free = agent.decided
        assert free == t + 1
        if t >= 4:
            agent.reward(t - 4, float(rewards[t - 4]))
    state = start(ft.Ucb(), recipe.problem())
    for t in range(56):
        credit(state, t, int(actions[t]), int(signals[t]), float(rewards[t]))
    assert fingerprint(agent._state) == fingerprint(state)


def test_signals_are_ordered_as_listed_unless_the_agent_is_told_otherwise() -> None:
    assert str(an_agent("nsd-adaptive").spec) == "nsd-adaptive(ordered=True)"
    assert (
        str(an_agent("nsd-adaptive", signals_ordered=False).spec) == "nsd-adaptive(ordered=False)"
    )
    kept = an_agent("nsd-adaptive(ordered=False)", signals_ordered=True)
    assert str(kept.spec) == "nsd-adaptive(ordered=False)"
    assert str(an_agent("ucb").spec) == "ucb"


def test_declared_values_are_saved_with_the_agent(tmp_path: Path) -> None:
    agent = an_agent(
        "nsd-adaptive", reward_range=(0, 10), signal_values={"buy": 5}, signal_values_weight=4
    )
    assert "signal_values=(None, None, 0.5), signal_values_weight=4" in str(agent.spec)
    live(agent, 20)
    agent.save(tmp_path / "agent")
    loaded = ft.Agent.load(tmp_path / "agent")
    assert loaded.spec == agent.spec
    assert [loaded.decide() for _ in range(5)] == [agent.decide() for _ in range(5)]


def test_values_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName, match="buyy"):
        an_agent("nsd-adaptive", signal_values={"buyy": 0.5})
    with pytest.raises(InvalidInput, match="mean nothing to ucb"):
        an_agent("ucb", signal_values={"buy": 0.5})
    with pytest.raises(InvalidInput, match="must not fall"):
        an_agent("nsd-adaptive", signal_values={"click": 0.5, "buy": 0.1})


def test_before_the_first_reward_an_agent_that_knows_the_order_prefers_strong_signals() -> None:
    agent = an_agent("nsd-adaptive")
    for _ in range(120):
        decision = agent.decide()
        agent.signal(decision, {"red": "none", "green": "click", "blue": "buy"}[decision.action])
    shares = [agent.decide().action for _ in range(40)]
    assert shares.count("blue") > 30

"""Actions are added, paused and retired while a campaign runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.policies.registry import registered_policies
from foretell.policies.state import leaves
from foretell.service.model.errors import Conflict, NotFound, Unusable
from tests.service.engine_driver import Served

LIVE = [name for name, known in registered_policies().items() if not known.lab_only]


def learned(served: Served, policy: str, rounds: int = 30) -> None:
    served.create(policy=policy, signal_silence="unknown", reward_silence="unknown")
    for t in range(rounds):
        one = served.decide().decision_id
        served.signal(one, "buy" if t % 3 else "click")
        served.reward(one, t % 2)


@pytest.mark.parametrize("policy", LIVE)
def test_a_new_action_is_unexplored_soon_tried_and_touches_nothing(
    tmp_path: Path, policy: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        learned(served, policy)
        before = {name: np.copy(value) for name, value in leaves(served.state())}
        served.add_action("new")
        for name, value in leaves(served.state()):
            known = before[name]
            kept = np.asarray(value)[tuple(slice(length) for length in known.shape)]
            assert kept.tobytes() == known.tobytes(), name
        assert served.report().actions[2].decisions == 0
        assert "new" in {answer.action for answer in served.decide_many(300)}
        digest = served.digest()
        served.restart()
        assert served.digest() == digest == served.rebuilt().digest()


def test_a_retired_action_keeps_its_history_and_is_never_chosen_again(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        learned(served, "uniform")
        played = served.report().actions[0].decisions
        late = served.decide(eligible=["a"]).decision_id
        served.set_action("a", "retired")
        served.restart()
        assert {answer.action for answer in served.decide_many(60)} == {"b"}
        row = served.report().actions[0]
        assert (row.action, row.status, row.decisions) == ("a", "retired", played + 1)
        assert served.signal(late, "buy") == "accepted", "what it was played for still counts"
        with pytest.raises(Conflict):
            served.set_action("a", "active")
        with pytest.raises(Conflict):
            served.set_action("a", "paused")
        with pytest.raises(Conflict, match="never reused"):
            served.add_action("a")
        served.set_action("a", "retired")


def test_a_paused_action_resumes_with_what_is_known_about_it(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        learned(served, "uniform")
        served.set_action("a", "paused")
        assert {answer.action for answer in served.decide_many(40)} == {"b"}
        served.set_action("a", "active")
        assert {answer.action for answer in served.decide_many(40)} == {"a", "b"}


@pytest.mark.parametrize("policy", LIVE)
def test_one_action_left_is_played_for_certain(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        learned(served, policy, rounds=4)
        served.set_action("a", "paused")
        for _ in range(3):
            answer = served.decide()
            assert (answer.action, answer.propensity) == ("b", 1.0)


def test_no_action_left_is_a_conflict(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.set_action("a", "paused")
        with pytest.raises(Conflict) as caught:
            served.decide(eligible=["a"])
        assert caught.value.status == 409
        served.set_action("b", "retired")
        with pytest.raises(Conflict):
            served.decide()
        served.add_action("c")
        assert served.decide().action == "c"


def test_actions_that_are_not_there_are_named(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        with pytest.raises(Unusable, match="aa"):
            served.decide(eligible=["aa"])
        with pytest.raises(NotFound):
            served.set_action("aa", "paused")


def test_signals_are_added_at_the_end(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        learned(served, "nsd-adaptive")
        before = {name: np.copy(value) for name, value in leaves(served.state())}
        served.patch(signals=["click", "buy", "subscribe"])
        for name, value in leaves(served.state()):
            known = before[name]
            kept = np.asarray(value)[tuple(slice(length) for length in known.shape)]
            assert kept.tobytes() == known.tobytes(), name
        one = served.decide().decision_id
        served.signal(one, "subscribe")
        assert served.history(one).signal == "subscribe"
        with pytest.raises(Unusable, match="only added"):
            served.patch(signals=["buy", "click", "subscribe"])
        digest = served.digest()
        served.restart()
        assert served.digest() == digest == served.rebuilt().digest()


def test_a_campaign_has_so_many_actions_and_signals_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foretell.service.model.checks.config_checks.MAX_ACTIONS", 3)
    monkeypatch.setattr("foretell.service.model.checks.config_checks.MAX_SIGNALS", 4)
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.add_action("c")
        with pytest.raises(Unusable, match="3 actions at most, got 4"):
            served.add_action("d")
        with pytest.raises(Unusable, match="4 signals at most, got 5"):
            served.create("other", signals=["w", "x", "y", "z"])
        served.patch(signals=["none", "click", "buy", "more"])
        with pytest.raises(Unusable, match="4 signals at most, got 5"):
            served.patch(signals=["none", "click", "buy", "more", "most"])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"reward_range": (-1e308, 1e308)},
            "reward_range cannot be used: .*a finite low",
        ),
        ({"reward_range": (2.0, 3.0)}, r"default_reward must lie in the reward_range \[2.0, 3.0\]"),
        ({"default_reward": 1.5}, "default_reward must lie in the reward_range"),
        ({"policy": "nsd-adaptive(window=3)"}, "there is no field 'window' of nsd-adaptive"),
        ({"policy": "nsd-adaptve"}, "no policy 'nsd-adaptve' that runs live: did you mean 'nsd-ad"),
        ({"signal_window": 60.0, "reward_window": 59.0}, "reward_window must be at least the sig"),
        ({"signal_window": 9999999.0, "reward_window": 59.0}, "got 59 s and 9999999 s: change"),
        ({"explore": 0.6, "holdout": 0.5}, "explore and holdout must be at most 1 together, got"),
        (
            {"signals": ["click", "none"]},
            "'none' is the weakest, got it after 'click'",
        ),
        ({"reward_name": "sales\n"}, "reward_name must be printable, as it stands in sentences"),
        ({"actions": ["none", "none"]}, "each of the actions needs .* got 'none' twice"),
        ({"actions": ["a", "a"]}, "each of the actions needs a name of its own, got 'a' twice"),
    ],
)
def test_an_invalid_configuration_is_refused_in_one_sentence(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with Served(tmp_path / "a.db") as served, pytest.raises(Unusable, match=said):
        served.create(**fields)


def test_one_wrong_name_among_many_actions_gets_a_short_answer(tmp_path: Path) -> None:
    """To look for a similar one among thousands would take seconds, and all others would wait."""
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(actions=[f"{number:-<90}" for number in range(5000)])
        with pytest.raises(Unusable, match=r"and 4970 more$") as caught:
            served.decide(eligible=["5" * 90])
        assert len(str(caught.value)) < 4000

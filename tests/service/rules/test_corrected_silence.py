"""Rewards of which only conversions are reported teach before their window closes, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foretell.policies.state import fingerprint
from foretell.service.model.errors import Unusable
from tests.service.engine_driver import Served

CORRECTING = ("nsd-psrl", "nsd-psrl-cp", "nsd-adaptive")
DAY = 86_400.0
SETTINGS: dict[str, Any] = {
    "signals": ["none", "click", "buy"],
    "signal_window": 60.0,
    "reward_window": 7 * DAY,
    "reward_silence": "corrected",
    "typical_delay": 2 * DAY,
}


def counts(served: Served) -> dict[str, int]:
    """Return what the policy knows of rewards: open, arrived, and of closed windows."""
    state = served.state()
    while not hasattr(state, "open"):
        state = state.base
    return {
        "silent": int(state.open.silent.sum()),
        "arrived": int(state.open.arrived.sum()),
        "conversions": int(state.open.conversions.sum()),
        "closed": int(state.theta.counts.sum()),
    }


def lived(served: Served, policy: str) -> list[str]:
    """Let four decisions come to different ends within the window; return them."""
    served.create(policy=policy, **SETTINGS)
    ids = [one.decision_id for one in served.decide_many(4)]
    for decision, signal in zip(ids, ("buy", "click", "buy", "click"), strict=True):
        served.signal(decision, signal)
    served.pass_time(DAY)
    served.reward(ids[0], 1.0, "r0")
    served.decide_many(2)
    served.pass_time(DAY)
    served.reward(ids[1], 0.5, "r1")
    return ids


@pytest.mark.parametrize("policy", CORRECTING)
def test_a_conversion_counts_when_it_arrives_and_silence_by_its_age(
    tmp_path: Path, policy: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        lived(served, policy)
        assert counts(served) == {"silent": 4, "arrived": 2, "conversions": 2, "closed": 0}
        served.pass_time(6 * DAY)
        assert counts(served) == {"silent": 0, "arrived": 0, "conversions": 2, "closed": 6}


@pytest.mark.parametrize("policy", CORRECTING)
def test_restart_crash_and_refit_give_the_same_state(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        ids = lived(served, policy)
        for step in range(4):
            known = served.fingerprint()
            served.save_states()
            served.restart()
            assert served.fingerprint() == known
            served.crash()
            assert served.fingerprint() == known == fingerprint(served.rebuilt().state)
            assert served.verify().damage == []
            served.run(served.engine.refit("c"))
            assert served.fingerprint() == known
            if step == 0:
                served.reward(ids[2], 0.25, "r2")
            elif step == 1:
                served.pass_time(5.5 * DAY)  # the first windows close
            else:
                served.decide()
                served.pass_time(DAY)


@pytest.mark.parametrize("policy", CORRECTING[:2])
def test_corrections_and_voids_are_undone_exactly(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        ids = lived(served, policy)
        before = counts(served)
        served.reward(ids[3], 1.0, "r3")
        assert counts(served)["arrived"] == before["arrived"] + 1
        served.reward(ids[3], None, kind="retract", target="r3")
        assert counts(served) == before
        served.void(ids[3])
        assert counts(served)["silent"] == before["silent"] - 1
        served.pass_time(6 * DAY)
        late = counts(served)
        served.reward(ids[2], 1.0)
        assert counts(served) == late  # of a late reward the delay says nothing


def test_silence_may_be_corrected_for_from_some_day_on(tmp_path: Path) -> None:
    states = []
    for number, first in enumerate(("default", "corrected")):
        with Served(tmp_path / f"{number}.db") as served:
            served.create(policy="nsd-psrl", **(SETTINGS | {"reward_silence": first}))
            ids = [one.decision_id for one in served.decide_many(3, eligible=["a"])]
            served.signal(ids[0], "buy")
            served.pass_time(DAY)
            served.reward(ids[0], 1.0)
            served.patch(reward_silence="corrected")
            states.append(served.fingerprint())
            view = served.patch(typical_delay={"none": 5.0, "click": 60.0, "buy": DAY})
            assert view.typical_delay == {"none": 5.0, "click": 60.0, "buy": DAY}
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"typical_delay": None}, "'corrected' needs a typical_delay, the mean delay"),
        ({"typical_delay": {"buy": 5.0}}, "one for each of the signals"),
        ({"typical_delay": 2000 * DAY}, "typical_delay must be less than 10 times"),  # in ms
        ({"policy": "nsd-kl"}, "nsd-kl cannot correct for the silence of rewards"),
        ({"default_reward": 0.5}, "default_reward must be the lowest reward"),
        (
            {"policy": "nsd-psrl(censored=True, typical_delay=5.0)"},
            "a campaign says itself whether rewards are censored",
        ),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_one_sentence(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with Served(tmp_path / "a.db") as served, pytest.raises(Unusable, match=said) as refused:
        served.create(**(SETTINGS | {"policy": "nsd-psrl"} | fields))
    assert len(refused.value.errors) == 1

"""Every policy that needs nothing but its spec runs live; the others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.policies.registry import registered_policies
from foretell.service.model.errors import Unusable
from tests.service.engine_driver import Served

LIVE = [name for name, known in registered_policies().items() if not known.lab_only]
LAB = [name for name, known in registered_policies().items() if known.lab_only]
SILENCES = ["default", "unknown"]


@pytest.mark.parametrize("policy", LIVE)
@pytest.mark.parametrize("signal", SILENCES)
@pytest.mark.parametrize("reward", SILENCES)
def test_every_policy_runs_live(tmp_path: Path, policy: str, signal: str, reward: str) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(
            policy=policy,
            signals=["none", "click", "buy"],
            signal_window=1.0,
            reward_window=2.0,
            signal_silence=signal,
            reward_silence=reward,
        )
        unlearned = served.fingerprint()
        for t in range(12):
            answer = served.decide()
            assert 0.0 < answer.propensity <= 1.0
            if t % 4:
                served.signal(answer.decision_id, "buy" if t % 3 else "click", f"s{t}")
            if t % 3:
                served.reward(answer.decision_id, t % 2, f"r{t}")
            served.pass_time(0.4)
        served.pass_time(9.0)
        digest = served.digest()
        assert served.fingerprint() != unlearned or policy == "uniform"
        report = served.report()
        assert report.counts.decisions == 12
        assert report.log.state_hash == digest
        served.restart()
        assert served.digest() == digest
        served.crash()
        assert served.digest() == digest == served.rebuilt().digest()
        served.decide()


@pytest.mark.parametrize("policy", LAB)
def test_policies_that_need_the_change_points_are_refused(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        with pytest.raises(Unusable) as caught:
            served.create(policy=policy)
        sentence = str(caught.value)
        assert policy in sentence
        assert "did you mean" in sentence or "nsd-adaptive" in sentence
        for other in LAB:
            assert f"{other!r}," not in sentence, "only policies that run live are listed"
        assert "\n" not in sentence
        assert served.engine.campaigns() == []
        served.create()
        with pytest.raises(Unusable):
            served.patch(policy=policy)
        assert served.engine.campaign("c").policy == "ucb"

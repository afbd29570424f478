"""What a campaign declares about its signals reaches its policy, or is refused in a sentence."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from foretell import protocol
from foretell.service.model.checks.validation import field_errors
from foretell.service.model.config import patched
from foretell.service.model.errors import Unusable
from foretell.service.model.learner import Learner
from foretell.service.model.live_policies import campaign_spec
from tests.service.model.script import Script, config_of


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def spec_text(policy: str = "nsd-adaptive", **fields: Any) -> str:
    return str(campaign_spec(config_of(policy, **fields)))


def test_signals_are_ordered_as_listed_unless_the_campaign_says_no() -> None:
    assert spec_text() == "nsd-adaptive(ordered=True)"
    assert spec_text(signals_ordered=False) == "nsd-adaptive(ordered=False)"
    assert spec_text("ucb") == "ucb"


def test_what_the_text_of_a_policy_says_stays() -> None:
    assert spec_text("nsd-adaptive(ordered=False)") == "nsd-adaptive(ordered=False)"
    assert spec_text("nsd-kl(ordered=True)", signals_ordered=False).endswith("ordered=True)")
    assert config_of("nsd-adaptive").policy == "nsd-adaptive"


def test_declared_values_are_scaled_and_put_in_order() -> None:
    config = config_of(
        "nsd-adaptive",
        reward_range=(0.0, 10.0),
        signal_values={"buy": 5, "click": 1},
        signal_values_weight=4,
    )
    prior = Learner(config).state.base.prior
    assert prior.ordered
    np.testing.assert_allclose(prior.counts, [0, 4, 4])
    np.testing.assert_allclose(prior.sums, [0, 0.4, 2.0])


def test_a_signal_may_be_added_after_values_were_declared() -> None:
    config = config_of("nsd-adaptive", signal_values={"click": 0.25})
    learner = Learner(config)
    patch = protocol.CampaignPatch(signals=["none", "click", "buy", "pay"])
    grown, refit = patched(config, patch)
    assert refit == []
    learner.configure(grown)
    np.testing.assert_allclose(learner.state.base.prior.counts, [0, 10, 0, 0])


@pytest.mark.parametrize(
    ("field", "value"),
    [("signals_ordered", False), ("signal_values", {"buy": 0.5}), ("signal_values_weight", 3.0)],
)
def test_a_change_needs_a_refit(field: str, value: Any) -> None:
    config = config_of("nsd-adaptive", signal_values={"click": 0.25})
    _, refit = patched(config, protocol.CampaignPatch(**{field: value}))
    assert refit == [field]


def test_a_refit_reads_the_log_with_the_new_declaration() -> None:
    script = Script(config_of("nsd-adaptive"))
    for t in range(6):
        number = script.decide(t % 2)
        script.signal(number, t % 3)
        script.reward(number, float(t % 2))
    script.refit(msgspec.structs.replace(script.config, signals_ordered=False), after=0)
    script.pass_time(5.0)
    assert not script.folded().state.base.prior.ordered


def refusal(policy: str = "nsd-adaptive", **fields: Any) -> str:
    with pytest.raises(Unusable) as refused:
        config_of(policy, **fields)
    return str(refused.value)


def test_what_cannot_be_declared_is_refused_in_a_sentence() -> None:
    assert "no signal 'clik': did you mean 'click'?" in refusal(signal_values={"clik": 0.1})
    assert "must lie in the reward_range [0, 1], got 2 for 'buy'" in refusal(
        signal_values={"buy": 2.0}
    )
    falling = {"click": 0.5, "buy": 0.1}
    assert "got 0.5 for 'click' and 0.1 for 'buy': change them, or set signals_ordered" in refusal(
        signal_values=falling
    )
    assert "mean nothing to 'ucb'" in refusal("ucb", signal_values={"buy": 0.5})
    assert config_of("nsd-adaptive", signal_values=falling, signals_ordered=False)
    own = "nsd-psrl(signal_values=(0.1, 0.9, 0.2))"
    assert "must not fall" in refusal(own)
    assert config_of(own, signals_ordered=False)


def test_a_value_that_is_no_number_is_named() -> None:
    body = {"name": "c", "actions": ["a", "b"], "signals": ["buy"], "signal_values": {"buy": "x"}}
    assert field_errors(protocol.NewCampaign, body)[0].detail.startswith(
        "signal_values.buy must be a number, got 'x'"
    )

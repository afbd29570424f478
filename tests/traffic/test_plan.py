"""What is played: scenarios fitted to a horizon, silence, and what cannot be played."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.errors import ForetellError
from foretell.protocol import Silence
from foretell.traffic.faults import Faults
from foretell.traffic.plan import Plan, make_plan
from foretell.traffic.rescale import scenario_for_horizon
from foretell.worlds import SuiteEntry, scenario, suite
from foretell.worlds.delays import ConstantDelay


def plan(
    name: str = "paper",
    policy: str = "nsd-kl",
    horizon: int = 400,
    delay: int | None = None,
    silence: Silence = "unknown",
    faults: Faults = Faults(),  # noqa: B008  it is frozen
) -> Plan:
    return make_plan(name, policy, horizon, delay, silence, faults, runs=2, seed=0)


@pytest.mark.parametrize("entry", suite(), ids=lambda entry: entry.name)
def test_every_scenario_fits_into_a_shorter_horizon_and_stays_the_same_in_its_own(
    entry: SuiteEntry,
) -> None:
    name, horizon = entry.name, entry.horizon
    assert scenario_for_horizon(name, horizon, None) == scenario(name)
    quick = scenario_for_horizon(name, horizon // 8, None)
    own = scenario(name).draw(horizon, np.random.default_rng(0)).rounds.size
    drawn = quick.draw(horizon // 8, np.random.default_rng(0)).rounds.size
    assert abs(drawn - own) <= max(2, 0.1 * own)


def test_delays_are_fitted_too_unless_one_is_given() -> None:
    assert scenario_for_horizon("paper", 800, None).delay == ConstantDelay(50)
    assert scenario_for_horizon("paper", 800, 7).delay == ConstantDelay(7)


def test_where_silence_is_an_outcome_the_weakest_signal_is_silent_and_listed_first() -> None:
    heard = plan(silence="unknown").campaign("c", 1.0, 2.0)
    assert heard["signals"] == ["signal-0", "signal-1", "signal-2"]
    silent = plan(silence="default").campaign("c", 1.0, 2.0)
    assert silent["signals"] == ["none", "signal-1", "signal-0"]
    assert silent["signal_silence"] == silent["reward_silence"] == "default"


def test_what_is_lost_where_silence_is_an_outcome_is_silence_in_the_world_itself() -> None:
    lossy = plan(silence="default", faults=Faults(lost=0.5))
    world, whole = lossy.world(0), plan(silence="default").world(0)
    assert np.allclose(world.laws.sum(axis=2), 1.0)
    assert np.allclose(world.laws[:, :, :2], 0.5 * whole.laws[:, :, :2])
    assert np.allclose(world.theta.values, 0.5 * whole.theta.values)
    assert lossy.channel().lost == 0.0


def test_where_silence_is_unknown_a_loss_is_a_fault_of_the_channel() -> None:
    lossy = plan(faults=Faults(lost=0.5))
    assert np.array_equal(lossy.world(0).laws, plan().world(0).laws)
    assert lossy.channel().lost == 0.5


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"policy": "oracle-nsd"}, "needs what nobody knows"),
        ({"policy": "nsd-kll"}, "did you mean 'nsd-kl'"),
        ({"name": "papr"}, "did you mean 'paper'"),
        ({"faults": Faults(late=0.6, lost=0.6)}, "must not add up to more than 1"),
        ({"faults": Faults(duplicates=-1.0)}, "the share of duplicates events lies in"),
        ({"horizon": 2}, "change"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(
    settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ForetellError, match=sentence):
        plan(**settings)  # type: ignore[arg-type]


def test_a_window_needs_delays_with_a_mean() -> None:
    assert plan("heavy-delays", silence="default").window > 0
    assert plan("heavy-delays", delay=9, silence="default").window == 9

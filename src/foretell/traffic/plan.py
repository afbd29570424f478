"""What is to be played: a scenario, a policy, faults, and how silence is to be read."""

from __future__ import annotations

import dataclasses
import math
import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.errors import InvalidInput
from foretell.policies import Spec, entry, policy, start
from foretell.protocol import Silence
from foretell.protocol.fields import SILENT
from foretell.sim.streams import WORLD_STREAM, random_stream
from foretell.traffic.faults import Faults
from foretell.traffic.rescale import scenario_for_horizon
from foretell.worlds import Scenario, World


@dataclass(frozen=True)
class Plan:
    """The traffic of one call: the same in every run but for the luck."""

    name: str
    """What the scenario is called."""
    scenario: Scenario
    spec: Spec
    horizon: int
    runs: int
    seed: int
    silence: Silence
    faults: Faults
    parallel: int = 10
    """Runs at one time."""
    rate: float | None = None
    """Rounds per second of each run; None is as fast as the server can."""
    label: str = field(default_factory=lambda: f"traffic-{secrets.token_hex(4)}")
    """What the campaigns of this call are called."""

    @property
    def window(self) -> int:
        """Rounds after which silence is a reward: the mean delay, as far as there is one."""
        return round(min(_mean_delay(self.scenario), self.horizon))

    @property
    def stops_at(self) -> int | None:
        """The round from which on no reward is sent; None: rewards go on."""
        return None

    def order(self) -> list[int]:
        """Return the signals as the campaign lists them: weakest first, where silence is one."""
        if self.silence == "unknown":
            return list(range(self.scenario.signals))
        return [int(signal) for signal in np.argsort(self.scenario.theta, kind="stable")]

    def signal_names(self) -> list[str]:
        """Return the names of the signals; where silence is an outcome the weakest is silent."""
        names = [f"signal-{signal}" for signal in range(self.scenario.signals)]
        if self.silence == "default":
            names[self.order()[0]] = SILENT
        return names

    def action_names(self) -> list[str]:
        """Return the names of the actions."""
        return [f"action-{action}" for action in range(self.scenario.actions)]

    def world(self, number: int, delay: int | None = None) -> World:
        """Draw the world of a run, the same for the server and for the lab.

        `delay` replaces the scenario's. Where silence is an outcome, what is lost is no fault of a
        channel but silence: the law has that much more of the weakest signal, and rewards are
        that much lower.
        """
        scenario = self.scenario
        if delay is not None:
            scenario = dataclasses.replace(scenario, delay=delay)
        world = scenario.draw(self.horizon, random_stream(self.seed, number, WORLD_STREAM))
        if self.silence == "unknown":
            return world
        kept = 1.0 - self.faults.lost
        laws = kept * world.laws
        laws[:, :, self.order()[0]] += self.faults.lost
        theta = world.theta._replace(values=kept * world.theta.values)
        return world._replace(laws=laws, theta=theta, mus=kept * world.mus)

    def channel(self) -> Faults:
        """Return the faults that are left to the way to the server."""
        return self.faults if self.silence == "unknown" else self.faults._replace(lost=0.0)

    def campaign(self, name: str, signal_window: float, reward_window: float) -> dict[str, Any]:
        """Return the campaign of a run; windows in seconds of the server."""
        scale = self.scenario.scale
        names = self.signal_names()
        return {
            "name": name,
            "actions": self.action_names(),
            "signals": [names[signal] for signal in self.order()],
            "policy": str(self.spec),
            "signal_window": signal_window,
            "reward_window": reward_window,
            "default_reward": scale.low,
            "reward_range": (scale.low, scale.high),
            "signal_silence": self.silence,
            "reward_silence": self.silence,
            "signals_ordered": False,  # as in the lab, with which it is compared
        }


def make_plan(
    name: str,
    spec: str,
    horizon: int,
    delay: int | None,
    silence: Silence,
    faults: Faults,
    **settings: Any,
) -> Plan:
    """Make a plan, or raise InvalidInput with the reason why it cannot be played."""
    faults.check()
    chosen = policy(spec)
    if entry(chosen).lab_only:
        raise InvalidInput(
            f"{chosen.name} needs what nobody knows outside a simulation: choose another policy"
        )
    scenario = scenario_for_horizon(name, horizon, delay)
    if scenario.scale.kind != "bounded":
        raise InvalidInput(
            f"a server takes rewards from a range, and those of {name!r} have none: "
            f"choose another scenario"
        )
    if silence == "default":
        mean = _mean_delay(scenario)
        if not math.isfinite(mean):
            raise InvalidInput(
                f"a window needs a length, and the delays of {name!r} have no mean: give --delay"
            )
        scenario = dataclasses.replace(scenario, delay=round(mean))
    start(chosen, scenario.problem())
    return Plan(name, scenario, chosen, horizon, silence=silence, faults=faults, **settings)


def _mean_delay(scenario: Scenario) -> float:
    """Return the mean delay, of the signal whose rewards come latest."""
    delays: Any = scenario.delay if isinstance(scenario.delay, tuple) else (scenario.delay,)
    return float(max(delay.mean() for delay in delays))

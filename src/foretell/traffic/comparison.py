"""Live against the lab: the paired difference of regrets, its interval and the verdict."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.stats.estimate import Estimate
from foretell.traffic.lab import Lab
from foretell.traffic.pace import Windows, measured_windows
from foretell.traffic.run import Traffic

TOLERANCE = 0.1
"""How far the difference may lie from 0, in parts of the lab's mean regret."""
MAX_LATE_SHARE = 0.01
"""The share of events that may miss their window."""
MIN_RUNS = 2
"""Runs without which there is no interval."""


class Comparison(msgspec.Struct, frozen=True):
    """What was played, and the regret it led to, live and in the lab."""

    scenario: str
    policy: str
    horizon: int
    runs: int
    seed: int
    silence: str
    delay: int
    """The lab's delay in rounds: as measured live, where silence is a default."""
    windows: Windows | None
    """How many rounds windows had, where silence is a default."""
    time_scale: float
    """Seconds of the server's clock in one second."""
    live: Estimate
    lab: Estimate
    difference: Estimate
    tolerance: float
    """How far from 0 the interval of the difference may reach."""
    sent: dict[str, int]
    """What was sent, each counted once; retries are decisions that were asked for twice."""
    answers: dict[str, int]
    """What the server said to the events."""
    tardy: float
    """The share of signals or rewards that missed their window and were not meant to.

    Rewards have none to miss where silence is unknown: they count whenever they come.
    """
    miscounts: list[str]
    seconds: float

    @property
    def alike(self) -> bool:
        """Whether the interval of the difference lies within the tolerance."""
        return -self.tolerance <= self.difference.low and self.difference.high <= self.tolerance

    def complaint(self) -> str | None:
        """Say in one sentence what is wrong, if anything is."""
        if self.alike:
            return self.miscounts[0] if self.miscounts else None
        mean, low, high = (100 * part / self.lab.mean for part in self.difference)
        gap = (
            f"the live regret differs from the lab's by {mean:+.1f} % "
            f"(95 % interval {low:+.1f} % to {high:+.1f} %), and ±{TOLERANCE:.0%} is allowed"
        )
        if self.tardy > MAX_LATE_SHARE:
            return (
                f"{gap}: {self.tardy:.1%} of events missed their window, because the server got "
                f"slower than it was at the start: leave it alone, or lower --parallel"
            )
        if low <= 0.0 <= high:
            return f"{gap}: it may be chance, so take more runs or a longer horizon"
        return f"{gap}: the server does not use what it is told as the policy in the lab does"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        windows = None if self.windows is None else self.windows._asdict()
        return msgspec.to_builtins(self) | {
            "windows": windows,
            "live": self.live._asdict(),
            "lab": self.lab._asdict(),
            "difference": self.difference._asdict(),
            "alike": self.alike,
        }


def compare(traffic: Traffic, lab: Lab) -> Comparison:
    """Play the finished runs in the lab too, and compare."""
    plan = traffic.plan
    runs = sorted(traffic.runs, key=lambda run: run.number)
    if len(runs) < MIN_RUNS:
        raise InvalidInput(f"a comparison needs at least {MIN_RUNS} runs, got {len(runs)}")
    windows = None
    if plan.silence == "default":
        windows = measured_windows(traffic.timing, [run.dues for run in runs])
    delay = plan.window if windows is None else windows.median
    live = np.array([run.regret for run in runs])
    repeats = lab.regret([run.number for run in runs], None if windows is None else delay)
    in_lab = repeats.mean(axis=1)
    answers: Counter[str] = Counter()
    for run in runs:
        answers.update(run.answers)
    return Comparison(
        scenario=plan.name,
        policy=str(plan.spec),
        horizon=plan.horizon,
        runs=len(runs),
        seed=plan.seed,
        silence=plan.silence,
        delay=delay,
        windows=windows,
        time_scale=traffic.timing.clock_rate,
        live=Estimate.of(live),
        lab=Estimate.of(in_lab),
        difference=Estimate.of(live - in_lab),
        tolerance=TOLERANCE * float(in_lab.mean()),
        sent={
            "decisions": plan.horizon * len(runs),
            "retries": sum(run.retried for run in runs),
            "signals": sum(len(run.sent["signals"]) for run in runs),
            "rewards": sum(len(run.sent["rewards"]) for run in runs),
        },
        answers=dict(sorted(answers.items())),
        tardy=max(
            sum(run.tardy[kind] for run in runs) / max(1, sum(len(run.sent[kind]) for run in runs))
            for kind in (("signals", "rewards") if plan.silence == "default" else ("signals",))
        ),
        miscounts=[sentence for run in runs for sentence in run.miscounts],
        seconds=traffic.seconds,
    )

"""A fold whose states change has a new version: else saved states would be read as others.

The digests are in `fold_version.json`. To write them again, run this file as a module:
`python -m tests.service.model.test_fold_version`.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foretell.service.model.campaign import FOLD_VERSION
from foretell.service.model.counters import COUNTS
from foretell.service.model.events import ADJUST, RETRACT, stamp
from foretell.service.model.snapshot import pack
from tests.processors import as_on_an_older_processor
from tests.service.model.script import Script, config_of

GOLDEN = Path(__file__).with_name("fold_version.json")
USUAL = {"reward_range": (-1.0, 2.0), "default_reward": 0.25}
CAMPAIGNS: dict[str, dict[str, Any]] = {
    f"{policy} {silence}": {
        "policy": policy,
        "signal_silence": silence,
        "reward_silence": silence,
        **USUAL,
    }
    for policy in ("ucb", "nsd-kl", "nsd-adaptive", "exp3s")
    for silence in ("default", "unknown")
}
CORRECTED = {"reward_silence": "corrected", "reward_range": (-1.0, 2.0), "default_reward": -1.0}
VALUES = {"signal_values": {"click": 0.5, "buy": 1.5}, "signal_values_weight": 4.0}
CAMPAIGNS |= {
    "nsd-adaptive corrected": {"policy": "nsd-adaptive", "typical_delay": 0.5, **CORRECTED},
    "nsd-psrl corrected, by signal": {
        "policy": "nsd-psrl",
        "typical_delay": {"none": 1.0, "click": 0.5, "buy": 0.25},
        **CORRECTED,
    },
    "nsd-adaptive valued": {"policy": "nsd-adaptive", **USUAL, **VALUES},
    "nsd-kl valued, in no order": {
        "policy": "nsd-kl",
        "signals_ordered": False,
        "reward_name": "readings",
        **USUAL,
        **VALUES,
    },
}
"""Campaigns by their names: what differs between them is what is kept in other ways."""


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def scripted(name: str) -> Script:
    """Return a campaign to which everything happens."""
    script = Script(config_of(signals=["none", "click", "buy"], **CAMPAIGNS[name]))
    numbers: list[int] = []
    for t in range(60):
        numbers.append(script.decide(t % len(script.config.actions)))
        number = numbers[t * 7 % (t + 1)]
        if t % 3:
            script.signal(numbers[t], t % 2 + 1)
            script.signal(number, t % 3)
        if t % 4:
            reward = script.reward(number, (t % 9 - 2) / 2)
            if t % 5 == 0:
                script.correct(number, ADJUST, 0.75, reward)
            if t % 7 == 0:
                script.correct(number, RETRACT, 0.0, reward)
        if t % 11 == 5:
            script.void(number)
            script.correct(number, ADJUST, 1.0, "never")
        if t % 13 == 4:
            script.signal(stamp(1), 1)
        if t == 20:
            script.add_action("c")
        if t == 40:
            stages = tuple(
                msgspec.structs.replace(stage, window=stage.window * 1.5)
                for stage in script.config.stages
            )
            script.refit(msgspec.structs.replace(script.config, stages=stages), after=200_000)
        script.pass_time((0.07, 0.31, 0.5)[t % 3])
    return script


def current() -> dict[str, Any]:
    """Return the version of the fold and the digests of what it comes to."""
    digests = {}
    for name in CAMPAIGNS:
        campaign = scripted(name).folded()
        packed = hashlib.sha256(pack(campaign)).hexdigest()[:32]
        digests[name] = [campaign.digest(), packed]
    return {"version": FOLD_VERSION, "digests": digests}


def test_a_state_that_changes_has_a_new_version() -> None:
    known, found = json.loads(GOLDEN.read_text()), current()
    assert known["digests"].keys() == found["digests"].keys()
    changed = [
        name for name, digests in found["digests"].items() if known["digests"].get(name) != digests
    ]
    assert not changed or known["version"] != FOLD_VERSION, (
        f"the same log gives {changed} other states than version {FOLD_VERSION} of the fold did: "
        f"if that is meant, raise FOLD_VERSION (or, if only a policy changed, its version), and "
        f"write the digests again with `python -m tests.service.model.test_fold_version`"
    )
    assert known["version"] == FOLD_VERSION, (
        "FOLD_VERSION is new: write the digests again with "
        "`python -m tests.service.model.test_fold_version`"
    )


def test_an_older_processor_folds_to_the_same_bytes() -> None:
    """Servers of different ages share a log: NumPy is not to use what newer ones have."""
    script = f"import json; from {__name__} import current; print(json.dumps(current()))"
    called = [sys.executable, "-c", script]
    told = subprocess.run(
        called, env=as_on_an_older_processor(), check=True, capture_output=True, text=True
    )
    assert json.loads(told.stdout) == current()


def test_the_script_has_everything_in_it() -> None:
    """Else a change of what is not in it would not be seen."""
    for name in CAMPAIGNS:
        campaign = scripted(name).folded()
        counts = dict(zip(COUNTS, campaign.counters.counts, strict=True))
        seen = ("decisions", "signals", "rewards", "late", "parked", "clipped", "voided")
        assert all(counts[one] for one in seen), (name, counts)
        assert campaign.last_refit.position > 0
        assert len(campaign.config.actions) == 3
        assert campaign.config.stages[0].kept_windows or "unknown" in name


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(current(), indent=2) + "\n")

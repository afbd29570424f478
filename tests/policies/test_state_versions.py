"""A policy whose states change has a new version: else saved states would be read as others.

The digests are in `state_versions.json`. To write them again, run this file as a module:
`python -m tests.policies.test_state_versions`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.registry import entry, policy, registered_policies, start
from foretell.policies.state import fingerprint, grow
from foretell.policies.theta_spec import ThetaSpec
from foretell.policies.verbs import (
    SILENT,
    credit,
    drawn,
    elapse,
    has,
    observe,
    play,
    uncredit,
    unobserve,
    unplay,
    unwait,
    wait,
)
from foretell.types import Problem

GOLDEN = Path(__file__).with_name("state_versions.json")
LIVE = [name for name, known in registered_policies().items() if not known.lab_only]


def specs_of(name: str) -> list[str]:
    """Return a policy as it is by default, and with each that can be declared of rewards."""
    usual = policy(name)
    specs: list[Any] = [usual]
    if isinstance(usual, ThetaSpec):
        specs.append(replace(usual, ordered=True))
        values = (None, 0.25, 0.75)
        specs.append(replace(usual, signal_values=values, signal_values_weight=4.0))
    if isinstance(usual, CensoredSpec):
        specs.append(replace(usual, censored=True, typical_delay=5.0))
        specs.append(replace(specs[-1], ordered=True))
    return [str(spec) for spec in specs]


def scripted_digest(text: str) -> str:
    """Digest the state of a policy after a life in which everything happens."""
    spec = policy(text)
    state: Any = start(spec, Problem(3, 3))
    corrects, revises = has(uncredit, state), has(unobserve, state)
    for t in range(120):
        action, signal, reward = t * 7 % 3, (t * 5 + t // 40) % 3, (t * 11 % 8) / 8
        play(state, t, action)
        if has(drawn, state):
            drawn(state, t, action, (1 + t % 5) / 8)
        elapse(state, t)
        if t % 9 == 4 and has(unplay, state):
            unplay(state, t, action)
            continue
        observe(state, t, action, signal)
        known: list[Any] = [t, signal, SILENT, 0.0, False]
        wait(state, *known)
        if t % 3 == 1:
            unwait(state, *known)
            known = [t, signal, t % 6, reward, False]
            wait(state, *known)
        if t % 4:
            unwait(state, *known)
            wait(state, t, signal, known[2], reward, closed=True)
            credit(state, t, action, signal, reward)
        if t % 5 == 1 and t % 4 and corrects:
            uncredit(state, t, action, signal, reward)
            if t % 10 == 1 and revises:
                unobserve(state, t, action, signal)
                signal = (signal + 1) % 3
                observe(state, t, action, signal)
            credit(state, t, action, signal, 1.0 - reward)
    state = grow(spec, state, 3, Problem(4, 3))
    play(state, 120, 3)
    observe(state, 120, 3, 2)
    return hashlib.sha256(fingerprint(state)).hexdigest()[:32]


def digests_of(name: str) -> dict[str, str]:
    """Return the digest of each form of a policy."""
    return {text: scripted_digest(text) for text in specs_of(name)}


def current() -> dict[str, dict[str, Any]]:
    """Return the version and the digests of every policy that runs live."""
    return {
        name: {"version": entry(policy(name)).version, "digests": digests_of(name)}
        for name in sorted(LIVE)
    }


@pytest.mark.parametrize("name", LIVE)
def test_a_state_that_changes_has_a_new_version(name: str) -> None:
    golden = json.loads(GOLDEN.read_text())
    version = entry(policy(name)).version
    assert name in golden, (
        f"{name} is new: write its digest with `python -m tests.policies.test_state_versions`"
    )
    known = golden[name]
    same = digests_of(name) == known["digests"]
    assert same or version != known["version"], (
        f"the same rounds give {name} another state than its version {version} did: if that is "
        f"meant, raise its version in the registry, and write the digests again with "
        f"`python -m tests.policies.test_state_versions`"
    )
    assert version == known["version"], (
        f"{name} has version {version}, and the digests know {known['version']}: write them again "
        f"with `python -m tests.policies.test_state_versions`"
    )


def test_every_policy_has_one_digest_and_no_other() -> None:
    assert sorted(json.loads(GOLDEN.read_text())) == sorted(LIVE)


def test_what_is_declared_and_what_is_open_leaves_its_mark() -> None:
    """Else a change of how it is kept would not be seen."""
    golden = json.loads(GOLDEN.read_text())
    for name in LIVE:
        digests = list(golden[name]["digests"].values())
        assert len(set(digests)) == len(digests) == len(specs_of(name)), name
    forms = [form for one in golden.values() for form in one["digests"]]
    assert sum("censored=True" in form for form in forms) >= 6
    assert sum("ordered=True" in form for form in forms) >= 8


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(current(), indent=2) + "\n")

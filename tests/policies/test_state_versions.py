"""A policy whose states change has a new version: else saved states would be read as others.

The digests are in `state_versions.json`. To write them again, run this file as a module:
`python -m tests.policies.test_state_versions`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from foretell.policies.registry import entry, policy, registered_policies, start
from foretell.policies.state import fingerprint, grow
from foretell.policies.verbs import credit, has, observe, play, uncredit, unobserve
from foretell.types import Problem

GOLDEN = Path(__file__).with_name("state_versions.json")
LIVE = [name for name, known in registered_policies().items() if not known.lab_only]


def scripted_digest(name: str) -> str:
    """Digest the state of a policy after a life in which everything happens."""
    problem = Problem(3, 3)
    spec = policy(name)
    state: Any = start(spec, problem)
    corrects, revises = has(uncredit, state), has(unobserve, state)
    for t in range(120):
        action, signal, reward = t * 7 % 3, (t * 5 + t // 40) % 3, (t * 11 % 8) / 8
        play(state, t, action)
        observe(state, t, action, signal)
        if t % 4:
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


def current() -> dict[str, dict[str, Any]]:
    """Return the version and the digest of every policy that runs live."""
    return {
        name: {"version": entry(policy(name)).version, "digest": scripted_digest(name)}
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
    same = scripted_digest(name) == known["digest"]
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


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(current(), indent=2) + "\n")

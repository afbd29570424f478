"""Decisions under way are played on a copy: bursts are spread."""

from __future__ import annotations

from collections import Counter

import pytest

from foretell.policies.registry import policy, registered_policies, start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import has, indices, play
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.overlay import Overlay, copied
from foretell.service.model.snapshot import pack
from foretell.service.model.value_table import Eligible
from foretell.types import Problem
from tests.service.model.script import Script, config_of

LIVE = [name for name, known in registered_policies().items() if not known.lab_only]
INDEX = [name for name in LIVE if has(indices, start(policy(name), Problem(5, 2)))]
ACTIONS = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


def under_way(campaign: Campaign, decisions: int) -> tuple[Overlay, Counter[int]]:
    """Draw decisions of which none is folded."""
    overlay, decider = Overlay(campaign), Decider(7)
    eligible = Eligible.of(campaign.actions_without_feedback() | True)
    found: Counter[int] = Counter()
    for nonce in range(decisions):
        choice = decider.choose(overlay, eligible, nonce)
        overlay.add(nonce, choice.action)
        found[choice.action] += 1
    return overlay, found


@pytest.mark.slow
@pytest.mark.parametrize("name", INDEX)
def test_10000_decisions_that_are_not_folded_are_spread(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("foretell.service.model.decider.CHEAP_SECONDS", 1e9)
    campaign = Script(config_of(name, actions=ACTIONS)).folded()
    before = pack(campaign)
    _, found = under_way(campaign, 10_000)
    assert min(found[action] for action in range(5)) > 1600
    assert max(found.values()) < 2400
    assert pack(campaign) == before, "the overlay is never folded"


@pytest.mark.parametrize("name", LIVE)
def test_it_is_the_folded_state_with_the_plays_under_way(name: str) -> None:
    script = Script(config_of(name))
    for t in range(4):
        script.signal(script.decide(t % 2), 1)
    campaign = script.folded()
    before = fingerprint(campaign.state)
    overlay = Overlay(campaign)
    assert overlay.state() is campaign.state, "nothing is copied while nothing is under way"
    expected = copied(campaign.state)
    for nonce, action in enumerate((0, 1, 1)):
        overlay.add(nonce, action)
        overlay.state()
        play(expected, 4 + nonce, action)
    assert fingerprint(overlay.state()) == fingerprint(expected)
    assert overlay.t == 7
    overlay.drop(1)
    kept = copied(campaign.state)
    for t, action in ((4, 0), (5, 1)):
        play(kept, t, action)
    assert fingerprint(overlay.state()) == fingerprint(kept)
    for nonce in (0, 2):
        overlay.drop(nonce)
    assert overlay.state() is campaign.state
    assert overlay.t == 4
    assert fingerprint(campaign.state) == before


def test_a_decision_leaves_the_overlay_when_it_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.service.model.overlay.KEEP_FACTOR", 0)
    script = Script(config_of("ucb"))
    campaign = script.folded()
    overlay = Overlay(campaign)
    overlay.add(1, 0)
    overlay.add(2, 1)
    both = fingerprint(overlay.state())
    script.decide(0)
    script.fold(campaign, script.records[-1])
    overlay.folded(1)
    assert fingerprint(overlay.state()) == both, "once, not twice"
    assert (overlay.t, overlay.position) == (2, campaign.position)


def test_a_choice_names_the_state_that_it_was_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that is kept for a while is older than the campaign."""
    monkeypatch.setattr("foretell.service.model.overlay.KEEP_FACTOR", 1e12)
    script = Script(config_of("nsd-ucrl2"))
    campaign = script.folded()
    overlay, decider = Overlay(campaign), Decider(7)
    eligible = Eligible.of(campaign.actions_without_feedback() | True)
    drawn_on = campaign.position
    overlay.add(0, 0)
    assert decider.choose(overlay, eligible, 1).position == drawn_on
    script.pass_time(1.0)
    script.close_windows(campaign, script.end)
    assert decider.choose(overlay, eligible, 2).position == drawn_on < campaign.position
    overlay.drop(0)
    assert decider.choose(overlay, eligible, 3).position == campaign.position

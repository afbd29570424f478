"""Every decision logs a propensity that is exact for the draw made."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from foretell.policies.registry import policy, registered_policies, start
from foretell.policies.verbs import choose, has, indices
from foretell.service.engine.replay import fold
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.errors import Unusable
from foretell.service.model.events import Configured, Decided
from foretell.service.model.overlay import Overlay
from foretell.service.model.value_table import TABLE_DRAWS, Eligible, ValueTable
from foretell.types import Floats, Problem
from tests.service.engine_driver import Served

ACTIONS = ["a", "b", "c", "d"]
SUBSETS: list[list[str] | None] = [None, ["a", "b", "c"], ["b", "d"], ["c"]]
SIGNALS = ["none", "click", "buy"]
CLICK = {"a": 0.2, "b": 0.35, "c": 0.4, "d": 0.5}
LIVE = [name for name, known in registered_policies().items() if not known.lab_only]
INDEX = [name for name in LIVE if has(indices, start(policy(name), Problem(4, 3)))]
FAR = 4.5
"""Standard deviations that nothing of all that is looked at here is off."""


class Drawn(NamedTuple):
    """One decision: what was eligible, what was drawn, and what was logged."""

    eligible: list[str]
    action: str
    propensity: float
    mode: str

    def with_propensity(self, propensity: float) -> Drawn:
        return self._replace(propensity=propensity)


def campaign_of(
    served: Served, name: str, decisions: int, *, seed: int = 0, **fields: Any
) -> list[Drawn]:
    """Decide in bursts with changing eligible sets, and report what is seen in between."""
    rng = np.random.default_rng(seed)
    served.create(
        actions=ACTIONS,
        signals=SIGNALS,
        policy=name,
        signal_silence="unknown",
        reward_silence="unknown",
        **fields,
    )
    decider: Decider = served.engine.runtime.by_name["c"].decider
    decider.seed = seed
    drawn = []
    served.engine.decisions._nonces = random.Random(seed)  # noqa: S311  (the same each time)
    for burst in range(decisions // 50):
        subset = SUBSETS[burst % len(SUBSETS)]
        answers = served.decide_many(50, eligible=subset)
        reports: list[dict[str, Any]] = []
        for answer in answers:
            drawn.append(Drawn(subset or ACTIONS, answer.action, answer.propensity, answer.mode))
            click = rng.random() < CLICK[answer.action]
            signal = SIGNALS[int(click) + int(click and rng.random() < 0.3)]
            reports += [
                {"decision_id": answer.decision_id, "signal": signal},
                {"decision_id": answer.decision_id, "value": float(click and rng.random() < 0.5)},
            ]
        served.batch(reports)
        served.run(served.engine.settled())
    return drawn


def weighted_deviation(drawn: list[Drawn], action: str) -> float:
    """Return how far the plays of an action, each weighted by 1 / propensity, are off their number.

    Where every eligible action can be drawn their mean is the number of decisions in which the
    action was eligible, whatever was learned meanwhile.
    """
    weights = np.array([1 / one.propensity for one in drawn if one.action == action])
    eligible = sum(action in one.eligible for one in drawn)
    spread = np.sqrt(np.sum(weights * (weights - 1)))
    return abs(weights.sum() - eligible) / max(spread, 1.0)


KEPT, MADE_EACH_TIME = 0.0, 1e9
CASES = [(name, MADE_EACH_TIME if name in INDEX else KEPT) for name in LIVE] + [
    ("nsd-kl", KEPT),
    ("nsd-kl-glr", KEPT),
    ("exp3s", MADE_EACH_TIME),
]


@pytest.mark.statistics
@pytest.mark.slow
@pytest.mark.parametrize(("name", "cheap"), CASES)
def test_logged_propensities_match_frequencies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, cheap: float
) -> None:
    """Overall by what is logged alone; and within each group of propensities.

    For the latter the shares of all actions are looked at, also of those that were not drawn.
    """
    monkeypatch.setattr("foretell.service.model.decider.CHEAP_SECONDS", cheap)
    tables = spied_tables(monkeypatch)
    with Served(tmp_path / "a.db") as served:
        drawn = campaign_of(served, name, 3000, explore=0.2)
    for action in ACTIONS:
        assert weighted_deviation(drawn, action) < FAR
    wrong = [one.with_propensity(min(1.0, 1.4 * one.propensity)) for one in drawn]
    assert max(weighted_deviation(wrong, action) for action in ACTIONS) > FAR

    expected: Counter[float] = Counter()
    spread: Counter[float] = Counter()
    hits: Counter[float] = Counter()
    for shares, one in zip(tables, drawn, strict=True):
        assert sum(shares) == pytest.approx(1.0)
        for action, share in zip(ACTIONS, shares, strict=True):
            assert share == 0.0 or action in one.eligible
            if action not in one.eligible:
                continue
            propensity = 0.2 / len(one.eligible) + 0.8 * share
            assert propensity > 0.0, "exploration leaves no eligible action out"
            assert action != one.action or one.propensity == pytest.approx(propensity)
            group = round(propensity, 1)
            expected[group] += propensity  # type: ignore[assignment]
            spread[group] += propensity * (1 - propensity)  # type: ignore[assignment]
            hits[group] += action == one.action
    assert hits.total() == len(drawn)
    for group in expected:
        assert abs(hits[group] - expected[group]) <= FAR * np.sqrt(spread[group]) + 1e-6


def shares_of(table: ValueTable, eligible: Eligible) -> list[float]:
    """Return the shares of all actions: those that are not eligible have none."""
    shares = dict(zip(eligible.actions, table.shares_of(eligible).shares, strict=True))
    return [shares.get(action, 0.0) for action in range(len(ACTIONS))]


def spied_tables(monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """Return the list in which the shares of each decision's table will be."""
    tables: list[list[float]] = []
    made = Decider._table

    def spied(self: Decider, overlay: Overlay, eligible: Eligible, nonce: int) -> Any:
        table = made(self, overlay, eligible, nonce)
        tables.append(shares_of(table, eligible))
        return table

    monkeypatch.setattr(Decider, "_table", spied)
    return tables


@pytest.mark.statistics
@pytest.mark.slow
@pytest.mark.parametrize("name", INDEX)
def test_an_index_policy_draws_evenly_from_its_ties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The log is folded again record by record, and each decision's tie is worked out again.

    Decisions under way are played on the state of which a decision names the position, so what
    came since then are decisions alone.
    """
    monkeypatch.setattr("foretell.service.model.decider.CHEAP_SECONDS", 1e9)
    with Served(tmp_path / "a.db") as served:
        campaign_of(served, name, 600, explore=0.1)
        log = served.engine.runtime.log
        first, *later = served.run(log.records(0, log.head(), 10_000, 1))
        assert isinstance(first.event, Configured)
        campaign = Campaign(first.event.config)
        newest = first.seq
        for stored in later:
            event = stored.event
            if isinstance(event, Decided):
                assert newest < event.state <= stored.seq, "the table knew all feedback"
                assert event.propensity == pytest.approx(_exact(campaign, event))
            else:
                newest = stored.seq
            served.run(fold(campaign, stored, log))
        assert campaign.decided == 600


def _exact(campaign: Campaign, event: Decided) -> float:
    values = np.zeros(len(ACTIONS))
    indices(campaign.state, campaign.decided, values)
    eligible = set(range(4))
    if isinstance(event.eligible, bytes):
        bits = np.unpackbits(np.frombuffer(event.eligible, np.uint8))
        eligible = set(np.flatnonzero(bits).tolist())
    unknown = {index for index in eligible if not np.any(campaign.counters.seen[index])}
    tied = _tied(values, eligible)
    share = (event.action in tied) / len(tied)
    even, taken = len(unknown) / len(eligible), len(tied & unknown) / len(tied)
    if unknown != eligible and taken > even:  # those of which nothing is known wait their turn
        group = tied & unknown if event.action in unknown else _tied(values, eligible - unknown)
        part = even if event.action in unknown else 1 - even
        share = part * (event.action in group) / len(group)
    return 0.1 / len(eligible) + 0.9 * share


def _tied(values: Floats, eligible: set[int]) -> set[int]:
    best = max(values[index] for index in eligible)
    return {index for index in eligible if values[index] >= best - 1e-12}


def test_without_exploration_a_tie_is_shared_and_the_rest_never_drawn(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(actions=ACTIONS, policy="ucb")
        answers = [served.decide() for _ in range(40)]
        assert {answer.propensity for answer in answers} <= {1.0, 1 / 2, 1 / 3, 1 / 4}


@pytest.mark.statistics
@pytest.mark.slow
def test_a_holdout_has_its_share_and_is_uniform(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        drawn = campaign_of(served, "nsd-kl", 6000, holdout=0.2, explore=0.1)
    held = [one for one in drawn if one.mode == "holdout"]
    assert abs(len(held) - 1200) < FAR * np.sqrt(6000 * 0.2 * 0.8)
    assert {one.propensity for one in held} == {1 / 4, 1 / 3, 1 / 2, 1.0}
    for subset in SUBSETS[:3]:
        among = [one for one in held if one.eligible == (subset or ACTIONS)]
        count = len(subset or ACTIONS)
        for action in subset or ACTIONS:
            hits = sum(one.action == action for one in among)
            expected = len(among) / count
            assert abs(hits - expected) < FAR * np.sqrt(expected * (1 - 1 / count))
    free = [one for one in drawn if one.mode != "holdout"]
    explored = sum(one.mode == "explore" for one in free)
    assert abs(explored - 0.1 * len(free)) < FAR * np.sqrt(len(free) * 0.09)
    for action in ACTIONS:
        assert weighted_deviation(free, action) < FAR


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LIVE if name not in INDEX])
def test_a_table_of_choices_is_drawn_from_what_the_policy_would_choose(
    tmp_path: Path, name: str
) -> None:
    """From one state: shares of many tables against many choices of the policy itself."""
    with Served(tmp_path / "a.db") as served:
        campaign_of(served, name, 400)
        active = served.engine.runtime.by_name["c"]
        state, t = active.campaign.state, active.campaign.decided
        eligible = active.eligible(["a", "b", "d"])
        tabled, alone = np.zeros(4), np.zeros(4)
        for seed in range(120):
            table = Decider(seed)._table(active.overlay, eligible, 0)
            tabled += TABLE_DRAWS * np.array(shares_of(table, eligible))
        for seed in range(120 * TABLE_DRAWS):
            alone[choose(state, t, eligible.mask, np.random.default_rng(seed))] += 1
        share = (tabled + alone) / (2 * 120 * TABLE_DRAWS)
        far = FAR * np.sqrt(2 * 120 * TABLE_DRAWS * share * (1 - share))
        assert (abs(tabled - alone) <= far + 1e-9).all()


def test_a_unit_keeps_its_action_only_where_the_campaign_says_so(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create("stuck", actions=ACTIONS, policy="uniform", sticky=True)
        served.create("free", actions=ACTIONS, policy="uniform")
        first = {unit: served.decide("stuck", unit=unit) for unit in ("u", "v", "w")}
        for restarted in (False, True):
            if restarted:
                served.restart()
            for unit, earlier in first.items():
                answer = served.decide("stuck", unit=unit)
                assert (answer.action, answer.mode, answer.propensity) == (
                    earlier.action,
                    "sticky",
                    1.0,
                )
        with pytest.raises(Unusable, match="is sticky and needs a unit, got none") as caught:
            served.decide("stuck")
        assert [one.field for one in caught.value.errors] == ["unit"]
        assert {one.action for one in served.decide_many(40, "free", unit="u")} == set(ACTIONS)
        assert {one.mode for one in served.decide_many(9, "free", unit="u")} == {"policy"}
        served.set_action(first["u"].action, "retired", "stuck")
        moved = served.decide("stuck", unit="u")
        assert (moved.action != first["u"].action, moved.mode) == (True, "policy")
        for restarted in (False, True):
            if restarted:
                served.restart()
            for _ in range(5):
                again = served.decide("stuck", unit="u")
                assert (again.action, again.mode) == (moved.action, "sticky")
        others = [one for one in ACTIONS if one not in (first["u"].action, moved.action)]
        for _ in range(2):
            served.decide("stuck", unit="u", eligible=others)
        assert served.decide("stuck", unit="u").action == moved.action, "its first that it can have"


def test_a_unit_with_many_decisions_keeps_its_actions(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(actions=ACTIONS, policy="uniform", sticky=True)
        first = [served.decide(unit="u").action for _ in range(5)]
        served.set_action(first[0], "paused")
        moved = {served.decide(unit="u").action for _ in range(5)}
        assert len(moved) == 1
        served.set_action(first[0], "active")
        assert served.decide(unit="u").action == first[0]


def test_units_stick_within_one_burst(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(actions=ACTIONS, policy="uniform", sticky=True)
        assert len({one.action for one in served.decide_many(50, unit="u")}) == 1


def test_the_log_names_the_eligible_set_and_the_state_of_each_decision(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(actions=ACTIONS, policy="ucb")
        served.decide(eligible=["d", "a"])
        served.run(served.engine.settled())
        served.decide()
        served.set_action("b", "paused")
        served.decide()
        records = [record for record in served.records() if record.type == "decision"]
        assert [record.body["eligible"] for record in records] == [
            ["a", "d"],
            ACTIONS,
            ["a", "c", "d"],
        ]
        positions = [int(record.body["state"]) for record in records]
        for before, record, position in zip(served.records(), records, positions, strict=False):
            assert int(before.seq) < position <= int(record.seq), "all was folded before"
        assert served.history(served.decide(eligible=["a"]).decision_id).eligible == ["a"]

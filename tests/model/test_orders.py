"""The same feedback in any order, any number of times, is the same knowledge."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.service.model.digest import digest_of
from foretell.service.model.timestamps import format_timestamp
from tests.model.effort import effort
from tests.service.engine_driver import SECOND, START, Served, log_engine

__all__ = ["log_engine"]  # every test here runs on each of the logs

SIGNALS = ["none", "click", "buy"]
ORDER_FREE = ["ucb", "nsd-kl", "nsd-ucrl2(window=3)", "nsd-psrl(window=4)", "kl-ucb", "ts"]
STREAM = ["nsd-adaptive", "nsd-kl-glr", "nsd-psrl-cp", "sw-ts(window=3)", "d-ucb", "exp3s"]
KINDS = ["signal", "signal", "signal", "reward", "reward", "reward", "adjust", "retract", "void"]
SILENCES = st.tuples(*[st.sampled_from(["default", "unknown"])] * 2)

Event = tuple[int, dict[str, Any]]


class Plan(NamedTuple):
    """Decisions of given actions, and feedback before, between and after the closes."""

    actions: list[int]
    phases: list[list[Event]]


class EndState(NamedTuple):
    """What can be seen of a campaign at the end."""

    state: bytes
    report: dict[str, Any]
    history_reports: list[Any]
    counted: tuple[Any, ...]
    digest: str
    """With the moments at which things came, which depend on their order."""

    def of_any_order(self) -> EndState:
        """Return what no order of the same events changes."""
        return self._replace(digest="")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    actions = draw(st.lists(st.integers(0, 2), min_size=2, max_size=6))
    events: list[Event] = []
    rounds = st.integers(0, len(actions) - 1)
    for number in range(draw(st.integers(2, 16))):
        t = draw(rounds)
        body: dict[str, Any] = {"event_id": f"e{number}"}
        kind = draw(st.sampled_from(KINDS))
        if kind == "signal":
            body["signal"] = draw(st.sampled_from(SIGNALS))
        else:
            body["kind"] = kind
            body["occurred_at"] = format_timestamp(START + draw(st.integers(0, 3)) * SECOND)
        if kind in {"reward", "adjust"}:
            body["value"] = draw(st.sampled_from([-1.0, 0.1, 0.7, 1.0, 3.0]))
        if kind in {"adjust", "retract"}:
            body["target"] = f"e{draw(st.integers(0, 15))}"
        events.append((t, body))
    phase_of = draw(st.lists(st.integers(0, 2), min_size=len(events), max_size=len(events)))
    phases = [
        [event for event, own in zip(events, phase_of, strict=True) if own == phase]
        for phase in range(3)
    ]
    return Plan(actions, phases)


def came_to(policy: str, silences: tuple[str, str], plan: Plan) -> EndState:
    """Live through a plan: within a phase only the microseconds of its records pass."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder) / "a.db") as served:
        served.create(
            actions=["a0", "a1", "a2"],
            signals=SIGNALS,
            policy=policy,
            signal_window=1.0,
            reward_window=2.0,
            signal_silence=silences[0],
            reward_silence=silences[1],
            typical_delay=0.8,
        )
        ids = [served.decide(eligible=[f"a{one}"]).decision_id for one in plan.actions]
        for phase in plan.phases:
            served.batch([{"decision_id": ids[t]} | body for t, body in phase])
            served.pass_time(1.5)
        report = msgspec.to_builtins(served.report())
        for of_its_time in ("log", "freshness", "status", "sentence"):
            del report[of_its_time]
        if policy in STREAM:  # what such a policy believes depends on what came first
            for row in report["actions"]:
                del row["value"], row["best"]
        history_reports = []
        for one in ids:
            history = served.history(one)
            events = sorted((e.event_id or "", e.status or "") for e in history.events)
            history_reports.append((history.signal, history.reward, events))
        campaign = served.campaign()
        total = campaign.counters.total.tobytes()
        counted = (campaign.decided, *campaign.cursors, *campaign.counters.counts, total)
        config = msgspec.structs.replace(campaign.config, seed=0)  # each campaign has its own
        known = (campaign.progress(), campaign.state, campaign.counters, campaign.ledger)
        digest = digest_of(config, *known)
        return EndState(served.fingerprint(), report, history_reports, counted, digest)


@st.composite
def reordered(draw: st.DrawFn) -> tuple[Plan, Plan]:
    plan = draw(plans())
    return plan, plan._replace(phases=[draw(st.permutations(phase)) for phase in plan.phases])


@st.composite
def repeated(draw: st.DrawFn) -> tuple[Plan, Plan]:
    """Send some events again, at once or at any later time."""
    plan = draw(plans())
    phases: list[list[Event]] = []
    for number, phase in enumerate(plan.phases):
        earlier = [event for one in plan.phases[: number + 1] for event in one]
        again = draw(st.lists(st.sampled_from(earlier), max_size=8)) if earlier else []
        phases.append([*phase, *again])
    return plan, plan._replace(phases=phases)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ORDER_FREE)
@effort(15)
@given(both=reordered(), silences=SILENCES)
def test_any_order_gives_an_order_free_policy_the_same_state(
    policy: str, both: tuple[Plan, Plan], silences: tuple[str, str]
) -> None:
    one, other = (came_to(policy, silences, plan) for plan in both)
    assert one.of_any_order() == other.of_any_order()


@pytest.mark.slow
@pytest.mark.parametrize("policy", STREAM)
@effort(15)
@given(both=reordered(), silences=SILENCES)
def test_ledger_and_report_are_free_of_order_for_every_policy(
    policy: str, both: tuple[Plan, Plan], silences: tuple[str, str]
) -> None:
    one, other = (came_to(policy, silences, plan) for plan in both)
    if silences != ("default", "default"):
        # what such a policy has read depends on what came first, and so does what it has not
        for end in (one, other):
            del end.report["counts"]["revisions"]
    assert one.report == other.report
    assert one.history_reports == other.history_reports


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*ORDER_FREE[:4], *STREAM])
@effort(8)
@given(both=repeated(), silences=SILENCES)
def test_any_repetition_gives_every_policy_the_same_state(
    policy: str, both: tuple[Plan, Plan], silences: tuple[str, str]
) -> None:
    one, other = (came_to(policy, silences, plan) for plan in both)
    assert other.report["counts"].pop("duplicates") == sum(
        len(after) - len(before)
        for before, after in zip(both[0].phases, both[1].phases, strict=True)
    )
    del one.report["counts"]["duplicates"]
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["nsd-psrl(window=4)"])
@effort(15)
@given(both=reordered(), silence=st.sampled_from(["default", "unknown"]))
def test_any_order_gives_the_same_state_where_silence_is_corrected_for(
    policy: str, both: tuple[Plan, Plan], silence: str
) -> None:
    one, other = (came_to(policy, (silence, "corrected"), plan) for plan in both)
    assert one.of_any_order() == other.of_any_order()

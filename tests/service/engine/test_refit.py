"""Changing the policy or a window is a logged refit: nothing is lost, and requests go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.policies.registry import registered_policies
from foretell.service.engine import admin, fold, recovery, refit, replay
from foretell.service.engine.engine import Engine
from foretell.service.model import snapshot
from foretell.service.model.errors import Conflict
from tests.service.engine_driver import Served

LIVE = [name for name, known in registered_policies().items() if not known.lab_only]
ORDER_FREE = ["kl-ucb", "nsd-kl", "nsd-ucrl2(window=7)", "nsd-psrl", "ts", "ucb"]


def run_campaign(served: Served, name: str, **fields: Any) -> None:
    """Create a campaign and run it: always the same decisions and feedback."""
    served.create(name, **({"signal_window": 1.0, "reward_window": 2.0} | fields))
    for t in range(20):
        one = served.decide(name, eligible=["ab"[t % 2]]).decision_id
        if t % 3:
            served.signal(one, "buy" if t % 2 else "click", f"s{t}")
        if t % 2:
            served.reward(one, t % 3 / 2, f"r{t}")
        served.pass_time(0.3)
    served.pass_time(0.15)  # no window is due within 100 ms, by which a close may move log time


def kinds(served: Served, name: str = "c") -> list[str]:
    return [record.type for record in served.records(name)]


@pytest.mark.parametrize("policy", LIVE)
def test_another_policy_reads_the_whole_log_again(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy="uniform")
        run_campaign(served, "other", policy="nsd-adaptive")
        untouched = served.digest("other")
        report = served.report()
        served.patch(policy=policy)
        if policy != "uniform":
            record = served.records()[-1]
            assert (record.type, record.body["why"]) == ("refit", "changed: policy")
            assert served.decide().policy.startswith(policy)
        assert "refit" not in kinds(served, "other")
        assert served.digest("other") == untouched
        assert served.report().signals == report.signals
        digest = served.digest()
        served.restart()
        assert served.digest() == digest == served.rebuilt().digest()
        served.crash()
        assert served.digest() == digest
        assert served.digest("other") == untouched


@pytest.mark.parametrize("policy", ORDER_FREE)
def test_a_policy_that_comes_later_knows_as_much_as_one_from_the_beginning(
    tmp_path: Path, policy: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "switched", policy="uniform")
        served.patch("switched", policy=policy)
        switched = served.fingerprint("switched")
    with Served(tmp_path / "b.db") as fresh:
        run_campaign(fresh, "switched", policy=policy)
        assert switched == fresh.fingerprint("switched")


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*ORDER_FREE, "nsd-adaptive", "nsd-kl-glr"])
@pytest.mark.parametrize(
    "change",
    [
        {"signal_window": 0.1},
        {"reward_window": 1.4},
        {"default_reward": 0.5},
        {"reward_range": (-1.0, 4.0)},
    ],
    ids=str,
)
def test_a_change_of_a_rule_is_a_logged_refit(
    tmp_path: Path, policy: str, change: dict[str, Any]
) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy=policy)
        served.patch(**change)
        record = served.records()[-1]
        assert (record.type, record.body["why"]) == ("refit", f"changed: {next(iter(change))}")
        counts = served.report().counts
        assert (counts.decisions, counts.signals, counts.rewards) == (20, 13, 10)
        digest = served.digest()
        served.crash()
        assert served.digest() == digest == served.rebuilt().digest()
        found = served.report()
        state = served.fingerprint()
    with Served(tmp_path / "b.db") as fresh:
        run_campaign(fresh, "c", policy=policy, **change)
        expected = fresh.report()
        assert found.signals == expected.signals
        assert found.counts == expected.counts
        if policy in ORDER_FREE:
            assert state == fresh.fingerprint()


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*ORDER_FREE, "nsd-adaptive", "nsd-kl-glr"])
@pytest.mark.parametrize(
    "change",
    [
        {"signal_window": 99.0, "reward_window": 99.0},
        {"reward_window": 99.0},
        {"signal_window": 9.0, "reward_window": 9.0},
    ],
    ids=str,
)
def test_a_longer_window_does_not_open_what_has_closed(
    tmp_path: Path, policy: str, change: dict[str, Any]
) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy=policy)
        before, known = served.report(), served.fingerprint()
        served.patch(**change)
        after = served.report()
        assert (after.signals, after.actions) == (before.signals, before.actions)
        assert after.counts == before.counts
        if policy in ORDER_FREE:
            assert served.fingerprint() == known
        for again in (served.crash, served.restart):
            digest = served.digest()
            again()
            assert served.digest() == digest == served.rebuilt().digest()
        served.pass_time(3.0)
        still = served.report().counts
        assert after.counts.open_rewards > 0
        assert "signal_window" in change or still.open_rewards == after.counts.open_rewards
        assert "reward_window" in change or still.open_signals == after.counts.open_signals
        served.pass_time(100.0)
        assert served.report().counts.open_rewards == 0


def test_windows_that_were_made_longer_one_after_the_other(tmp_path: Path) -> None:
    """Each decision keeps the window that it had when it closed; a shorter one is for all."""
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=1.0, reward_window=60.0, policy="nsd-kl")
        made, due = [], []
        for window in (2.0, 4.0, 8.0):
            made.append(served.decide().decision_id)
            served.pass_time(window / 2)
            due.append(served.history(made[-1]).signal_due_at)
            served.patch(signal_window=window)
        late = served.decide().decision_id
        assert [served.history(one).signal_due_at for one in made] == due
        served.patch(signal_window=0.5)
        assert all(
            served.history(one).signal_due_at < then for one, then in zip(made, due, strict=True)
        )
        served.patch(signal_window=50.0)
        served.patch(signal_silence="unknown")
        served.pass_time(0.4)
        served.patch(signal_silence="default")
        assert served.history(made[0]).signal is None, "silence was no outcome meanwhile"
        assert served.history(late).signal is None
        assert served.digest() == served.rebuilt().digest()


def test_a_change_of_what_is_declared_about_signals_is_a_refit(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy="nsd-psrl")
        changed = served.patch(signals_ordered=False, signal_values={"click": 0.25})
        assert (changed.signals_ordered, changed.signal_values) == (False, {"click": 0.25})
        assert changed.signal_values_weight == 10.0
        assert "refit" in kinds(served)
        assert served.digest() == served.rebuilt().digest()


def test_changes_of_anything_else_are_no_refit(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy="nsd-kl")
        before = served.fingerprint()
        served.patch(explore=0.5, holdout=0.1, sticky=True)
        served.patch(signal_window=1.0)
        assert "refit" not in kinds(served)
        assert served.fingerprint() == before


def test_a_change_of_nothing_leaves_no_record(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        made = served.create(explore=0.1)
        assert served.patch() == made
        assert served.patch(explore=0.1) == made
        assert served.set_action("a", "active") == made
        assert kinds(served) == ["created"]


def test_the_history_of_a_decision_names_the_policy_that_made_it(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(policy="nsd-psrl")
        first = served.decide(decision_key="k")
        served.patch(policy="ucb")
        second = served.decide()
        for one in (first, second):
            assert served.history(one.decision_id).policy == one.policy
        assert (first.policy[:8], second.policy[:3]) == ("nsd-psrl", "ucb")
        assert served.decide(decision_key="k") == first


@pytest.mark.slow
def test_decisions_and_feedback_go_on_during_a_refit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps are small here, so that others come in between all the time."""
    monkeypatch.setattr(replay, "RECORDS_PER_STEP", 8)
    monkeypatch.setattr(replay, "DECISIONS_PER_READ", 8)
    with Served(tmp_path / "a.db") as served:
        served.create(policy="nsd-adaptive", signal_window=1.0, reward_window=2.0)
        served.create("other", policy="nsd-adaptive")
        for _ in range(10):
            served.decide_many(200)
        done: list[str] = []

        async def visitor(number: int, refit: asyncio.Task[Any]) -> None:
            """Decide and report everything twice, until the refit is over."""
            engine = served.engine
            count = 0
            while not refit.done():
                count += 1
                answer, _ = await engine.decide("c", protocol.DecisionRequest())
                one, name = answer.decision_id, f"{number}-{count}"
                for expected in ("accepted", "duplicate"):
                    found = [
                        await engine.feedback(one, protocol.SignalReport("buy", f"s{name}")),
                        await engine.feedback(one, protocol.RewardReport(1.0, event_id=f"r{name}")),
                    ]
                    assert [receipt.status for receipt in found] == [expected] * 2
                await engine.decide("other", protocol.DecisionRequest())
                done.append(one)
                served.machine.time += 100

        async def all_at_once() -> None:
            refit = asyncio.create_task(served.engine.refit("c"))
            await asyncio.sleep(0)
            with pytest.raises(Conflict):
                await served.engine.add_action("c", protocol.NewAction("z"))
            await asyncio.gather(refit, *(visitor(number, refit) for number in range(12)))

        served.run(all_at_once())
        records = served.records()
        index = next(index for index, record in enumerate(records) if record.type == "refit")
        meanwhile = [
            record
            for record in records[:index]
            if int(record.seq) > int(records[index].body["refit_from"])
        ]
        assert len(meanwhile) > 50, "enough came in while the log was read"
        counts = served.report().counts
        assert counts.decisions == 2000 + len(done)
        assert counts.signals == counts.rewards == len(done)
        assert counts.duplicates == 2 * len(done)
        digest = served.digest()
        assert digest == served.rebuilt().digest()
        served.pass_time(5.0)
        assert all(served.history(one).signal == "buy" for one in done[::40])
        digest = served.digest()
        served.restart()
        assert served.digest() == digest


@pytest.mark.slow
def test_a_refit_ends_however_fast_records_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step takes in one record here, and many come in between all the time."""
    with Served(tmp_path / "a.db", durability="relaxed") as served:
        served.create(policy="ucb")
        served.decide_many(300)

        async def visitor(refit: asyncio.Task[Any]) -> None:
            while not refit.done():
                await served.engine.decide("c", protocol.DecisionRequest())

        async def all_at_once() -> None:
            refit = asyncio.create_task(served.engine.refit("c"))
            async with asyncio.timeout(120):
                await asyncio.gather(refit, *(visitor(refit) for _ in range(10)))

        with monkeypatch.context() as small_steps:
            small_steps.setattr(replay, "RECORDS_PER_STEP", 1)
            served.run(all_at_once())
        assert kinds(served).count("refit") == 1
        assert served.digest() == served.rebuilt().digest()


def test_another_version_of_the_policies_is_refit_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c", policy="nsd-adaptive")
        served.restart()
        assert "refit" not in kinds(served)
        for module in (snapshot, refit, recovery, fold, admin):
            monkeypatch.setattr(module, "state_version", lambda _: "another")
        served.restart()
        record = served.records()[-1]
        assert (record.type, record.body["state_version"]) == ("refit", "another")
        assert record.body["why"] == "foretell has changed"
        digest = served.digest()
        served.restart()
        assert kinds(served).count("refit") == 1
        assert served.digest() == digest == served.rebuilt().digest()


def refit_amid(served: Served, change: Callable[[Engine], Awaitable[Any]]) -> Any:
    """Ask for a refit, make a change while it reads, and return what the refit came to."""

    async def both() -> Any:
        active = served.engine.runtime.by_name["c"]
        asked = asyncio.create_task(served.engine.refit("c"))
        while not active.refitting:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0)
        assert isinstance(await change(served.engine), protocol.CampaignView)
        return (await asyncio.gather(asked, return_exceptions=True))[0]

    return served.run(both())


@pytest.mark.parametrize(
    "change",
    [
        lambda engine: engine.set_status("c", "paused"),
        lambda engine: engine.patch_action("c", "a", protocol.ActionPatch("paused")),
    ],
    ids=["campaign", "action"],
)
def test_what_does_harm_is_paused_while_a_refit_reads(
    tmp_path: Path, change: Callable[[Engine], Awaitable[Any]]
) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")
        changed = refit_amid(served, change)
        assert isinstance(changed, protocol.CampaignView)
        assert kinds(served)[-2:] == ["changed", "refit"], "it begins again after the change"
        assert "paused" in (changed.status, changed.actions[0].status)
        assert served.digest() == served.rebuilt().digest()


def test_other_changes_wait_until_the_log_is_read(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")

        async def refused(engine: Engine) -> protocol.CampaignView:
            with pytest.raises(Conflict, match="is being refit to its log"):
                await engine.add_action("c", protocol.NewAction("new"))
            return engine.campaign("c")

        assert isinstance(refit_amid(served, refused), protocol.CampaignView)


def test_what_a_refit_replaces_is_let_go_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To free some thousand decisions at once would hold up every other campaign."""
    monkeypatch.setattr(fold, "RECORDS_PER_STEP", 4)
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")
        replaced, left = served.campaign(), []
        forget = replaced.cache.forget

        def counted(count: int) -> bool:
            more = forget(count)
            left.append(len(replaced.cache._by_number))
            assert len(replaced.cache._by_rank) == left[-1]
            return more

        monkeypatch.setattr(replaced.cache, "forget", counted)
        served.patch(policy="nsd-kl")
        assert served.campaign() is not replaced
        assert left == [16, 12, 8, 4, 0]
        assert served.digest() == served.rebuilt().digest()

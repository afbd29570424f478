"""A warm start: what an earlier log taught is the policy's alone, and survives every restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import pytest

from foretell import protocol
from foretell.policies.registry import start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import credit, drawn, has, observe, play
from foretell.service.engine import history_imports, recovery
from foretell.service.engine.refit import refit
from foretell.service.engine.replay import rebuild
from foretell.service.model.delivered import campaign_problem
from foretell.service.model.errors import Conflict, TooLarge, Unusable
from foretell.service.model.events import Imported
from foretell.service.model.imports import Imports
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.reactions import memory_of
from tests.service.engine_driver import START, Served

POLICIES = ("nsd-adaptive", "ucb", "nsd-ucrl2(window=50)", "exp3s", "nsd-kl-glr")
ACTIONS = ("a", "b", "c")
CHANCES = {"a": 0.1, "b": 0.9, "c": 0.3}
DAY = 86_400_000_000
Row = dict[str, Any]


def earlier_log(count: int = 60, seed: int = 1, **more: Any) -> list[Row]:
    """Return a log of uniform play: a click in a share of its action's own, then often a reward."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(count):
        action = ACTIONS[index % 3]
        clicked = bool(rng.random() < CHANCES[action])
        rows.append(
            {
                "action": action,
                "signal": "click" if clicked else "none",
                "reward": float(clicked and rng.random() < 0.8),
                "decided_at": format_timestamp(START - DAY + 1_000_000 * index),
            }
            | more
        )
    return rows


def serve(folder: Path, **fields: Any) -> Served:
    served = Served(folder / "a.db", compiled=False)
    served.__enter__()
    given = {"actions": list(ACTIONS), "signals": ["click"], "policy": "nsd-adaptive"}
    served.create(**(given | {"signal_window": 1.0, "reward_window": 5.0} | fields))
    return served


@pytest.fixture
def served(tmp_path: Path) -> Any:
    one = serve(tmp_path)
    yield one
    one.__exit__()


def use(served: Served, count: int = 12) -> None:
    """Decide, with rewards in time, late ones, and voids."""
    for index in range(count):
        one = served.decide()
        if index % 2:
            served.signal(one.decision_id, "click")
        if index % 4 == 0:
            served.pass_time(6.0)  # what comes now is late
        if index % 3 == 0:
            served.reward(one.decision_id, 1.0)
        if index % 5 == 4:
            served.void(one.decision_id)
        served.pass_time(0.7)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_state_is_that_of_the_log_however_it_is_read(tmp_path: Path, policy: str) -> None:
    served = serve(tmp_path, policy=policy, explore=0.2)
    use(served)
    served.import_history(earlier_log()[::-1])
    use(served)
    served.import_history(earlier_log(30, 2), "older")
    assert [one.status for one in served.imported()] == ["in force", "in force"]
    use(served)
    assert served.rebuilt().digest() == served.digest()
    served.save_states()
    assert [one.comparison for one in served.verify().campaigns] == ["same"]
    before = served.fingerprint()
    served.restart()
    assert served.fingerprint() == before
    served.crash()
    assert served.fingerprint() == before
    use(served)
    served.patch(reward_window=3.0)
    served.add_action("d")
    use(served)
    assert served.rebuilt().digest() == served.digest()
    served.save_states()
    assert served.verify().damage == []
    served.__exit__()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_is_told_the_history_and_then_the_campaign(tmp_path: Path, policy: str) -> None:
    served = serve(tmp_path, policy=policy, reward_range=(0.0, 2.0))
    rows = earlier_log()
    rows[3]["reward"] = None
    rows[4]["reward"] = 19.0
    rows[5]["propensity"] = 0.7
    served.import_history(rows)
    served.imported()
    own = [served.decide() for _ in range(5)]
    for one in own:
        served.signal(one.decision_id, "click")
        served.reward(one.decision_id, 2.0)
    served.pass_time(10.0)
    campaign = served.campaign()
    twin = start(campaign.spec, campaign_problem(campaign.config))
    told = [(row["action"], row["signal"], row["reward"], row.get("propensity")) for row in rows]
    for t, (action, signal, reward, propensity) in enumerate(told):
        index = ACTIONS.index(action), ["none", "click"].index(signal)
        play(twin, t, index[0])
        if has(drawn, twin):
            drawn(twin, t, index[0], propensity or 1 / 3)
        observe(twin, t, *index)
        if reward is not None:
            credit(twin, t, *index, min(reward, 2.0) / 2.0)
    for t, one in enumerate(own, len(rows)):
        play(twin, t, ACTIONS.index(one.action))
        if has(drawn, twin):
            drawn(twin, t, ACTIONS.index(one.action), one.propensity)
    for t, one in enumerate(own, len(rows)):
        observe(twin, t, ACTIONS.index(one.action), 1)
    for t, one in enumerate(own, len(rows)):
        credit(twin, t, ACTIONS.index(one.action), 1, 1.0)
    assert fingerprint(campaign.state) == fingerprint(twin)
    served.__exit__()


def test_parts_and_histories_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    whole, prints = earlier_log(), []
    ways: tuple[list[tuple[str, int, list[Row], bool]], ...] = (
        [("one", 1, whole, True)],
        [("one", 1, whole[:10], False), ("one", 2, whole[10:], True)],
        [("one", 2, whole[40:], True), ("one", 1, whole[:40], False)],
        [("odd", 1, whole[1::2], True), ("even", 1, whole[::2], True)],
    )
    for number, way in enumerate(ways):
        folder = tmp_path / str(number)
        folder.mkdir()
        served = serve(folder)
        for history, part, rows, last in way:
            served.import_history(rows, history, part=part, last=last)
        served.imported()
        prints.append(served.fingerprint())
        served.__exit__()
    assert len(set(prints)) == 1


def test_a_warm_start_earns_more_before_the_first_reward_of_its_own(tmp_path: Path) -> None:
    earned = []
    for warm in (False, True):
        folder = tmp_path / str(warm)
        folder.mkdir()
        served = serve(folder, signal_window=3600.0, reward_window=86400.0)
        if warm:
            served.import_history(earlier_log(300))
            served.imported()
        chosen = [served.decide().action for _ in range(60)]
        earned.append(np.mean([0.8 * CHANCES[action] for action in chosen]))
        assert served.report().status == "learning"
        served.__exit__()
    cold, warm_mean = earned
    assert warm_mean > 0.65
    assert warm_mean > cold + 0.15


def test_nothing_but_the_policy_counts_a_history(served: Served) -> None:
    served.import_history(earlier_log())
    served.imported()
    first = served.decide()
    report, history = served.report(), served.history(first.decision_id)
    assert (report.counts.decisions, report.counts.rewards, history.round) == (1, 0, 0)
    assert (report.modes, report.uplift) == ([], None)
    assert all(one.observed is None for one in report.actions)
    assert "the policy goes by 60 decisions of earlier logs." in report.sentence
    assert [one.id for one in report.history] == ["old"]
    assert max(report.actions, key=lambda one: one.best or 0.0).action == "b"


@pytest.mark.parametrize("policy", ["nsd-adaptive", "nsd-kl-glr"])
def test_changes_are_told_in_rounds_of_the_campaign(tmp_path: Path, policy: str) -> None:
    served = serve(tmp_path, policy=policy)
    served.import_history(earlier_log(300))
    served.imported()
    use(served)
    memory = memory_of(CampaignCopy.of(served.engine.runtime.by_number[1]))
    assert memory is not None
    assert 0 <= memory.start.min() <= memory.start.max() <= served.campaign().decided
    assert served.run(served.engine.changes("c")).changes == []
    served.__exit__()


def test_the_log_shows_a_part_without_its_rows(served: Served) -> None:
    rows = earlier_log()
    rows[0]["reward"] = None
    served.import_history(rows)
    (view,) = served.imported()
    (shown,) = [one for one in served.records() if one.type == "imported"]
    period = {"from": rows[0]["decided_at"], "to": rows[-1]["decided_at"]}
    counts = {"id": "old", "decisions": 60, "rewards": 59}
    assert shown.body == counts | {"part": 1, "last": True} | period
    assert msgspec.to_builtins(view) == counts | period | {
        "status": "in force",
        "parts": 1,
        "progress": 1.0,
        "detail": "",
    }
    page = served.run(served.engine.record_page("c", kind="imported"))
    assert [one.seq for one in page.events] == [shown.seq]
    reread = served.records()[-1]
    assert reread.body["config"]["history"] == [counts | period]
    assert reread.body["why"] == "imported the history 'old'"


def test_the_same_part_can_be_sent_again_and_other_rows_cannot(served: Served) -> None:
    rows = earlier_log()
    for _ in range(2):
        view = served.import_history(rows, last=False)
        assert (view.status, view.decisions, view.parts) == ("receiving", 60, 1)
    with pytest.raises(Unusable, match="part 1 of the history 'old' has come with other rows"):
        served.import_history(rows[1:], last=False)
    assert served.import_history(rows, part=3).detail == "parts that are missing: 2"
    with pytest.raises(Unusable, match="part must be at most 3, the last part"):
        served.import_history(rows, part=4)
    assert served.import_history(rows, part=2, last=False).status == "refitting"
    assert served.imported()[0].status == "in force"
    assert served.import_history(rows, part=3).status == "in force"
    with pytest.raises(Conflict, match="is in force already, without these rows"):
        served.import_history(rows, part=4)
    assert sum(one.type == "imported" for one in served.records()) == 3


def test_no_part_that_has_come_is_left_out(served: Served) -> None:
    rows = earlier_log()
    view = served.import_history(rows, part=3, last=False)
    assert view.detail == "the last part has not come: send those after part 3"
    with pytest.raises(Unusable, match="part 2 cannot be the last of the history 'old', because"):
        served.import_history(rows, part=2)
    assert served.import_history(rows, part=8).detail == "parts that are missing: 1, 2, 4 to 7"
    for part in (1, 2, 4, 5, 6, 7):
        served.import_history(rows, part=part, last=False)
    (done,) = served.imported()
    assert (done.status, done.decisions, done.parts) == ("in force", 480, 8)
    assert served.campaign().imported == 480


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_a_history_ends_with_the_latest_part_in_whatever_order_they_came(
    order: tuple[int, ...],
) -> None:
    """Whoever sends parts side by side may have said `last` of an earlier one."""
    imports = Imports()
    for part in order:
        imports.note(Imported("old", part, 1, 0, None, None, b"", ends=part == 2))
    assert imports.by_id["old"].ends == 3
    assert imports.by_id["old"].complete


def test_a_history_that_was_acknowledged_comes_in_force_after_a_crash(served: Served) -> None:
    with mock.patch.object(history_imports.HistoryImports, "resume"):
        served.import_history(earlier_log())
        served.crash()
    assert served.engine.campaign("c").history[0].status == "refitting"
    served.restart()
    assert served.imported()[0].status == "in force"
    assert served.campaign().imported == 60


def states_built(served: Served, again: Callable[[], None]) -> int:
    """Return how many campaigns were built from the log when the server started again."""
    with mock.patch.object(recovery, "rebuild", wraps=rebuild) as built:
        again()
    return built.call_count


def test_what_was_built_after_a_crash_is_saved(served: Served) -> None:
    """A history takes minutes to read: not at every start, because nobody used the campaign."""
    served.import_history(earlier_log())
    assert served.imported()[0].status == "in force"
    assert states_built(served, served.crash) == 1
    assert states_built(served, served.restart) == 0
    assert served.digest() == served.rebuilt().digest()


def test_a_refit_that_is_overtaken_is_begun_again(served: Served) -> None:
    calls = []

    async def overtaken(*arguments: Any) -> bool:
        calls.append(arguments)
        return len(calls) > 1 and await refit(*arguments)

    with mock.patch.object(history_imports, "refit", overtaken):
        served.import_history(earlier_log())
        assert served.imported()[0].status == "in force"
    assert len(calls) == 2


def test_a_campaign_is_paused_while_its_policy_reads_a_history(served: Served) -> None:
    part = msgspec.convert(
        {"id": "old", "rows": earlier_log(2000), "last": True}, protocol.HistoryPart
    )

    async def pause_amid() -> tuple[int, int]:
        await served.engine.import_history("c", part)
        active = served.engine.runtime.by_name["c"]
        while not active.refit_share:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0)
        progress = active.imports.by_id["old"]
        assert (await served.engine.set_status("c", "paused")).status == "paused"
        before = progress.read
        while progress.read >= before:  # it begins again at once, and not at its end
            assert progress.read < progress.to_read
            await asyncio.sleep(0)
        return before, progress.read

    before, after = served.run(pause_amid())
    assert 0 <= after < before < 2000
    assert served.imported()[0].status == "in force"
    assert served.engine.campaign("c").status == "paused"
    assert served.digest() == served.rebuilt().digest()


def test_an_import_that_cannot_go_on_says_why(served: Served) -> None:
    with mock.patch.object(history_imports.HistoryImports, "resume"):
        served.import_history(earlier_log())
    served.run(served.engine.set_status("c", "stopped"))
    served.run(served.engine.imports._put_in_force(served.engine.runtime.by_name["c"], "old"))
    assert "is stopped, for good" in served.imported()[0].detail
    with pytest.raises(Conflict, match="is stopped, for good"):
        served.import_history(earlier_log(), "other")


@pytest.mark.parametrize(
    ("wrong", "field", "sentence"),
    [
        ({"action": "bb"}, "action", "there is no action 'bb': did you mean 'b'?"),
        ({"signal": "clik"}, "signal", "did you mean 'click'? (there are 'none', 'click')"),
        ({"reward": 11.0}, "reward", "reward must be less than 10 times outside the reward_range"),
        ({"decided_at": "2099-01-01T00:00:00Z"}, "decided_at", "must not be in the future"),
        ({"decided_at": "yesterday"}, "decided_at", "must be a time with its zone"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused(
    served: Served, wrong: Row, field: str, sentence: str
) -> None:
    rows = earlier_log()
    rows[7] |= wrong
    with pytest.raises(Unusable) as refused:
        served.import_history(rows)
    assert str(refused.value).startswith("rows[7]: ")
    assert sentence in str(refused.value)
    assert refused.value.errors[0].field == f"rows[7].{field}"
    assert served.imported() == []


def test_a_campaign_takes_so_many_decisions_and_no_more(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_imports, "MAX_IMPORTED", 100)
    served.import_history(earlier_log(), last=False)
    with pytest.raises(TooLarge, match="at most 100 decisions from earlier logs, got 120"):
        served.import_history(earlier_log(), part=2)
    assert served.import_history(earlier_log(), last=False).parts == 1

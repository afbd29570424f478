"""A refit that nobody waits for says how far it is, or why it has failed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from foretell import protocol
from foretell.service.engine import refit
from tests.service.engine.test_refit import kinds, run_campaign
from tests.service.engine_driver import Served


def test_a_refit_that_nobody_waits_for_says_how_far_it_is(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")

        async def followed() -> list[protocol.CampaignView]:
            patch = protocol.CampaignPatch(policy="kl-ucb")
            seen = [await served.engine.patch("c", patch, wait=False)]
            while seen[-1].refit is not None:
                await asyncio.sleep(0)
                seen.append(served.engine.campaign("c"))
            return seen

        *before, after = served.run(followed())
        assert (before[0].policy, after.policy) == ("ucb", "kl-ucb")
        said = {(one.refit.status, one.refit.why) for one in before if one.refit}
        assert said == {("running", "changed: policy")}
        shares = [one.refit.progress for one in before if one.refit]
        assert (shares[0], shares) == (0.0, sorted(shares))
        assert kinds(served)[-1] == "refit"


def test_a_refit_that_fails_says_why_and_changes_nothing(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")

        async def stopped_meanwhile() -> protocol.CampaignView:
            await served.engine.patch("c", protocol.CampaignPatch(policy="ts"), wait=False)
            await served.engine.set_status("c", "stopped")
            while served.engine.runtime.by_name["c"].refitting:  # noqa: ASYNC110
                await asyncio.sleep(0)
            return served.engine.campaign("c")

        view = served.run(stopped_meanwhile())
        assert view.refit is not None
        assert (view.refit.status, "refit" in kinds(served)) == ("failed", False)
        assert "is stopped, for good" in view.refit.detail


def test_a_long_refit_is_read_in_a_thread_to_the_same_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states, usual = [], sys.getswitchinterval()
    for decisions in (0, 1000):
        monkeypatch.setattr(refit, "THREAD_DECISIONS", decisions)
        with Served(tmp_path / f"{decisions}.db") as served:
            run_campaign(served, "c", policy="uniform")
            served.patch("c", policy="nsd-adaptive")
            states.append(served.fingerprint())
            assert served.digest() == served.rebuilt().digest()
            assert kinds(served)[-1] == "refit"
    assert states[0] == states[1]
    assert sys.getswitchinterval() == usual


def test_a_refit_in_a_thread_ends_when_its_campaign_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refit, "THREAD_DECISIONS", 0)
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, "c")

        async def stopped_meanwhile() -> protocol.CampaignView:
            await served.engine.patch("c", protocol.CampaignPatch(policy="ts"), wait=False)
            await served.engine.set_status("c", "stopped")
            while served.engine.runtime.by_name["c"].refitting:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            return served.engine.campaign("c")

        view = served.run(stopped_meanwhile())
        assert view.refit is not None
        assert (view.refit.status, "refit" in kinds(served)) == ("failed", False)

"""A refit that nobody waits for says how far it is, or why it has failed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from foretell import protocol
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

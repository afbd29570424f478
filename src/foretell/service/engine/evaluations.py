"""Evaluations: what another policy would have earned, found out beside the traffic.

The log is read as a refit reads it, a few decisions at a time, and replayed in another thread:
compiled where numba is installed, else with a pause after each step as long as the step. What is
under way and what was found is in memory alone: after a restart, ask again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from time import perf_counter
from typing import Any

from foretell import protocol
from foretell.errors import ForetellError
from foretell.evaluation.decision_log import NO_CHANCE, check_evaluable
from foretell.evaluation.evaluate import EvaluationRun
from foretell.evaluation.replay import Replayer
from foretell.policies.spec import Spec
from foretell.service.engine.fold import Fold
from foretell.service.engine.replay import configurations_of
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import Turns, in_thread
from foretell.service.log.errors import said_outside
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_cache import DECISIONS_PER_READ
from foretell.service.model.delivered import campaign_problem
from foretell.service.model.errors import Conflict, NotFound, Unusable
from foretell.service.model.events import CampaignConfig, moment
from foretell.service.model.live_policies import spec_in_place
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.decision_log import DecisionLogBuilder
from foretell.service.reports.evaluation import evaluation_result
from foretell.sim.replayer import plain_replayer, replayer
from foretell.types import RewardScale

logger = logging.getLogger("foretell.service")

MAX_AT_ONCE = 2
"""Evaluations under way in one server."""
MAX_KEPT = 20
"""Evaluations of one campaign that are kept, the latest ones."""
STEP, COMPILED_STEP = 16, 1024
"""Decisions that are replayed at a time."""
READING = 0.1
"""The share of the work that reading the log counts for."""


class Evaluations:
    """The evaluations of a server."""

    def __init__(
        self,
        runtime: Runtime,
        fold: Fold,
        *,
        compiled: bool,
    ) -> None:
        """Begin with none."""
        self.runtime, self.fold, self._compiled = runtime, fold, compiled
        self.under_way: set[asyncio.Task[None]] = set()
        self._kept: dict[str, dict[str, protocol.EvaluationView]] = {}
        """By campaign and id."""

    async def evaluate(self, name: str, new: protocol.NewEvaluation) -> protocol.EvaluationView:
        """Begin to evaluate a policy on the log of a campaign."""
        active = self.runtime.find(name)
        spec = _spec(active.config, new.policy)
        await self._refuse_hopeless(active)
        if len(self.under_way) >= MAX_AT_ONCE:
            raise Conflict(
                f"{len(self.under_way)} evaluations are under way, and no more run at once: "
                f"try again when one of them is done"
            )
        position = self.runtime.log.now()
        view = protocol.EvaluationView(
            id=secrets.token_hex(8),
            campaign=name,
            policy=str(spec),
            status="running",
            progress=0.0,
            as_of=format_timestamp(moment(position)),
        )
        kept = self._kept.setdefault(name, {})
        kept[view.id] = view
        for old in [one for one, its in kept.items() if its.status != "running"][:-MAX_KEPT]:
            del kept[old]
        task = asyncio.create_task(self._run(view, active, spec, position))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return view

    async def stop(self) -> None:
        """End what is under way, because the server stops."""
        for task in self.under_way:
            task.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)

    def evaluation(self, name: str, evaluation: str) -> protocol.EvaluationView:
        """Return an evaluation, as far as it has come."""
        self.runtime.look_up(name)
        found = self._kept.get(name, {}).get(evaluation)
        if found is None:
            raise NotFound(
                f"there is no evaluation {evaluation!r} of this campaign: the latest {MAX_KEPT} "
                f"since the server was started are kept, so ask for another"
            )
        return found

    def evaluations(self, name: str) -> protocol.EvaluationList:
        """Return the latest evaluations of a campaign."""
        self.runtime.look_up(name)
        return protocol.EvaluationList(list(self._kept.get(name, {}).values()))

    async def _refuse_hopeless(self, active: ActiveCampaign) -> None:
        """Refuse a campaign that has never explored nor held out: no action had a chance."""
        versions = await configurations_of(self.runtime.log, active.number)
        if not any(event.config.explore or event.config.holdout for _, event in versions):
            raise Conflict(NO_CHANCE)

    async def _run(
        self, view: protocol.EvaluationView, active: ActiveCampaign, spec: Spec, position: int
    ) -> None:
        try:
            view.result = await self._result(view, active, spec, position)
            view.status, view.progress = "done", 1.0
        except ForetellError as error:
            view.status, view.detail = "failed", said_outside(error)
        except Exception:
            view.status = "failed"
            view.detail = "the evaluation failed, and the server's log says why: report it"
            logger.exception("%s cannot be evaluated", view.campaign)

    async def _result(
        self, view: protocol.EvaluationView, active: ActiveCampaign, spec: Spec, position: int
    ) -> protocol.EvaluationResult:
        await self.fold.reached(position, active=active)
        config = active.config
        builder = await self._read(view, active, config, position)
        log = builder.build()
        check_evaluable(log)
        chosen: Callable[[Any], Replayer] = plain_replayer
        if self._compiled:
            chosen = await in_thread(replayer, log.decisions)
        run = await in_thread(EvaluationRun, spec, log, campaign_problem(config), chosen)
        fast, done = chosen is not plain_replayer, 0
        while True:
            began = perf_counter()
            step = await in_thread(run.step, COMPILED_STEP if fast else STEP)
            if not step:
                break
            done += step
            view.progress = READING + (1.0 - READING) * done / run.steps
            if not fast:
                await asyncio.sleep(perf_counter() - began)
        found = await in_thread(run.result)
        scale = RewardScale("bounded", *config.reward_range)
        return evaluation_result(view.policy, found, scale, builder.voided)

    async def _read(
        self,
        view: protocol.EvaluationView,
        active: ActiveCampaign,
        config: CampaignConfig,
        position: int,
    ) -> DecisionLogBuilder:
        """Read every decision of a campaign up to a position."""
        log, number, total = self.runtime.log, active.number, max(1, active.campaign.decided)
        versions = await configurations_of(log, number)
        explores = {event.version: event.config.explore for _, event in versions}
        builder = DecisionLogBuilder(config, explores, position)
        after, read, turns = 0, 0, Turns()
        while found := await log.decisions_after(number, after, DECISIONS_PER_READ):
            for records in found:
                if records.number < position:
                    builder.add(records)
            after, read = found[-1].number, read + len(found)
            view.progress = READING * min(1.0, read / total)
            await turns.pause()
        return builder


def _spec(config: CampaignConfig, policy: str) -> Spec:
    try:
        return spec_in_place(config, policy)
    except ForetellError as error:
        raise Unusable(f"policy {policy[:60]!r} cannot run: {error}", field="policy") from None

"""How a refit reads decisions: many at a time, compiled once they are many.

Whether a policy reads one by one, in columns, or compiled makes no difference to its state, to the
last bit: so a long refit may begin in one way and go on in another.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys

from foretell.evaluation.reading import Reader
from foretell.service.engine.turns import Turns, TurnsBetweenRequests, TurnsOfThread
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import DecisionRecords
from foretell.service.model.refit_columns import RefitColumns
from foretell.sim.replayer import COMPILED_DECISIONS, MANY_DECISIONS, loaded_reader, refit_reader

logger = logging.getLogger("foretell.service")

COMPILER = "numba"
PLAIN_STEP, COMPILED_STEP = 8, 32
"""Decisions that are read before others get their turn, in the thread that serves requests."""
BUSY_STEP = 64
"""Decisions that are read at a time in another thread, while requests are answered."""
LARGE_STEP = 256
"""Decisions that are read at a time where none are: a step of few takes longer for each, and one of
many makes so many objects at a time that the garbage collector looks at all there are."""
TOGETHER = 1024
"""Decisions that are taken in at a time then."""


class RefitReading:
    """A campaign on its way through the decisions of its log."""

    def __init__(self, campaign: Campaign, position: int, turns: Turns) -> None:
        """Stand before the first decision; outcomes are those at a position."""
        self._campaign, self._position, self._turns = campaign, position, turns
        self._columns: RefitColumns | None = None
        if campaign.has_columns:
            self._columns = RefitColumns(campaign, campaign.rules, position)
        self._reader: Reader | None = None
        readable = self._columns is not None and not campaign.weighs and not campaign.unplays
        if readable:
            self._reader = loaded_reader(campaign.state)
        look = readable and self._reader is None
        self._look_at = [COMPILED_DECISIONS, MANY_DECISIONS] if look else []

    @property
    def step(self) -> int:
        """How many decisions to read at a time."""
        if isinstance(self._turns, TurnsBetweenRequests):
            return PLAIN_STEP if self._reader is None else COMPILED_STEP
        if isinstance(self._turns, TurnsOfThread) and self._turns.busy:
            return BUSY_STEP
        return LARGE_STEP

    def read(self, decisions: list[DecisionRecords]) -> int:
        """Read the next decisions; return how many records of feedback they had."""
        campaign, columns = self._campaign, self._columns
        if columns is None:
            return sum([campaign.refit_one(records, self._position) for records in decisions])
        read = columns.add(decisions)
        if self.step < LARGE_STEP or len(columns) >= TOGETHER:
            campaign.refit_columns(columns, self._reader)
        return read

    def end(self) -> None:
        """Take in what was read and is still waiting, after the last decision."""
        if self._columns is not None:
            self._campaign.refit_columns(self._columns, self._reader)

    async def compile_if_long(self) -> None:
        """Let the policy read compiled from now on, where numba is installed and it pays."""
        if not self._look_at or self._campaign.decided < self._look_at[0]:
            return
        decisions, loaded = self._look_at.pop(0), COMPILER in sys.modules
        try:
            state = self._campaign.state
            self._reader = await asyncio.to_thread(refit_reader, state, decisions)
        except Exception:
            logger.exception("a refit goes on without being compiled")
            self._look_at.clear()
        if self._reader is not None:
            self._look_at.clear()
            if not loaded:
                gc.freeze()  # it stays: a search for garbage in it stops everything for 0.2 s

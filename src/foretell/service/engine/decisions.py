"""Decisions: an action is chosen, and answered when its record is durable.

Nothing here changes a campaign: that is the fold's. A decision is drawn from the folded state and
this process's own decisions under way.
"""

from __future__ import annotations

import hashlib
import secrets
from random import Random
from typing import NamedTuple

import msgspec

from foretell import protocol
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.table_maker import prepare_table
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import Accepted, Draft, Duplicate, Written
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.config import why_not_deciding
from foretell.service.model.decider import Choice
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import MODES, Decided, Record
from foretell.service.model.timestamps import format_timestamp
from foretell.service.model.value_table import Eligible


class _Drawn(NamedTuple):
    """A choice, and what a sticky unit has to do with it."""

    choice: Choice
    first: int = 0
    """The decision that first gave the unit this action."""
    unit_action: int | None = None
    """The n under which the unit is given a new action."""


class Decisions:
    """The part of the engine that chooses actions."""

    def __init__(self, runtime: Runtime) -> None:
        """Append to the runtime's log."""
        self.runtime = runtime
        self._nonces = Random(secrets.randbits(256))  # noqa: S311  (mixed with a secret seed)

    async def decide(
        self, name: str, ask: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        """Choose an action; return the answer, and whether the decision is new.

        The same decision_key gets the same decision again. While the log cannot be written, the
        error that is raised says what the policy would choose.
        """
        try:
            return await self._decide(name, ask)
        except LogClosed as error:
            error.action = self._from_memory(name, ask)
            raise

    def _from_memory(self, name: str, ask: protocol.DecisionRequest) -> str | None:
        """Return the action that the policy would choose; None where that is not known.

        A sticky unit keeps its action, which only the log knows.
        """
        active = self.runtime.by_name.get(name)
        if active is None or active.damage is not None or active.config.sticky:
            return None
        if active.config.status != "running":
            return None
        eligible, nonce = active.eligible(ask.eligible), self._nonces.getrandbits(64)
        return active.config.actions[active.decider.choose(active.overlay, eligible, nonce).action]

    async def _decide(
        self, name: str, ask: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        active = self.runtime.find(name)
        if ask.decision_key is not None:
            key = b"d:" + ask.decision_key.encode()
            earlier = (await self.runtime.log.by_key(active.number, [key])).get(key)
            if earlier is not None:
                return await self._repeat(active, ask, earlier), False
        if active.config.status != "running":
            raise Conflict(why_not_deciding(active.config))
        eligible = active.eligible(ask.eligible)
        unit = None if ask.unit is None else self.runtime.unit_hash(ask.unit)
        nonce = self._nonces.getrandbits(64)
        while True:
            drawn = await self._draw(active, eligible, unit, nonce)
            policy = active.config.policy
            draft = self._draft(active, ask, eligible, unit, nonce, drawn)
            written = await self._append_decision(active, draft, nonce)
            if isinstance(written, Accepted):
                await self.runtime.know_secrets(written.record.seq)
                return self._answer(active, written.record, policy), True
            if isinstance(written, Duplicate):
                return await self._repeat(active, ask, written.earlier), False

    async def _draw(
        self, active: ActiveCampaign, eligible: Eligible, unit: bytes | None, nonce: int
    ) -> _Drawn:
        """Choose; a sticky unit gets the first of its actions that is eligible now."""
        if not active.config.sticky:
            return _Drawn(await self._choose(active, eligible, nonce))
        if unit is None:
            raise Unusable(
                f"the campaign {active.config.name!r} is sticky and needs a unit, got none: "
                f"send the unit that keeps its action",
                field="unit",
            )
        given = await self.runtime.log.unit_actions(active.number, unit)
        for one in given:
            if one.action < eligible.mask.size and eligible.mask[one.action]:
                position = active.campaign.position
                return _Drawn(Choice(one.action, 1.0, "sticky", position), one.decision)
        choice = await self._choose(active, eligible, nonce)
        return _Drawn(choice, unit_action=len(given))

    async def _choose(self, active: ActiveCampaign, eligible: Eligible, nonce: int) -> Choice:
        """Choose; where a table takes long to make, it is made in a thread before."""
        decider, overlay = active.decider, active.overlay
        if decider.is_slow(overlay) and not decider.has_fresh(overlay, eligible):
            await prepare_table(active, eligible, nonce)
        return decider.choose(overlay, eligible, nonce)

    def _draft(
        self,
        active: ActiveCampaign,
        ask: protocol.DecisionRequest,
        eligible: Eligible,
        unit: bytes | None,
        nonce: int,
        drawn: _Drawn,
    ) -> Draft:
        choice, key, count = drawn.choice, ask.decision_key, len(eligible.actions)
        event = Decided(
            active.version,
            choice.action,
            choice.propensity,
            MODES.index(choice.mode),
            count if count == eligible.mask.size else eligible.bits,
            nonce,
            choice.position,
            key,
            b"" if key is None else self._request_digest(ask),
            drawn.first,
        )
        claims = () if key is None else ((active.number, b"d:" + key.encode()),)
        context = b"" if ask.context is None else msgspec.json.encode(ask.context)
        return Draft(active.number, event, 0, claims, unit, drawn.unit_action, context)

    async def _append_decision(self, active: ActiveCampaign, draft: Draft, nonce: int) -> Written:
        """Append a decision, which is under way until it is folded or known not to be written."""
        assert isinstance(draft.event, Decided)  # noqa: S101  (it was drafted so)
        active.overlay.add(nonce, draft.event.action)
        try:
            (written,) = await self.runtime.log.append([draft])
        except BaseException:
            active.overlay.drop(nonce)
            raise
        if isinstance(written, Accepted):
            active.overlay.written(nonce, written.record.seq)
        else:
            active.overlay.drop(nonce)
        return written

    async def _repeat(
        self, active: ActiveCampaign, ask: protocol.DecisionRequest, earlier: Record
    ) -> protocol.DecisionAnswer:
        """Answer a request again."""
        if not isinstance(earlier.event, Decided) or earlier.event.key != ask.decision_key:
            raise Damaged("the key of record", earlier.seq)
        if earlier.event.request != self._request_digest(ask):
            raise Unusable(
                f"the decision_key {ask.decision_key!r} was used for another request: "
                f"take a key of its own for each decision",
                field="decision_key",
            )
        if earlier.event.action >= len(active.config.actions):
            raise LogClosed(
                "another server has just added an action, which this one does not know yet: "
                "try again"
            )
        policy = await self.runtime.policy_at(active.number, earlier.event.config)
        await self.runtime.know_secrets(earlier.seq)
        return self._answer(active, earlier, policy)

    def _answer(
        self, active: ActiveCampaign, record: Record, policy: str
    ) -> protocol.DecisionAnswer:
        event = record.event
        assert isinstance(event, Decided)  # noqa: S101  (the record of a decision)
        return protocol.DecisionAnswer(
            self.runtime.decision_id(active.number, record.seq, event),
            active.config.actions[event.action],
            event.propensity,
            policy,
            format_timestamp(active.campaign.rules.due(-1, record.recorded_at)),
            event.mode,
        )

    def _request_digest(self, ask: protocol.DecisionRequest) -> bytes:
        """Digest a request, so that its key cannot be reused for a different request.

        The digest is keyed: it stays when the unit is erased, and must not help to guess the unit.
        """
        asked = msgspec.json.encode((ask.unit, ask.eligible, ask.context), order="deterministic")
        return hashlib.blake2b(asked, key=self.runtime.secrets[0], digest_size=8).digest()

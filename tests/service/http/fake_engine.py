"""A small engine in memory, which keeps the contract of the real one and knows no policy."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from foretell import protocol
from foretell.errors import InvalidInput
from foretell.service.engine.measurements import NOTHING, CampaignNumbers
from foretell.service.log.errors import LogClosed
from foretell.service.model.errors import Conflict, NotFound, Stale, Unusable
from foretell.service.model.events import Author
from foretell.service.model.feedback import AnyReport
from foretell.service.model.keys import Caller
from foretell.service.reports.periods import Asked

NOW = "2026-01-02T03:04:05.678901Z"
SEQ = 1_767_323_045_678_901 * 2048
"""The seq of that moment."""
KEYS: dict[protocol.Scope, str] = {
    "decide": "ftk_decide",
    "feedback": "ftk_feedback",
    "read": "ftk_read",
    "admin": "ftk_admin",
}
POLICIES = ("ucb", "nsd-adaptive")
_item = msgspec.json.Decoder(protocol.FeedbackItem).decode


class FakeEngine:
    """Everything that `foretell.service.http` asks of an engine."""

    def __init__(self) -> None:
        self.open = True
        self.views: dict[str, protocol.CampaignView] = {}
        self.records: dict[str, list[protocol.RecordView]] = {}
        self.decided: dict[str, str] = {}
        self.repeated: dict[tuple[str, str], protocol.DecisionAnswer] = {}
        self.callers: dict[str, Caller] = {
            key: Caller(Author(scope, scope), frozenset({scope})) for scope, key in KEYS.items()
        }
        self.authors: list[Author | None] = []
        """Who changed something, in order."""
        self.made: dict[str, protocol.MadeKey] = {}
        self.restored, self.copy_kind = b"", protocol.fields.SQLITE_COPY
        self.verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.unread = 0
        self.evaluated: dict[tuple[str, str], protocol.EvaluationView] = {}

    async def evaluate(self, campaign: str, new: protocol.NewEvaluation) -> protocol.EvaluationView:
        self.campaign(campaign)
        if new.policy not in POLICIES:
            raise Unusable(f"policy {new.policy[:60]!r} cannot run: choose another", field="policy")
        view = protocol.EvaluationView("e1", campaign, new.policy, "running", 0.0, NOW)
        self.evaluated[campaign, view.id] = view
        return view

    def evaluation(self, campaign: str, evaluation: str) -> protocol.EvaluationView:
        self.campaign(campaign)
        if (campaign, evaluation) not in self.evaluated:
            raise NotFound(f"there is no evaluation {evaluation!r} of this campaign: ask for one")
        return self.evaluated[campaign, evaluation]

    def evaluations(self, campaign: str) -> protocol.EvaluationList:
        self.campaign(campaign)
        found = [one for (name, _), one in self.evaluated.items() if name == campaign]
        return protocol.EvaluationList(found)

    async def import_history(
        self, campaign: str, part: protocol.HistoryPart, by: Author | None
    ) -> protocol.ImportView:
        self.authors.append(by)
        known = [one.action for one in self.campaign(campaign).actions]
        for index, row in enumerate(part.rows):
            if row.action not in known:
                raise Unusable(f"there is no action in row {index}: choose one of {known}")
        status: protocol.ImportStatus = "refitting" if part.last else "receiving"
        count = len(part.rows)
        self._write(campaign, "imported", {"id": part.id, "decisions": count})
        return protocol.ImportView(part.id, status, count, 0, None, None, part.part, 0.0)

    def health(self) -> protocol.Health:
        return protocol.Health("ok") if self.open else protocol.Health("closed", "the disk is full")

    def gauges(self) -> dict[str, float]:
        return {"queued_records": float(sum(map(len, self.records.values())))}

    def campaign_numbers(self) -> list[CampaignNumbers]:
        listed = ((name, view.status, self.verdicts[name]) for name, view in self.views.items())
        return [CampaignNumbers(*one, {}, 0, {}, NOTHING) for one in listed]

    def unread_feedback(self) -> int:
        return self.unread

    def identify(self, bearer: str) -> Caller | None:
        return self.callers.get(bearer)

    def caller_of(self, key_id: str) -> Caller | None:
        return next((one for one in self.callers.values() if one.author.id == key_id), None)

    def campaign_of(self, decision_id: str) -> str | None:
        return self.decided.get(decision_id)

    def _write(self, campaign: str, kind: str, body: dict[str, Any]) -> None:
        if not self.open:
            raise LogClosed("the log cannot be written: the disk is full")
        records = self.records[campaign]
        records.append(protocol.RecordView(_seq(len(records) + 1), NOW, kind, body))

    async def decide(
        self, campaign: str, request: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        view = self.campaign(campaign)
        if request.decision_key is not None and (campaign, request.decision_key) in self.repeated:
            return self.repeated[campaign, request.decision_key], False
        known = [one.action for one in view.actions if one.status == "active"]
        eligible = [one for one in request.eligible or known if one in known]
        if view.status != "running":
            raise Conflict(f"the campaign is {view.status}: start it")
        if not eligible:
            raise Unusable("no action can be chosen: name one that is active")
        token = f"decision-{len(self.decided)}"
        answer = protocol.DecisionAnswer(token, eligible[0], 1.0, "fake-engine", NOW, "policy")
        self._write(campaign, "decision", {"decision_id": token, "action": eligible[0]})
        self.decided[token] = campaign
        if request.decision_key is not None:
            self.repeated[campaign, request.decision_key] = answer
        return answer, True

    def _campaign_of(self, decision_id: str) -> protocol.CampaignView:
        if decision_id not in self.decided:
            self.unread += 1
            raise NotFound("there is no such decision")
        return self.views[self.decided[decision_id]]

    async def feedback(
        self, decision_id: str, report: AnyReport, own: str | None = None
    ) -> protocol.Receipt:
        view = self._campaign_of(decision_id)
        self.verdicts[view.name]["rejected"] += 1
        kind, body = _read(report, view.signals)
        self._write(view.name, kind, body | {"event_id": report.event_id})
        self.verdicts[view.name].update(accepted=1, rejected=-1)
        return protocol.Receipt("accepted", report.event_id)

    async def batch(
        self, items: list[msgspec.Raw], own: str | None = None
    ) -> list[protocol.Receipt]:
        return [await self._one(item, own) for item in items]

    async def _one(self, raw: msgspec.Raw, own: str | None) -> protocol.Receipt:
        try:
            item: protocol.FeedbackItem = _item(raw)
            if own in (None, self._campaign_of(item.decision_id).name):
                return await self.feedback(item.decision_id, item)
            return protocol.Receipt("rejected", item.event_id, "it is of another campaign")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.unread += 1
            return protocol.Receipt("rejected", detail=str(error))
        except (NotFound, Unusable) as error:
            return protocol.Receipt("rejected", detail=str(error))

    async def create(
        self, campaign: protocol.NewCampaign, by: Author | None
    ) -> protocol.CampaignView:
        self.authors.append(by)
        if campaign.name in self.views:
            raise Conflict("there is a campaign of this name: choose another")
        if campaign.policy == "nonsense":
            raise InvalidInput("there is no such policy")
        fields = {name: getattr(campaign, name) for name in campaign.__struct_fields__}
        fields["actions"] = [protocol.ActionView(one, "active") for one in campaign.actions]
        view = protocol.CampaignView(**fields, created_at=NOW, version=1)
        self.views[campaign.name] = view
        self.records[campaign.name] = []
        self._write(campaign.name, "created", {"config": fields["name"]})
        return view

    def campaigns(self, *, hidden: bool = False) -> list[protocol.CampaignView]:
        return [one for one in self.views.values() if hidden or one.status != "hidden"]

    def campaign(self, name: str) -> protocol.CampaignView:
        if name not in self.views:
            raise NotFound("there is no such campaign")
        return self.views[name]

    def _change(
        self, name: str, version: int | None, by: Author | None, **fields: Any
    ) -> protocol.CampaignView:
        self.authors.append(by)
        view = self.campaign(name)
        if version is not None and version != view.version:
            raise Stale("it was changed")
        self._write(name, "changed", {})
        self.views[name] = msgspec.structs.replace(view, **fields, version=view.version + 1)
        return self.views[name]

    async def patch(
        self,
        name: str,
        patch: protocol.CampaignPatch,
        version: int | None,
        by: Author | None,
        *,
        wait: bool,
    ) -> protocol.CampaignView:
        assert not wait
        fields = {
            field: getattr(patch, field)
            for field in patch.__struct_fields__
            if getattr(patch, field) is not msgspec.UNSET
        }
        return self._change(name, version, by, **fields)

    async def set_status(
        self,
        name: str,
        status: protocol.CampaignStatus,
        version: int | None,
        by: Author | None,
    ) -> protocol.CampaignView:
        return self._change(name, version, by, status=status)

    async def refit(
        self, name: str, version: int | None, by: Author | None, *, wait: bool
    ) -> protocol.CampaignView:
        assert not wait
        view = self._change(name, version, by)
        running = protocol.RefitView("running", "asked for", 0.0)
        return msgspec.structs.replace(view, refit=running)

    async def add_action(
        self, name: str, action: protocol.NewAction, version: int | None, by: Author | None
    ) -> protocol.CampaignView:
        actions = self.campaign(name).actions
        if any(one.action == action.action for one in actions):
            raise Conflict("there is an action of this name: choose another")
        added = [*actions, protocol.ActionView(action.action, "active")]
        return self._change(name, version, by, actions=added)

    async def patch_action(
        self,
        name: str,
        action: str,
        patch: protocol.ActionPatch,
        version: int | None,
        by: Author | None,
    ) -> protocol.CampaignView:
        actions = self.campaign(name).actions
        if all(one.action != action for one in actions):
            raise NotFound("there is no such action")
        changed = [
            protocol.ActionView(one.action, patch.status if one.action == action else one.status)
            for one in actions
        ]
        return self._change(name, version, by, actions=changed)

    async def history(self, decision_id: str, own: str | None = None) -> protocol.DecisionHistory:
        view = self._campaign_of(decision_id)
        action = view.actions[0].action
        return protocol.DecisionHistory(
            decision_id, view.name, NOW, 0, NOW, action, 1.0, "policy", "fake-engine",
            [action], False, None, NOW, None, NOW, None, [],
        )  # fmt: skip

    async def report(self, name: str) -> protocol.CampaignReport:
        view = self.campaign(name)
        log = protocol.LogReport(_seq(len(self.records[name])), NOW, "00")
        fresh = protocol.FreshnessReport(None, None, None, None, 0.0, 0)
        return protocol.CampaignReport(
            name, "learning", "", view.policy, protocol.ReportCounts(), [], [], None, [], fresh, log
        )

    async def validity(self, name: str) -> protocol.ValidityReport:
        found = self.campaign(name).name
        return protocol.ValidityReport(found, NOW, "too early", 1.0, None, None, "", [])

    async def timeseries(self, name: str, asked: Asked) -> protocol.Timeseries:
        nothing = protocol.PeriodSeries("total", [], [], {}, [], [])
        return protocol.Timeseries(
            self.campaign(name).name,
            NOW,
            60.0 if asked.width is None else asked.width / 1e6,
            60.0,
            [],
            protocol.Maturity([], []),
            nothing,
            [],
            [],
        )

    async def delays(self, name: str) -> protocol.DelayReport:
        nothing = protocol.Delays(None, 0, 0, None, None, None, 0, 0, [], [])
        return protocol.DelayReport(
            self.campaign(name).name, NOW, "", "", 1.0, 1.0, 0, nothing, nothing, [], []
        )

    async def signals(self, name: str, asked: Asked) -> protocol.SignalTable:
        width = 60.0 if asked.width is None else asked.width / 1e6
        return protocol.SignalTable(self.campaign(name).name, NOW, width, [], [], [], [])

    async def changes(self, name: str) -> protocol.SignalChanges:
        return protocol.SignalChanges(self.campaign(name).name, NOW, "", [])

    async def record_page(
        self, name: str, after: int, limit: int, kind: protocol.RecordType | None
    ) -> protocol.RecordPage:
        self.campaign(name)
        records = [
            record
            for record in self.records[name]
            if int(record.seq) > after and kind in (None, record.type)
        ][:limit]
        return protocol.RecordPage(records, records[-1].seq if records else str(after))

    async def export(self, name: str) -> AsyncIterator[protocol.RecordView]:
        for record in self.records[name]:
            yield record

    async def server_page(self, after: int, limit: int) -> protocol.RecordPage:
        return protocol.RecordPage([], str(after))

    async def erase(self, name: str, unit: str, by: Author | None) -> protocol.ErasedUnit:
        self.authors.append(by)
        self.campaign(name)
        return protocol.ErasedUnit(0)

    async def rotate(self, by: Author | None) -> protocol.Rotated:
        self.authors.append(by)
        return protocol.Rotated(1, NOW)

    async def retire_secret(
        self, number: int, *, with_ids: bool, by: Author | None
    ) -> protocol.SecretView:
        if number:
            raise NotFound("there is no such secret")
        self.authors.append(by)
        return protocol.SecretView(0, NOW, NOW, not with_ids)

    def secrets(self) -> list[protocol.SecretView]:
        return [protocol.SecretView(0, NOW)]

    async def make_key(self, key: protocol.NewKey, by: Author | None) -> protocol.MadeKey:
        self.authors.append(by)
        number = f"k{len(self.made) + 1}"
        fields = (number, key.name, key.scopes, NOW, key.campaign, key.expires_at, None)
        made = protocol.MadeKey(*fields, by.name if by else None, key=f"ftk_made_{number}")
        self.made[number], author = made, Author(number, key.name)
        self.callers[made.key] = Caller(author, frozenset(key.scopes), key.campaign)
        return made

    async def revoke_key(self, key: str, by: Author | None) -> None:
        if key not in self.made:
            raise NotFound("there is no such key")
        self.authors.append(by)
        del self.callers[self.made.pop(key).key]

    def keys(self) -> list[protocol.KeyView]:
        made, fields = self.made.values(), protocol.KeyView.__struct_fields__
        return [protocol.KeyView(*(getattr(one, field) for field in fields)) for one in made]

    def scratch_folder(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory()

    async def backup(self, path: str) -> None:
        await asyncio.to_thread(Path(path).write_bytes, b"SQLite format 3\0" + bytes(1 << 20))

    async def restore(self, path: str, by: Author | None = None) -> protocol.Restored:
        self.authors.append(by)
        self.restored = await asyncio.to_thread(Path(path).read_bytes)
        if not self.restored.startswith(b"SQLite format 3\0"):
            raise Unusable("the file is no backup of foretell")
        return protocol.Restored(_seq(7))


def _seq(place: int) -> str:
    """Return a seq as large as those of a real log: too large for a JavaScript number."""
    return str(SEQ + place)


def _read(report: AnyReport, signals: list[str]) -> tuple[str, dict[str, Any]]:
    """Return what kind of record a report becomes, and what that says."""
    signal, kind = getattr(report, "signal", None), getattr(report, "kind", "reward")
    if isinstance(report, protocol.VoidReport) or kind == "void":
        return "void", {}
    if signal is not None:
        if signal not in signals:
            raise Unusable(f"there is no such signal: choose one of {signals}")
        return "signal", {"signal": signal}
    value = getattr(report, "value", None)
    if value is None and kind != "retract":
        raise Unusable("a reward must have a value")
    return "reward", {"value": value}

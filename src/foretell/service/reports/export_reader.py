"""An export of a campaign's log, read back: its configuration, and its decisions in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from foretell import protocol
from foretell.errors import DamagedFile
from foretell.service.model.events import (
    FEEDBACK_VERBS,
    MODES,
    OBSERVED,
    VOID,
    CampaignConfig,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    Stage,
)
from foretell.service.model.timestamps import parse_timestamp


class ExportedLog(NamedTuple):
    """What an export holds."""

    config: CampaignConfig
    """The last one."""
    explores: dict[int, float]
    """The share of exploration of each version of the configuration."""
    decisions: list[DecisionRecords]
    last: int
    """The seq of the last record."""


class _Index(NamedTuple):
    """Names by index."""

    actions: dict[str, int]
    signals: dict[str, int]
    reward_stage: int


def read_export(views: Iterable[protocol.RecordView]) -> ExportedLog:
    """Read the records of an export, whatever their order and however often it has each."""
    known = list(views)
    try:
        records = {int(one.seq): one for one in known}
        return _read([records[seq] for seq in sorted(records)])
    except KeyError as error:
        raise _damaged(f"it names {error} without saying what that is") from None
    except _Incomplete as error:
        raise _damaged(str(error)) from None
    except (AttributeError, IndexError, TypeError, ValueError):  # msgspec's are a ValueError
        raise _damaged("a record is not as the service writes it") from None


class _Incomplete(Exception):
    """An export lacks what it must have."""


def _damaged(why: str) -> DamagedFile:
    return DamagedFile(
        f"the file is no whole export of a campaign, because {why}: "
        f"make it again with GET /v1/campaigns/NAME/export"
    )


def _read(views: list[protocol.RecordView]) -> ExportedLog:
    configured = [one for one in views if one.type in ("created", "changed", "refit")]
    if not configured or configured[0].type != "created":
        raise _Incomplete("it does not begin with how the campaign was made")
    versions = {one.body["version"]: _config(one.body["config"]) for one in configured}
    config = versions[max(versions)]
    index = _Index(
        {name: number for number, name in enumerate(config.actions)},
        {name: number for number, name in enumerate(config.signals)},
        len(config.stages) - 1,
    )
    decided = {one.body["decision_id"]: one for one in views if one.type == "decision"}
    feedback: dict[str, list[Record]] = {name: [] for name in decided}
    for one in views:
        about = one.body.get("decision_id", "")
        if about in decided and one.type in ("signal", "reward", "void"):
            number = int(decided[about].seq)
            feedback[about].append(Record(int(one.seq), 1, number, _feedback(one, index)))
    decisions = [
        DecisionRecords(int(one.seq), rank, _decided(one.body, index), feedback[name])
        for rank, (name, one) in enumerate(decided.items())
    ]
    explores = {version: one.explore for version, one in versions.items()}
    return ExportedLog(config, explores, decisions, int(views[-1].seq))


def _config(fields: dict[str, Any]) -> CampaignConfig:
    stages = [[stage[name] for name in Stage.__struct_fields__] for stage in fields["stages"]]
    known = fields | {"stages": stages, "seed": 0, "history": ()}
    values = [known[name] for name in CampaignConfig.__struct_fields__ if name in known]
    return msgspec.convert(values, CampaignConfig)


def _decided(body: dict[str, Any], index: _Index) -> Decided:
    mask = np.zeros(len(index.actions), np.bool_)
    mask[[index.actions[name] for name in body["eligible"]]] = True
    return Decided(
        config=body["config"],
        action=index.actions[body["action"]],
        propensity=float(body["propensity"]),
        mode_index=MODES.index(body["mode"]),
        eligible=np.packbits(mask).tobytes(),
        nonce=0,
        state=int(body["state"]),
        first=int(body.get("first", 0)),
    )


def _feedback(view: protocol.RecordView, index: _Index) -> Feedback:
    body, stage, value, verb = view.body, index.reward_stage, 0.0, OBSERVED
    if view.type == "void":
        verb = VOID
    elif view.type == "signal":
        stage, value = 0, float(index.signals[body["signal"]])
    else:
        value = float(body.get("value", 0.0))
        verb = OBSERVED if body["kind"] == "reward" else FEEDBACK_VERBS.index(body["kind"])
    occurred = body.get("occurred_at")
    return Feedback(
        config=body["config"],
        event_id=body["event_id"],
        stage=stage,
        verb_index=verb,
        value=value,
        target=body.get("target"),
        occurred=None if occurred is None else parse_timestamp(occurred),
    )

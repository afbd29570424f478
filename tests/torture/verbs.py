"""What the load asks of a server, as plain data: the same over a socket and in one process."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine import Engine
from foretell.service.log.errors import Damaged, LogClosed, NoRoom, storage_error
from foretell.service.model.errors import RequestProblem

Body = dict[str, Any]
REPORTS: dict[str, Any] = {
    "signal": protocol.SignalReport,
    "reward": protocol.RewardReport,
    "void": protocol.VoidReport,
}
"""What is sent with each kind of feedback."""


STATUS: dict[str, protocol.CampaignStatus] = {"start": "running", "pause": "paused"}
"""What a campaign is after each of these."""

KINDS = (
    *("decide", "signal", "reward", "adjust", "retract", "void", "batch"),
    *("policy", "signal_window", "reward_window", "explore", "add_action", "add_signal"),
    *("paused", "active", "pause", "start", "refit", "key", "revoke", "rotate", "erase"),
    *("backup", "restore"),
)
"""All that the load does to a server; a run that is long enough does each of it."""


class NoAnswer(Exception):
    """What was sent may have been done or not."""


class Refused(Exception):
    """The server has said no."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Service(Protocol):
    """Something that can be asked."""

    async def call(self, verb: str, body: Body) -> Any:
        """Return the answer, or raise `Refused`, or `NoAnswer`."""


async def perform(engine: Engine, verb: str, body: Body) -> Any:  # noqa: C901, PLR0911, PLR0912
    """Ask an engine."""
    match verb:
        case "decide":
            answer, new = await engine.decide(
                body["campaign"], _read(body["ask"], protocol.DecisionRequest)
            )
            return {"decision_id": answer.decision_id, "action": answer.action, "new": new}
        case "signal" | "reward" | "void":
            report = _read(body["report"], REPORTS[verb])
            return (await engine.feedback(body["id"], report)).status
        case "batch":
            raw = [msgspec.Raw(msgspec.json.encode(event)) for event in body["events"]]
            return [receipt.status for receipt in await engine.batch(raw)]
        case "create":
            await engine.create(_read(body, protocol.NewCampaign))
        case "add_action":
            await engine.add_action(body["campaign"], protocol.NewAction(body["action"]))
        case "set_action":
            status = protocol.ActionPatch(body["status"])
            await engine.patch_action(body["campaign"], body["action"], status)
        case "status":
            await engine.set_status(body["campaign"], STATUS[body["status"]])
        case "refit":
            await engine.refit(body["campaign"])
        case "patch" | "add_signal":
            await engine.patch(body["campaign"], _read(body["patch"], protocol.CampaignPatch))
        case "key":
            return (await engine.make_key(protocol.NewKey(body["name"], ["read"]))).id
        case "revoke":
            await engine.revoke_key(body["id"])
        case "rotate":
            await engine.rotate()
        case "backup":
            await engine.backup(body["target"])
        case "restore":
            await engine.restore(body["copy"])
        case "campaign":
            return msgspec.to_builtins(engine.campaign(body["campaign"]))
        case "erase":
            await engine.erase(body["campaign"], body["unit"])
        case "report":
            return msgspec.to_builtins(await engine.report(body["campaign"]))
        case _:
            raise ValueError(verb)
    return None


def kind_of(verb: str, body: Body) -> str:
    """Return which of `KINDS` something is; "create" is none of them."""
    if verb == "reward":
        return str(body["report"].get("kind", "reward"))
    if verb == "patch":
        (verb,) = body["patch"]
    return str(body["status"]) if verb in {"status", "set_action"} else verb


def status_of(error: ForetellError) -> int:
    """Return the status with which an error is answered over HTTP."""
    if isinstance(error, RequestProblem):
        return error.status
    if isinstance(error, LogClosed):
        return 503
    if isinstance(error, NoRoom):
        return 507
    return 500 if isinstance(error, Damaged) else 422


def _read(body: Body, kind: Any) -> Any:
    return msgspec.convert(body, kind)


class Within:
    """An engine in this process, asked as if it were a server."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def call(self, verb: str, body: Body) -> Any:
        try:
            return await perform(self.engine, verb, body)
        except ForetellError as error:
            raise Refused(status_of(error), str(error)) from None
        except OSError as error:  # of a file next to the log: a server says so in the same words
            reason = storage_error(error)
            if reason is None:
                raise
            raise Refused(status_of(reason), str(reason)) from None

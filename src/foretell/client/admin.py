"""What an operator asks of a running service: its campaigns and keys, a backup, a restore.

The answers are those of `foretell.protocol`, the same structs that the service writes. Nothing that
changes something is tried twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import NoneType
from typing import IO, Any

from foretell.client import calls
from foretell.client.address import ServiceAddress
from foretell.client.calls import ApiCall, Body, read
from foretell.client.errors import ServiceUnavailable
from foretell.client.history_parts import AnyRow, history_parts
from foretell.client.transport import SyncTransport
from foretell.protocol import (
    ActionStatus,
    CampaignList,
    CampaignReport,
    CampaignView,
    EvaluationView,
    HistoryPart,
    ImportView,
    KeyList,
    KeyView,
    MadeKey,
    NewKey,
    Restored,
    Rotated,
    SecretList,
    SecretView,
)
from foretell.protocol.fields import SQLITE_MEDIA_TYPE

ADMIN_TIMEOUT = 60.0
"""Seconds that a request may take; a backup and a restore may take so many without a byte."""
SQLITE_HEADER = b"SQLite format 3\0"
"""How every database begins."""


class AdminCalls(ABC):
    """What an operator asks for, in a client that blocks."""

    def campaigns(self) -> list[CampaignView]:
        """Return every campaign that is not hidden."""
        return self._ask(ApiCall("GET", "/v1/campaigns"), CampaignList).campaigns

    def campaign(self, campaign: str) -> CampaignView:
        """Return a campaign as it is set."""
        return self._ask(ApiCall("GET", calls.campaign_path(campaign)), CampaignView)

    def create_campaign(self, **fields: Any) -> CampaignView:
        """Make a campaign from at least `name`, `actions` and `signals`; return it as it is set."""
        return self._ask(calls.new_campaign_call(fields), CampaignView)

    def patch_campaign(
        self, campaign: str, *, version: int | None = None, **fields: Any
    ) -> CampaignView:
        """Change fields of a campaign, only if it has a `version` where one is given."""
        return self._ask(calls.patch_call(campaign, fields, version), CampaignView)

    def start_campaign(self, campaign: str) -> CampaignView:
        """Start a campaign, or let it go on."""
        return self._ask(calls.status_call(campaign, "start"), CampaignView)

    def pause_campaign(self, campaign: str) -> CampaignView:
        """Pause a campaign: it decides nothing and takes feedback."""
        return self._ask(calls.status_call(campaign, "pause"), CampaignView)

    def stop_campaign(self, campaign: str) -> CampaignView:
        """Stop a campaign for good: it decides nothing and takes feedback."""
        return self._ask(calls.status_call(campaign, "stop"), CampaignView)

    def hide_campaign(self, campaign: str) -> CampaignView:
        """Stop a campaign, and leave it out of lists; its name and its records stay."""
        return self._ask(calls.status_call(campaign, "hide"), CampaignView)

    def add_action(self, campaign: str, action: str) -> CampaignView:
        """Add an action."""
        return self._ask(calls.add_action_call(campaign, action), CampaignView)

    def set_action(self, campaign: str, action: str, status: ActionStatus) -> CampaignView:
        """Pause an action, let it go on ("active"), or retire it for good."""
        return self._ask(calls.set_action_call(campaign, action, status), CampaignView)

    def report(self, campaign: str) -> CampaignReport:
        """Return the report of a campaign."""
        return self._ask(calls.report_call(campaign), CampaignReport)

    def evaluate(self, campaign: str, policy: str) -> EvaluationView:
        """Begin to find out what another policy would have earned; return it as it is now."""
        return self._ask(calls.evaluate_call(campaign, policy), EvaluationView)

    def evaluation(self, campaign: str, evaluation: str) -> EvaluationView:
        """Return an evaluation, as far as it has come, or with its `result`."""
        return self._ask(calls.evaluation_call(campaign, evaluation), EvaluationView)

    def import_history(
        self,
        campaign: str,
        rows: Iterable[AnyRow],
        *,
        id: str | None = None,  # noqa: A002  (as in the API)
    ) -> ImportView:
        """Warm-start a campaign from the rows of an earlier log; return how far it is.

        The same call can be made again, and goes on where it was broken off.
        """
        for part in history_parts(rows, id):
            view = self._ask(calls.import_call(campaign, part), ImportView)
        return view

    def keys(self) -> list[KeyView]:
        """Return the valid keys, without their secrets."""
        return self._ask(ApiCall("GET", "/v1/keys"), KeyList).keys

    def make_key(self, new: NewKey) -> MadeKey:
        """Make a key, and return it with its secret, which nobody can read again."""
        return self._ask(calls.make_key_call(new), MadeKey)

    def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""
        self._ask(calls.revoke_key_call(key_id), NoneType)

    @abstractmethod
    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        """Send a call, and return its answer or raise why there is none."""


class AsyncAdminCalls(ABC):
    """What an operator asks for, in a client that is awaited."""

    async def campaigns(self) -> list[CampaignView]:
        """Return every campaign that is not hidden."""
        return (await self._ask(ApiCall("GET", "/v1/campaigns"), CampaignList)).campaigns

    async def campaign(self, campaign: str) -> CampaignView:
        """Return a campaign as it is set."""
        return await self._ask(ApiCall("GET", calls.campaign_path(campaign)), CampaignView)

    async def create_campaign(self, **fields: Any) -> CampaignView:
        """Make a campaign from at least `name`, `actions` and `signals`; return it as it is set."""
        return await self._ask(calls.new_campaign_call(fields), CampaignView)

    async def patch_campaign(
        self, campaign: str, *, version: int | None = None, **fields: Any
    ) -> CampaignView:
        """Change fields of a campaign, only if it has a `version` where one is given."""
        return await self._ask(calls.patch_call(campaign, fields, version), CampaignView)

    async def start_campaign(self, campaign: str) -> CampaignView:
        """Start a campaign, or let it go on."""
        return await self._ask(calls.status_call(campaign, "start"), CampaignView)

    async def pause_campaign(self, campaign: str) -> CampaignView:
        """Pause a campaign: it decides nothing and takes feedback."""
        return await self._ask(calls.status_call(campaign, "pause"), CampaignView)

    async def stop_campaign(self, campaign: str) -> CampaignView:
        """Stop a campaign for good: it decides nothing and takes feedback."""
        return await self._ask(calls.status_call(campaign, "stop"), CampaignView)

    async def hide_campaign(self, campaign: str) -> CampaignView:
        """Stop a campaign, and leave it out of lists; its name and its records stay."""
        return await self._ask(calls.status_call(campaign, "hide"), CampaignView)

    async def add_action(self, campaign: str, action: str) -> CampaignView:
        """Add an action."""
        return await self._ask(calls.add_action_call(campaign, action), CampaignView)

    async def set_action(self, campaign: str, action: str, status: ActionStatus) -> CampaignView:
        """Pause an action, let it go on ("active"), or retire it for good."""
        return await self._ask(calls.set_action_call(campaign, action, status), CampaignView)

    async def report(self, campaign: str) -> CampaignReport:
        """Return the report of a campaign."""
        return await self._ask(calls.report_call(campaign), CampaignReport)

    async def evaluate(self, campaign: str, policy: str) -> EvaluationView:
        """Begin to find out what another policy would have earned; return it as it is now."""
        return await self._ask(calls.evaluate_call(campaign, policy), EvaluationView)

    async def evaluation(self, campaign: str, evaluation: str) -> EvaluationView:
        """Return an evaluation, as far as it has come, or with its `result`."""
        return await self._ask(calls.evaluation_call(campaign, evaluation), EvaluationView)

    async def import_history(
        self,
        campaign: str,
        rows: Iterable[AnyRow],
        *,
        id: str | None = None,  # noqa: A002  (as in the API)
    ) -> ImportView:
        """Warm-start a campaign from the rows of an earlier log; return how far it is.

        The same call can be made again, and goes on where it was broken off.
        """
        for part in history_parts(rows, id):
            view = await self._ask(calls.import_call(campaign, part), ImportView)
        return view

    async def keys(self) -> list[KeyView]:
        """Return the valid keys, without their secrets."""
        return (await self._ask(ApiCall("GET", "/v1/keys"), KeyList)).keys

    async def make_key(self, new: NewKey) -> MadeKey:
        """Make a key, and return it with its secret, which nobody can read again."""
        return await self._ask(calls.make_key_call(new), MadeKey)

    async def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""
        await self._ask(calls.revoke_key_call(key_id), NoneType)

    @abstractmethod
    async def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        """Send a call, and return its answer or raise why there is none."""


class AdminClient(AdminCalls):
    """Asks a running service what only an admin key may ask, and takes the time that it needs."""

    def __init__(self, url: str, key: str | None) -> None:
        """Check the address and the key; nothing is sent yet."""
        self._transport = SyncTransport(ServiceAddress.of(url, key))

    def import_part(self, campaign: str, part: HistoryPart) -> ImportView:
        """Import one part of an earlier log, which can be sent again."""
        return self._ask(calls.import_call(campaign, part), ImportView)

    def rotate(self) -> Rotated:
        """Sign decision ids with a new secret from now on."""
        return self._ask(ApiCall("POST", "/v1/secrets"), Rotated)

    def secrets(self) -> list[SecretView]:
        """Return the secrets that sign decision ids, without the secrets themselves."""
        return self._ask(ApiCall("GET", "/v1/secrets"), SecretList).secrets

    def retire_secret(self, number: int, *, with_ids: bool) -> SecretView:
        """Let a secret sign no more; `with_ids`: and let no id be valid that it has signed."""
        query = "?with_ids=true" if with_ids else ""
        return self._ask(ApiCall("DELETE", f"/v1/secrets/{number}{query}"), SecretView)

    def backup(self, file: IO[bytes]) -> None:
        """Write a copy of the database to a file, part by part."""
        call = ApiCall("GET", "/v1/backup", headers={"Accept": SQLITE_MEDIA_TYPE})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            if reply.status != 200:
                read(reply.read(), NoneType)
            no_database = ServiceUnavailable("the service answered with no database", reply.status)
            if reply.content_type != SQLITE_MEDIA_TYPE or not reply.has_length:
                raise no_database
            begins = b""
            for part in reply.parts():
                begins = (begins + part)[: len(SQLITE_HEADER)]
                if not SQLITE_HEADER.startswith(begins):
                    raise no_database
                file.write(part)
            if begins != SQLITE_HEADER:
                raise no_database

    def restore(self, file: IO[bytes]) -> str:
        """Put a copy in place of the database; return the head of its log."""
        call = ApiCall("POST", "/v1/restore", file, {"Content-Type": SQLITE_MEDIA_TYPE})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            return read(reply.read(), Restored).head

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        return read(self._transport.send(call, ADMIN_TIMEOUT), kind)

"""What an operator asks of a running service: its campaigns and keys, a backup, a restore.

The answers are those of `foretell.protocol`, the same structs that the service writes. Nothing that
changes something is tried twice. What a client that only decides does not need is imported late.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import NoneType
from typing import IO, TYPE_CHECKING, Any

from foretell import protocol
from foretell.client import calls
from foretell.client.address import ServiceAddress
from foretell.client.calls import ApiCall, Body, read
from foretell.client.errors import ServiceUnavailable
from foretell.protocol.fields import COPY_BEGINNING, COPY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretell.client.history_parts import AnyRow

ADMIN_TIMEOUT = 60.0
"""Seconds that a request may take; a backup and a restore may take so many without a byte."""


class AdminCalls(ABC):
    """What an operator asks for, in a client that blocks."""

    def campaigns(self) -> list[protocol.CampaignView]:
        """Return every campaign that is not hidden."""
        return self._ask(ApiCall("GET", "/v1/campaigns"), protocol.CampaignList).campaigns

    def campaign(self, campaign: str) -> protocol.CampaignView:
        """Return a campaign as it is set."""
        return self._ask(ApiCall("GET", calls.campaign_path(campaign)), protocol.CampaignView)

    def create_campaign(self, **fields: Any) -> protocol.CampaignView:
        """Make a campaign from at least `name`, `actions` and `signals`; return it as it is set."""
        return self._ask(calls.new_campaign_call(fields), protocol.CampaignView)

    def patch_campaign(
        self, campaign: str, *, version: int | None = None, **fields: Any
    ) -> protocol.CampaignView:
        """Change fields of a campaign, only if it has a `version` where one is given."""
        return self._ask(calls.patch_call(campaign, fields, version), protocol.CampaignView)

    def start_campaign(self, campaign: str) -> protocol.CampaignView:
        """Start a campaign, or let it go on."""
        return self._ask(calls.status_call(campaign, "start"), protocol.CampaignView)

    def pause_campaign(self, campaign: str) -> protocol.CampaignView:
        """Pause a campaign: it decides nothing and takes feedback."""
        return self._ask(calls.status_call(campaign, "pause"), protocol.CampaignView)

    def stop_campaign(self, campaign: str) -> protocol.CampaignView:
        """Stop a campaign for good: it decides nothing and takes feedback."""
        return self._ask(calls.status_call(campaign, "stop"), protocol.CampaignView)

    def hide_campaign(self, campaign: str) -> protocol.CampaignView:
        """Stop a campaign, and leave it out of lists; its name and its records stay."""
        return self._ask(calls.status_call(campaign, "hide"), protocol.CampaignView)

    def add_action(self, campaign: str, action: str) -> protocol.CampaignView:
        """Add an action."""
        return self._ask(calls.add_action_call(campaign, action), protocol.CampaignView)

    def set_action(
        self, campaign: str, action: str, status: protocol.ActionStatus
    ) -> protocol.CampaignView:
        """Pause an action, let it go on ("active"), or retire it for good."""
        return self._ask(calls.set_action_call(campaign, action, status), protocol.CampaignView)

    def report(self, campaign: str) -> protocol.CampaignReport:
        """Return the report of a campaign."""
        return self._ask(calls.report_call(campaign), protocol.CampaignReport)

    def evaluate(self, campaign: str, policy: str) -> protocol.EvaluationView:
        """Begin to find out what another policy would have earned; return it as it is now."""
        return self._ask(calls.evaluate_call(campaign, policy), protocol.EvaluationView)

    def evaluation(self, campaign: str, evaluation: str) -> protocol.EvaluationView:
        """Return an evaluation, as far as it has come, or with its `result`."""
        return self._ask(calls.evaluation_call(campaign, evaluation), protocol.EvaluationView)

    def import_history(
        self,
        campaign: str,
        rows: Iterable[AnyRow],
        *,
        id: str | None = None,  # noqa: A002  (as in the API)
    ) -> protocol.ImportView:
        """Warm-start a campaign from the rows of an earlier log; return how far it is.

        The same call can be made again, and goes on where it was broken off.
        """
        from foretell.client.history_parts import history_parts

        for part in history_parts(rows, id):
            view = self._ask(calls.import_call(campaign, part), protocol.ImportView)
        return view

    def keys(self) -> list[protocol.KeyView]:
        """Return the valid keys, without their secrets."""
        return self._ask(ApiCall("GET", "/v1/keys"), protocol.KeyList).keys

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key, and return it with its secret, which nobody can read again."""
        return self._ask(calls.make_key_call(new), protocol.MadeKey)

    def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""
        self._ask(calls.revoke_key_call(key_id), NoneType)

    @abstractmethod
    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        """Send a call, and return its answer or raise why there is none."""


class AdminClient(AdminCalls):
    """Asks a running service what only an admin key may ask, and takes the time that it needs."""

    def __init__(self, url: str, key: str | None) -> None:
        """Check the address and the key; nothing is sent yet."""
        from foretell.client.transport import SyncTransport

        self._transport = SyncTransport(ServiceAddress.of(url, key))

    def import_part(self, campaign: str, part: protocol.HistoryPart) -> protocol.ImportView:
        """Import one part of an earlier log, which can be sent again."""
        return self._ask(calls.import_call(campaign, part), protocol.ImportView)

    def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on."""
        return self._ask(ApiCall("POST", "/v1/secrets"), protocol.Rotated)

    def secrets(self) -> list[protocol.SecretView]:
        """Return the secrets that sign decision ids, without the secrets themselves."""
        return self._ask(ApiCall("GET", "/v1/secrets"), protocol.SecretList).secrets

    def retire_secret(self, number: int, *, with_ids: bool) -> protocol.SecretView:
        """Let a secret sign no more; `with_ids`: and let no id be valid that it has signed."""
        query = "?with_ids=true" if with_ids else ""
        return self._ask(ApiCall("DELETE", f"/v1/secrets/{number}{query}"), protocol.SecretView)

    def backup(self, file: IO[bytes]) -> None:
        """Write a copy of the log to a file, part by part; of which kind depends on the service."""
        kinds = {kind.media_type: kind for kind in COPY_KINDS}
        call = ApiCall("GET", "/v1/backup", headers={"Accept": ", ".join(kinds)})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            if reply.status != 200:
                read(reply.read(), NoneType)
            no_database = ServiceUnavailable("the service answered with no database", reply.status)
            kind = kinds.get(reply.content_type)
            if kind is None or not reply.has_length:
                raise no_database
            begins = b""
            for part in reply.parts():
                begins = (begins + part)[:COPY_BEGINNING]
                if not kind.may_begin(begins):
                    raise no_database
                file.write(part)
            if not kind.begins(begins):
                raise no_database

    def restore(self, file: IO[bytes]) -> str:
        """Put a copy in place of the database; return the head of its log."""
        call = ApiCall("POST", "/v1/restore", file, {"Content-Type": "application/octet-stream"})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            return read(reply.read(), protocol.Restored).head

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        return read(self._transport.send(call, ADMIN_TIMEOUT), kind)

"""`foretell import`: a campaign is warm-started from an earlier log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from foretell.cli.output import print_table
from foretell.cli.target import admin_client, serve_extra, service_options, service_url
from foretell.errors import ForetellError, InvalidInput
from foretell.progress import progress_bar
from foretell.protocol.warm_start import MAX_IMPORTED

if TYPE_CHECKING:
    from foretell.cli.history_file import HistoryFile
    from foretell.client.admin import AdminClient
    from foretell.protocol import CampaignView, HistoryPart, ImportView

POLL_SECONDS = 0.2
"""Seconds between two looks at how far the policy has read."""
PERCENT = 100


@click.command("import")
@click.argument("file", type=click.Path())
@click.option("--campaign", required=True, help="The campaign to warm-start.")
@click.option("--id", "history", help="What to call the history; by default a digest of it.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and send nothing.")
@service_options
def import_history(
    file: str,
    campaign: str,
    history: str | None,
    dry_run: bool,  # noqa: FBT001  click passes it
    url: str | None,
    key: str | None,
) -> None:
    """Warm-start a campaign from FILE, an earlier log.

    FILE is CSV, JSON lines or Parquet with the columns action and signal, and where they are known
    reward, decided_at (RFC 3339; else the order of the rows counts) and propensity; or an export of
    another campaign. Nothing is sent unless every row can be used. The same command goes on with an
    import that was broken off.
    """
    from foretell.cli.history_file import read_history
    from foretell.client.history_parts import history_parts

    with serve_extra():
        found = read_history(file)
    with admin_client(service_url(url), key) as service:
        parts = history_parts(found.rows, history)
        _check_rows(found, service.campaign(campaign), service.report(campaign).log.as_of)
        _check_size(parts, service.campaign(campaign))
        if dry_run:
            _show(found, parts[0].id)
            return
        view = _send(service, campaign, parts, len(found.rows))
        view = _wait(service, campaign, view)
    click.echo(
        f"{_decisions(view.decisions)}, {view.rewards:,} of them with a reward, "
        f"{'is' if view.decisions == 1 else 'are'} in force in "
        f"{campaign}, as the history {view.id}.{_left_out(found)}"
    )


def _check_rows(found: HistoryFile, view: CampaignView, as_of: str) -> None:
    """Refuse a file with a row that the campaign cannot use, and name that row.

    The clock of a test server may be ahead of ours, and its log says so by `as_of`.
    """
    from foretell.service.model.checks.history_checks import RowRules, checked_rows
    from foretell.service.model.timestamps import parse_timestamp

    actions = [one.action for one in view.actions]
    present = max(time.time_ns() // 1000, parse_timestamp(as_of) or 0)
    rules = RowRules.of(actions, view.signals, view.reward_range, present)
    checked_rows(found.rows, rules, found.names.__getitem__)


def _check_size(parts: Sequence[HistoryPart], view: CampaignView) -> None:
    """Refuse a history that the campaign has no room for, before a part of it is there for ever."""
    others = sum(one.decisions for one in view.history if one.id != parts[0].id)
    rows = sum(len(part.rows) for part in parts)
    if others + rows > MAX_IMPORTED:
        raise InvalidInput(
            f"the campaign {view.name!r} has {others:,} decisions from earlier logs and takes at "
            f"most {MAX_IMPORTED:,}, got {rows:,} more: import the latest ones alone"
        )


def _send(
    service: AdminClient, campaign: str, parts: Sequence[HistoryPart], rows: int
) -> ImportView:
    with progress_bar("sending", rows) as advance:
        for part in parts:
            view = service.import_part(campaign, part)
            advance(len(part.rows))
    return view


def _wait(service: AdminClient, campaign: str, view: ImportView) -> ImportView:
    """Wait until the policy has read the history; the server goes on if nobody waits."""
    done = 0
    with progress_bar("the policy reads it", PERCENT) as advance:
        while view.status != "in force":
            if view.detail:
                raise ForetellError(f"the history {view.id} is not in force: {view.detail}")
            time.sleep(POLL_SECONDS)
            known = {one.id: one for one in service.campaign(campaign).history}
            view = known.get(view.id, view)
            advance(round(PERCENT * view.progress) - done)
            done = round(PERCENT * view.progress)
    return view


def _decisions(count: int) -> str:
    return f"{count:,} decision{'s' * (count != 1)}"


def _left_out(found: HistoryFile) -> str:
    return f" {found.left_out:,} more are open or were never shown." if found.left_out else ""


def _show(found: HistoryFile, history: str) -> None:
    rewards: dict[tuple[str, str], list[float | None]] = {}
    for row in found.rows:
        rewards.setdefault((row.action, row.signal), []).append(row.reward)
    rows = []
    for (action, signal), values in sorted(rewards.items()):
        known = [value for value in values if value is not None]
        mean = f"{sum(known) / len(known):.4g}" if known else "–"
        rows.append((action, signal, len(values), len(known), mean))
    columns = ("action", "signal", "decisions", "with a reward", "mean reward")
    print_table(f"The history {history}", columns, rows, as_json=False)
    click.echo(f"\n{_decisions(len(found.rows))}; nothing was sent.{_left_out(found)}")

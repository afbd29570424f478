"""`foretell evaluate`: what another policy would have earned on an exported log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from foretell.cli.output import print_table

if TYPE_CHECKING:
    from foretell.protocol import EvaluationResult, Interval

STEP = 256
"""Decisions that are replayed between two moves of the progress bar."""


@click.command()
@click.argument("export", type=click.Path())
@click.option("--policy", required=True, help="The policy to evaluate; see foretell policies.")
@click.option(
    "--as-of",
    default=None,
    help="Until when windows have closed, as RFC 3339; by default the time of the last record.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def evaluate(
    export: str,
    policy: str,
    as_of: str | None,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Estimate what another policy would have earned on EXPORT, a campaign's exported log.

    EXPORT is what GET /v1/campaigns/NAME/export gives, as NDJSON or Parquet. The campaign must have
    explored (explore above 0) or held out: else the log says nothing about what was not played.
    """
    result = evaluate_file(export, policy, as_of)
    if as_json:
        import msgspec

        click.echo(json.dumps(msgspec.to_builtins(result), indent=2))
        return
    _show(policy, result)


def evaluate_file(export: str, policy: str, as_of: str | None) -> EvaluationResult:
    """Evaluate a policy on an exported log."""
    from foretell.cli.export_file import read_records
    from foretell.errors import InvalidInput
    from foretell.evaluation.evaluate import EvaluationRun
    from foretell.progress import progress_bar
    from foretell.service.model.delivered import campaign_problem
    from foretell.service.model.events import SLOTS, stamp
    from foretell.service.model.live_policies import spec_in_place
    from foretell.service.model.timestamps import parse_timestamp
    from foretell.service.reports.decision_log import DecisionLogBuilder
    from foretell.service.reports.evaluation import evaluation_result
    from foretell.service.reports.export_reader import read_export
    from foretell.sim.replayer import replayer
    from foretell.types import RewardScale

    moment = None if as_of is None else parse_timestamp(as_of)
    if as_of is not None and moment is None:
        raise InvalidInput(
            f"--as-of must be a time such as 2026-11-17T08:00:00Z, got {as_of!r}: "
            f"write it so, with its time zone"
        )
    found = read_export(read_records(export))
    position = found.last + 1 if moment is None else stamp(moment) + SLOTS - 1
    builder = DecisionLogBuilder(found.config, found.explores, position)
    for records in found.decisions:
        if records.number < position:
            builder.add(records)
    log, spec = builder.build(), spec_in_place(found.config, policy)
    problem = campaign_problem(found.config)
    run = EvaluationRun(spec, log, problem, replayer(log.decisions))
    with progress_bar(f"evaluating {spec.name}", run.steps) as advance:
        while done := run.step(STEP):
            advance(done)
    scale = RewardScale("bounded", *found.config.reward_range)
    return evaluation_result(str(spec), run.result(), scale, builder.voided)


def _show(policy: str, result: EvaluationResult) -> None:
    values = [(policy, result.value)]
    if result.without_signal is not None:
        values.append((f"{policy}, without the signal", result.without_signal))
    rows = [("earned", "the mean reward", *_cells(result.earned), "")]
    for name, value in values:
        effective = f"{value.effective_decisions:,.0f}"
        for how in ("doubly_robust", "self_normalised", "inverse_propensity", "gain"):
            words = "more than was earned" if how == "gain" else how.replace("_", " ")
            rows.append((name, words, *_cells(getattr(value, how)), effective))
    click.echo(result.sentence + "\n")
    columns = ("policy", "estimate", "mean", "95 % from", "to", "effective decisions")
    print_table("Reward per decision", columns, rows, as_json=False)
    click.echo(
        f"\n{result.decisions:,} decisions, of which {result.settled:,} are settled and "
        f"{result.counted:,} count, because every action had a chance; "
        f"{result.voided:,} more were never shown."
    )


def _cells(interval: Interval) -> tuple[str, str, str]:
    ends = (interval.mean, interval.low, interval.high)
    mean, low, high = ("–" if one is None else f"{one:.4g}" for one in ends)
    return mean, low, high

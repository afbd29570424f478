"""What another policy would have earned: the same from the service as from an export of its log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from foretell import protocol
from foretell.cli.evaluate import evaluate_file
from foretell.errors import DamagedFile
from foretell.service.engine import evaluations
from foretell.service.http.export import _write_parquet
from foretell.service.http.responses import encode
from foretell.service.model.errors import Conflict, NotFound, Unusable
from tests.service.engine_driver import Served


def run_campaign(served: Served, rounds: int = 120, **fields: Any) -> None:
    """Decide with exploration, holdout, voids, repeats, corrections and late feedback."""
    given = {"signal_window": 1.0, "reward_window": 5.0, "explore": 0.3, "holdout": 0.1}
    served.create(**({"actions": ["a", "b", "c"], "policy": "nsd-ucrl2"} | given | fields))
    rng = np.random.default_rng(3)
    for t in range(rounds):
        one = served.decide(unit=f"u{t % 50}")
        good = rng.random() < {"a": 0.2, "b": 0.8, "c": 0.5}[one.action]
        if good:
            served.signal(one.decision_id, "buy", f"s{t}")
        if t % 7 == 0:
            served.pass_time(6.0)  # what comes now is late
        if good and rng.random() < 0.7:
            served.reward(one.decision_id, 1.0, f"r{t}")
        if t % 20 == 0:
            served.void(one.decision_id, f"v{t}")
        if t % 11 == 0 and good:
            served.reward(one.decision_id, 0.5, f"a{t}", kind="adjust", target=f"r{t}")
        served.pass_time(0.3)


async def finished(served: Served, policy: str) -> protocol.EvaluationView:
    begun = await served.engine.evaluate("c", protocol.NewEvaluation(policy))
    await asyncio.gather(*served.engine.jobs.under_way)
    return served.engine.evaluation("c", begun.id)


def evaluate(served: Served, policy: str) -> protocol.EvaluationView:
    return served.run(finished(served, policy))


async def write_export(served: Served, path: Path, *, parquet: bool) -> None:
    log = served.engine.export("c")
    if parquet:
        await _write_parquet(log, path)
    else:
        lines = [encode(one) + b"\n" async for one in log]
        await asyncio.to_thread(path.write_bytes, b"".join(lines))


@pytest.mark.parametrize("fields", [{}, {"sticky": True}, {"reward_silence": "unknown"}])
def test_service_and_export_give_the_same_numbers(tmp_path: Path, fields: Any) -> None:
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, **fields)
        found = evaluate(served, "ucb")
        assert (found.status, found.progress, found.detail) == ("done", 1.0, "")
        for parquet in (False, True):
            path = tmp_path / f"log.{'parquet' if parquet else 'ndjson'}"
            served.run(write_export(served, path, parquet=parquet))
            assert evaluate_file(str(path), "ucb", found.as_of) == found.result
        result = found.result
        assert result is not None
        assert 0 < result.counted <= result.settled <= result.decisions
        assert result.decisions + result.voided == 120
        assert result.voided == 6
        assert result.without_signal is None


def test_a_policy_that_uses_signals_is_also_evaluated_without_them(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served)
        result = evaluate(served, "nsd-ucrl2").result
        assert result is not None
        assert result.without_signal is not None
        assert "without the signal" in result.sentence
        assert result.value.effective_decisions <= result.counted


def test_a_campaign_that_never_explored_is_refused(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, 10, explore=0.0, holdout=0.0)
        with pytest.raises(Conflict, match="set explore to a share"):
            evaluate(served, "ucb")
        served.patch(explore=0.2)
        early = evaluate(served, "ucb")
        assert early.status == "failed"
        assert "set explore to a share" in early.detail


def test_what_cannot_be_evaluated_is_said_in_a_sentence(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, 3)
        with pytest.raises(Unusable, match="there is no policy 'ubc'"):
            evaluate(served, "ubc")
        with pytest.raises(NotFound, match="there is no evaluation 'x'"):
            served.engine.evaluation("c", "x")
        with pytest.raises(NotFound, match="there is no campaign"):
            served.engine.evaluations("other")


def test_so_many_run_at_once_and_none_survives_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "MAX_AT_ONCE", 1)
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, 60)

        async def two() -> None:
            new = protocol.NewEvaluation("ucb")
            begun = await served.engine.evaluate("c", new)
            with pytest.raises(Conflict, match="1 evaluations are under way"):
                await served.engine.evaluate("c", new)
            assert [one.id for one in served.engine.evaluations("c").evaluations] == [begun.id]

        served.run(two())
        served.restart()
        assert served.engine.evaluations("c").evaluations == []
        assert evaluate(served, "ucb").status == "done"


def test_a_file_that_is_no_export_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_text("hello\n", "utf-8")
    with pytest.raises(DamagedFile, match="line 1 of"):
        evaluate_file(str(path), "ucb", None)
    view = protocol.RecordView("1", "2026-01-01T00:00:00Z", "decision", {})
    path.write_bytes(msgspec.json.encode(view) + b"\n")
    with pytest.raises(DamagedFile, match="no whole export"):
        evaluate_file(str(path), "ucb", None)

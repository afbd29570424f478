"""The promise: a server's regret is the lab's, and that of one that ignores signals is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foretell.cli.traffic import simulate_traffic
from foretell.protocol import FeedbackItem, Silence
from foretell.traffic import service
from foretell.traffic.faults import Faults
from foretell.traffic.plan import make_plan
from tests.service.server_process import KEY, Server
from tests.traffic.engine_service import engine_service
from tests.traffic.scripted import driven

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.minutes]

POLICY = "nsd-kl(window=100)"
"""Of the policies here, the one whose regret varies least: the margins of the test are wide."""
HttpService = service.HttpService


class Deaf(HttpService):
    """No signal gets through: what a server that ignores them knows."""

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        heard = [event for event in events if event.signal is None]
        statuses = iter(await super().report(heard) if heard else [])
        return ["accepted" if event.signal else next(statuses) for event in events]


class RewardsOnly(HttpService):
    """The server learns, but from rewards alone."""

    async def create(self, campaign: dict[str, Any]) -> None:
        await super().create(campaign | {"policy": "ucb"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--time-scale", "1000") as started:
        yield started


def traffic(server: Server, *arguments: str) -> Result:
    fixed = ("--url", server.url, "--key", KEY, "--scenario", "all-change", "--policy", POLICY)
    return CliRunner().invoke(simulate_traffic, [*fixed, "--horizon", "500", "--json", *arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--silence", "unknown", "--horizon", "300"),
        ("--silence", "default", "--rate", "10", "--parallel", "20"),
    ],
    ids=["unknown", "default"],
)
def test_over_20_paired_runs_the_regret_is_that_of_the_lab(
    server: Server, arguments: tuple[str, ...]
) -> None:
    done = traffic(server, *arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["runs"] == 20
    assert found["alike"]
    assert not found["miscounts"]
    assert -0.1 * found["lab"]["mean"] <= found["difference"]["low"]
    assert found["difference"]["high"] <= 0.1 * found["lab"]["mean"]
    assert found["answers"]["duplicate"] > 200
    assert found["answers"]["late"] > 50


@pytest.mark.parametrize("control", [Deaf, RewardsOnly])
def test_a_server_that_ignores_signals_is_refused(
    server: Server, control: type[HttpService], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "HttpService", control)
    done = traffic(server, "--horizon", "250", "--runs", "20")
    assert done.exit_code == 1
    assert "differs from the lab's by +" in done.stderr
    assert "does not use what it is told" in done.stderr
    found = json.loads(done.stdout)
    assert not found["alike"]
    assert found["difference"]["low"] > 0.0, "refused for its regret, not for so few runs"


@pytest.mark.parametrize("silence", ["unknown", "default"])
def test_an_engine_counts_every_event_once_whatever_goes_wrong(
    tmp_path: Path, silence: Silence
) -> None:
    plan = make_plan(
        "paper", "nsd-kl-glr", 120, None, silence, Faults(0.2, 0.1, 0.1), runs=4, seed=1
    )

    async def drive() -> list[str]:
        async with engine_service(tmp_path / "test.db", 1000.0) as engine:
            driving = await driven(plan, engine)
            return [sentence for run in driving.runs for sentence in run.miscounts]

    assert asyncio.run(drive()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--policy", "oracle-nsd"), "needs what nobody knows"),
        (("--key", "ftk_a-key-that-nobody-has-made"), "the service answered 401"),
        (("--url", "http://127.0.0.1:9"), "cannot be reached"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    server: Server, arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TRAFFIC_TIMEOUT", 0.5)
    done = traffic(server, *arguments)
    assert done.exit_code == 1
    assert sentence in str(done.exception)

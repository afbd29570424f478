"""Ctrl-C: the runs that are finished are compared."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Self

import pytest
from click.testing import CliRunner

from foretell.cli.traffic import simulate_traffic
from foretell.protocol import DecisionAnswer
from foretell.traffic import service
from tests.traffic.scripted import Scripted

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("short_probe")]


class Interrupted(Scripted):
    """Somebody presses Ctrl-C in the last run."""

    def __init__(self, url: str, key: str | None) -> None:
        super().__init__(lambda number, t: 0)

    async def decide(self, campaign: str, key: str) -> DecisionAnswer:
        if campaign.endswith("-3") and key == "round-20":
            raise KeyboardInterrupt
        return await super().decide(campaign, key)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


def test_the_finished_runs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HttpService", Interrupted)
    options = [
        "--key",
        "ftk_any",
        "--runs",
        "4",
        "--parallel",
        "1",
        "--horizon",
        "100",
        "--policy",
        "nsd-kl",
        "--json",
    ]
    done = CliRunner().invoke(simulate_traffic, options)
    assert json.loads(done.stdout)["runs"] == 3
    assert "Aborted!" in done.stderr
    assert done.exit_code == 1

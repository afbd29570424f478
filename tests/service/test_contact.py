"""Servers that have missed something: they show nothing that is out of date, and refuse no id."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.model.decision_id import Secrets
from tests.service.log.postgres.cutting_proxy import CuttingProxy
from tests.service.log.postgres_server import QUICK, drop_database, made_database

CAMPAIGN = protocol.NewCampaign(name="c", actions=["a", "b"], signals=["click"], policy="ucb")


@pytest.fixture
def dsn() -> Iterator[str]:
    dsn = made_database(**QUICK)
    yield dsn
    drop_database(dsn)


def shown(engine: Engine) -> str | None:
    """Return the status of the campaign, None where nothing is shown."""
    try:
        engine.keys()
        engine.secrets()
        engine.campaigns()
        return engine.campaign("c").status
    except LogClosed:
        return None


def test_who_is_cut_off_shows_nothing_to_a_key_that_was_revoked_elsewhere(
    dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def law() -> None:
        async with CuttingProxy(dsn, tmp_path_factory.mktemp("p")) as proxy:
            cut = await Engine.open(await PostgresLog.open(proxy.dsn), compiled=False)
            other = await Engine.open(await PostgresLog.open(dsn), compiled=False)
            try:
                await other.create(CAMPAIGN)
                made = await other.make_key(protocol.NewKey("reader", ["read"]))
                assert cut.identify(made.key) is not None
                assert shown(cut) == "running"
                proxy.refuse(refusing=True)
                assert shown(cut) == "running", "the others wait for it"
                await other.revoke_key(made.id)
                await other.set_status("c", "paused")
                assert shown(cut) is None
                with pytest.raises(LogClosed) as closed:
                    await cut.decide("c", protocol.DecisionRequest())
                assert closed.value.action in CAMPAIGN.actions
                proxy.refuse(refusing=False)
                async with asyncio.timeout(60):
                    while (status := shown(cut)) is None:  # noqa: ASYNC110  (nothing tells of it)
                        await asyncio.sleep(0.001)
                assert (status, cut.identify(made.key)) == ("paused", None)
            finally:
                await cut.close()
                await other.close()

    asyncio.run(law())


def test_ids_stay_valid_when_the_secret_is_changed_and_a_fold_lags(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One signs with a secret that the other should know by then, and does not."""

    async def law() -> None:
        first = await Engine.open(await PostgresLog.open(dsn), compiled=False)
        late = await Engine.open(await PostgresLog.open(dsn), compiled=False)
        try:
            await first.create(CAMPAIGN)

            async def hang(*_: Any) -> None:
                await asyncio.Event().wait()

            async def at_once(*_: Any) -> float:
                return 1.5

            monkeypatch.setattr(late.fold, "_take", hang)
            monkeypatch.setattr(first.runtime.log, "seen_by_all", at_once)
            monkeypatch.setattr(first.runtime.log, "propagation_seconds", at_once)
            await asyncio.sleep(0.1)
            await first.rotate()
            await asyncio.sleep(2.0)
            asked = [await first.decide("c", protocol.DecisionRequest()) for _ in range(3)]
            ids = [answer.decision_id for answer, _ in asked]
            assert late.runtime.secrets.read(ids[0]) is None
            assert (
                await late.feedback(ids[0], protocol.SignalReport("click"))
            ).status == "accepted"
            late.runtime.secrets = first_secrets(late)
            item = msgspec.Raw(b'{"decision_id": "%s", "value": 1}' % ids[1].encode())
            assert [one.status for one in await late.batch([item])] == ["accepted"]
            late.runtime.secrets = first_secrets(late)
            late.runtime._secrets_read = 0
            answer, _ = await late.decide("c", protocol.DecisionRequest())
            assert first.runtime.secrets.read(answer.decision_id) is not None
        finally:
            await first.close()
            await late.close()

    asyncio.run(law())


def first_secrets(engine: Engine) -> Secrets:
    """Return what an engine knew before the secret was changed."""
    known, first = engine.runtime.secrets, Secrets()
    first.begin(0, known[0], known.since[0])
    return first

"""Servers that have missed something: they show nothing that is out of date, and refuse no id."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.protocol import Accepted, Draft
from foretell.service.model.decision_id import Secrets, sign_decision_id
from foretell.service.model.errors import Forbidden, NotFound
from foretell.service.model.events import (
    SERVER,
    AnyEvent,
    KeyRevoked,
    Record,
    SecretMade,
    SecretWithdrawn,
)
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
            late.runtime._secrets_read = 0
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


class Behind:
    """A server whose fold stands still while others write, which it must find out by itself."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine, self.log = engine, engine.runtime.log
        self.reads: list[int] = []
        """How many records each look at the server's records has brought."""
        configurations = self.log.configurations

        async def counted(campaign: int, after: int = 0) -> list[Record]:
            found = await configurations(campaign, after)
            self.reads.append(len(found))
            return found

        async def hang(*_: Any) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(self.log, "configurations", counted)
        monkeypatch.setattr(engine.fold, "_take", hang)

    async def write(self, event: AnyEvent, campaign: int = SERVER) -> Record:
        """Write what another server would."""
        claims = ((SERVER, b"%d" % len(self.reads)),) if campaign == SERVER else ()
        (written,) = await self.log.append([Draft(campaign, event, claims=claims)])
        assert isinstance(written, Accepted)
        return written.record

    async def decided_elsewhere(self, known: str, secret_id: int, secret: bytes) -> str:
        """Return the id of a new decision like a known one, signed by another secret."""
        token = self.engine.runtime.secrets.read(known)
        assert token is not None
        (found,) = await self.log.decisions(token.campaign, [token.number])
        record = await self.write(msgspec.structs.replace(found.decided, nonce=77), token.campaign)
        return sign_decision_id(token._replace(number=record.seq), secret_id, secret)


@pytest.fixture
def slow_dsn() -> Iterator[str]:
    """Nobody seals a stream whose server is only behind."""
    dsn = made_database(**QUICK | {"lease_seconds": 60.0})
    yield dsn
    drop_database(dsn)


def behind(dsn: str, work: Callable[[Behind, str], Awaitable[None]]) -> None:
    """Work with a server that is behind, and the id of a decision of its campaign."""

    async def law(monkeypatch: pytest.MonkeyPatch) -> None:
        engine = await Engine.open(await PostgresLog.open(dsn), compiled=False)
        try:
            for name in ("c", "other"):
                await engine.create(msgspec.structs.replace(CAMPAIGN, name=name))
            answer, _ = await engine.decide("c", protocol.DecisionRequest())
            await engine.settled()
            await work(Behind(engine, monkeypatch), answer.decision_id)
        finally:
            await engine.close()

    with pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(law(monkeypatch))


def test_a_key_for_one_campaign_gets_nothing_of_another_by_a_secret_that_is_new(
    slow_dsn: str,
) -> None:
    async def work(one: Behind, known: str) -> None:
        secret = secrets.token_bytes(32)
        await one.write(SecretMade(1, secret, None, 0))
        foreign = await one.decided_elsewhere(known, 1, secret)
        assert one.engine.campaign_of(foreign) is None, "so the key is let in"
        with pytest.raises(Forbidden, match="the key is for the campaign 'other' alone"):
            await one.engine.feedback(foreign, protocol.RewardReport(1.0), "other")
        one.engine.runtime.secrets = first_secrets(one.engine)
        one.engine.runtime._secrets_read = 0
        with pytest.raises(Forbidden, match="the key is for the campaign 'other' alone"):
            await one.engine.history(foreign, "other")
        receipt = await one.engine.feedback(foreign, protocol.RewardReport(1.0), "c")
        assert receipt.status == "accepted"

    behind(slow_dsn, work)


def test_an_id_that_nobody_has_signed_reads_what_is_new_and_no_more(slow_dsn: str) -> None:
    async def work(one: Behind, known: str) -> None:
        for number in range(50):
            one.reads.append(number)
            await one.write(KeyRevoked(f"{number}", None))
        one.engine.runtime.folded = one.log.now()
        one.reads.clear()
        forged = known[:-1] + ("A" if known[-1] != "A" else "B")
        for _ in range(3):
            with pytest.raises(NotFound):
                await one.engine.feedback(forged, protocol.SignalReport("click"))
        item = msgspec.Raw(b'{"decision_id": "%s", "value": 1}' % forged.encode())
        receipts = await one.engine.batch([item] * 2000)
        assert {receipt.status for receipt in receipts} == {"rejected"}
        assert one.reads == [0] * 4
        assert one.engine.unread_feedback() == 2003

    behind(slow_dsn, work)


def test_many_decisions_of_a_server_that_is_behind_look_for_secrets_once(slow_dsn: str) -> None:
    async def work(one: Behind, _: str) -> None:
        one.engine.runtime.folded = one.engine.runtime._secrets_read = 1
        asked = [one.engine.decide("c", protocol.DecisionRequest()) for _ in range(20)]
        await asyncio.gather(*asked)
        assert len(one.reads) == 1

    behind(slow_dsn, work)


def test_ids_that_were_signed_again_are_known_at_the_first_try(slow_dsn: str) -> None:
    """Where a secret was withdrawn, the next one signs the ids of its decisions."""

    async def work(one: Behind, known: str) -> None:
        secret = secrets.token_bytes(32)
        await one.write(SecretMade(1, secret, None, 0))
        assert await one.engine.runtime.learn_secrets(1)
        one.reads.append(0)
        await one.write(SecretWithdrawn(0, None))
        token = one.engine.runtime.secrets.read(known)
        assert token is not None
        again = sign_decision_id(token, 1, secret)
        receipt = await one.engine.feedback(again, protocol.SignalReport("click"))
        assert receipt.status == "accepted"

    behind(slow_dsn, work)


def test_a_secret_that_is_learned_while_a_batch_is_read_is_for_all_of_it(slow_dsn: str) -> None:
    async def work(one: Behind, known: str) -> None:
        secret = secrets.token_bytes(32)
        made = await one.write(SecretMade(1, secret, None, 0))
        decision = await one.decided_elsewhere(known, 1, secret)
        items = [
            msgspec.Raw(b'{"decision_id": "%s", "value": 0.0}' % decision.encode())
            for _ in range(600)
        ]
        batch = asyncio.create_task(one.engine.batch(items))
        read = one.engine.feedback_intake
        while not read.unread:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0)
        one.engine.runtime.apply_server_event(made)
        assert {receipt.status for receipt in await batch} == {"accepted"}

    behind(slow_dsn, work)


def test_who_only_has_a_wrong_clock_still_shows_what_it_reads(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        log = await PostgresLog.open(dsn)
        engine = await Engine.open(log, compiled=False)
        try:
            await engine.create(CAMPAIGN)
            monkeypatch.setattr(log.writer.own.clock, "note", lambda *_: None)
            log.writer.own.clock.wrong = "it is wrong"
            async with asyncio.timeout(60):
                while log.closed is None:  # noqa: ASYNC110  (nothing tells of it)
                    await asyncio.sleep(0.01)
            await asyncio.sleep(2.5 * float(QUICK["lease_seconds"]))
            assert log.outdated is None
            assert shown(engine) == "running"
        finally:
            await engine.close()

    asyncio.run(law())


def first_secrets(engine: Engine) -> Secrets:
    """Return what an engine knew before the secret was changed."""
    known, first = engine.runtime.secrets, Secrets()
    first.begin(0, known[0], known.since[0])
    return first

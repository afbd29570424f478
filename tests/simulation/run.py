"""One simulation: a few hours of a server's life, drawn from one seed.

Clients ask for everything that can be asked for; requests and answers are lost; the disk fails, is
slow, or loses power; the clock steps both ways; servers are stopped and killed. At each start, and
at the end, the log is held against all that was ever answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import logging
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from foretell.errors import ForetellError
from foretell.service.engine.replay import rebuild
from foretell.service.engine.verify import verify_log
from foretell.service.log.errors import LogClosed
from foretell.service.log.open import open_reader
from foretell.service.model.decider import Decider
from foretell.service.model.decision_id import read_decision_id
from foretell.service.model.events import moment
from foretell.service.model.overlay import Overlay
from foretell.service.model.value_table import Eligible
from tests.simulation.oracle import FinalLog, wrong_answers, wrong_life, wrong_refits
from tests.simulation.server import Network, Server, log_of, simulated
from tests.simulation.virtual_time import SECOND, VirtualLoop, VirtualTime, on_virtual_time
from tests.torture.disk import LOSSES
from tests.torture.examine import Totals, examine
from tests.torture.faults import failing
from tests.torture.traffic import Traffic
from tests.torture.verbs import NoAnswer

MEMORY = Path("/dev/shm")  # noqa: S108
EVENTS = 45
"""Events of a phase, about."""
ENDS = ("stop", "kill", "cut", "cut at an operation", "kill at an operation")
TROUBLES = ("nothing", "nothing", "errors", "full")
STEPS = (-30 * 86_400, -3600, -61, -1, -0.3, 0.3, 5, 45, 3600, 30 * 86_400)
"""Seconds by which the wall clock steps."""
Plant = Callable[[], contextlib.AbstractContextManager[None]]


@dataclass
class Outcome:
    """What a simulation has come to."""

    seed: int
    violations: list[str] = field(default_factory=list)
    hours: float = 0.0
    """Hours that passed in it."""
    requests: int = 0
    unanswered: int = 0
    records: int = 0
    starts: int = 0
    restores: int = 0
    digests: int = 0
    keys_in_order: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    trace: str = ""
    """A digest of everything that was asked and answered, and when."""

    def sentence(self) -> str:
        """Return what is wrong, and how to see it again."""
        return (
            f"seed {self.seed}: {self.violations[0]}\n"
            f"to see it again: python -m tests.simulation --first {self.seed} --seeds 1 --verbose"
        )


def simulate(seed: int, plant: Plant = contextlib.nullcontext) -> Outcome:
    """Simulate from one seed; `plant` breaks the service on purpose."""
    rng = random.Random(seed)  # noqa: S311
    virtual = VirtualTime(rng)
    outcome = Outcome(seed)
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=place_for_databases()))
    with on_virtual_time(virtual), simulated(virtual), plant(), quiet():
        loop = VirtualLoop(virtual)
        try:
            loop.run_until_complete(_Simulation(folder, virtual, outcome).run())
        finally:
            loop.close()
            shutil.rmtree(folder, ignore_errors=True)
    outcome.hours = virtual.now / SECOND / 3600
    return outcome


def place_for_databases() -> Path | None:
    """Return where databases need no real disk under them; None is the usual place."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Say nothing of what is broken on purpose, unless somebody listens."""
    logger = logging.getLogger("foretell.service")
    before, logger.disabled = logger.disabled, not logger.handlers
    try:
        yield
    finally:
        logger.disabled = before


class _Simulation:
    def __init__(self, folder: Path, virtual: VirtualTime, outcome: Outcome) -> None:
        self.folder = folder
        self.virtual = virtual
        self.rng = virtual.rng
        self.outcome = outcome
        self.totals = Totals()
        self.network = Network(virtual)
        self.traffic = Traffic(self.rng, folder)
        self.places = itertools.count()
        self.path = self._place()
        self.path.parent.mkdir()

    def _place(self) -> Path:
        return self.folder / f"{next(self.places)}" / "live.db"

    async def run(self) -> None:
        """Live a few lives, then look at what is left."""
        for _ in range(self.rng.randint(2, 4)):
            await self._life()
            if self.totals.violations or self.traffic.failures:
                break
        else:
            await self._last_life()
        outcome, network = self.outcome, self.network
        outcome.violations = [*self.traffic.failures, *self.totals.violations]
        outcome.requests, outcome.unanswered = network.requests, network.unanswered
        outcome.restores, outcome.digests = self.totals.restores, self.totals.digests
        outcome.records, outcome.keys_in_order = self.totals.records, self.totals.keys_in_order
        outcome.trace = hashlib.sha256(repr(network.trace).encode()).hexdigest()

    # --- one life -------------------------------------------------------------------------------

    async def _life(self) -> None:
        end = self.rng.choice(ENDS)
        self.outcome.ends[end] += 1
        server = self._server(end)
        if not await self._started(server, troubled="operation" in end):
            await self._buried(server, end)
            return
        self.network.server, self.network.lost = server, 0.0
        stepping = asyncio.create_task(self._step_the_clock())
        living = asyncio.create_task(self._live(server))
        dying = asyncio.create_task(server.dead.wait())
        await asyncio.wait([living, dying], return_when="FIRST_COMPLETED")
        if end == "stop" and not server.dead.is_set():
            await server.drained()
        else:
            server.disk.cut()
        await asyncio.wait([living])
        stepping.cancel()
        dying.cancel()
        self.network.server = None
        living.result()
        if end == "stop" and not server.dead.is_set():
            await server.stop()
        else:
            await self._buried(server, end)
        await asyncio.sleep(self.rng.choice((0.0, 0.0, 0.01, 3.0, 400.0)))

    def _server(self, end: str) -> Server:
        server = Server(self.path, self.virtual)
        server.receipts = self.network.receipts
        self.outcome.starts += 1
        if end != "stop":
            server.image = self._place().parent
            server.loss = self.rng.choice(LOSSES) if "cut" in end else "none"
        if "operation" in end:
            server.disk.cut_at = int(2 ** self.rng.uniform(5, 11.5))
        return server

    async def _started(self, server: Server, *, troubled: bool) -> bool:
        """Start a server; return whether it lives."""
        try:
            await server.start()
        except (ForetellError, apsw.Error) as error:
            if not troubled:
                self.totals.violations.append(f"failed: it does not start: {error!r}")
            return False
        return not server.dead.is_set()

    async def _buried(self, server: Server, end: str) -> None:
        await server.bury()
        if server.image is not None:
            shutil.rmtree(self.path.parent)
            self.path = server.image / "live.db"
        if "cut" in end:
            self.virtual.reboot()

    async def _live(self, server: Server) -> None:
        """Check what is there, and be asked for everything, until the end."""
        with contextlib.suppress(NoAnswer):
            await self._examined(server)
            for _ in range(self.rng.randint(1, 3)):
                self.network.lost = self.rng.choice((0.0, 0.0, 0.05, 0.3))
                await self.traffic.set_up(self.network)
                self._trouble(server)
                await self._phase(server)
                self._no_trouble(server)
                self.network.lost = 0.0
                await self._quiet_point(server)

    def _trouble(self, server: Server) -> None:
        """Let operations of the disk fail, or the disk be full."""
        rng, disk = self.rng, server.disk
        match rng.choice(TROUBLES):
            case "errors":
                operation = rng.choice(("write", "sync", "sync", "truncate", "open", "delete"))
                kind = rng.choice((apsw.IOError, apsw.FullError))
                times = rng.choice((1, 1, 3, 12))
                ending = rng.choice((None, "", "-wal"))
                disk.fault = failing(operation, ending, rng.randrange(12), times, kind)
            case "full":
                disk.room = rng.randrange(60_000) + sum(
                    Path(one).stat().st_size for one in disk.files if Path(one).exists()
                )

    def _no_trouble(self, server: Server) -> None:
        server.disk.fault, server.disk.room = (lambda *_: None), None

    async def _phase(self, server: Server) -> None:
        last = self.traffic.number + self.rng.randint(5, EVENTS)

        async def ask() -> None:
            while self.traffic.number < last and not server.dead.is_set():
                with contextlib.suppress(NoAnswer):
                    if self.rng.random() < 0.06:
                        await self.traffic.decide_and_void(self.network, "plain")
                    else:
                        await self.traffic.one(self.network)
                think = self.rng.choice((0.0, 0.01, 0.05, 0.3))
                if self.rng.random() < 0.02:
                    think = self.rng.choice((5.0, 60.0, 900.0))
                await asyncio.sleep(think * self.rng.random())

        await asyncio.gather(*(ask() for _ in range(self.rng.randint(1, 6))))

    async def _quiet_point(self, server: Server) -> None:
        """Wait until nothing is under way; send again what is open, and now and then restore."""
        await server.drained()
        for _ in range(1000):
            assert server.engine is not None
            if server.dead.is_set() or server.engine.runtime.closed is None:
                break
            await asyncio.sleep(0.1)
        else:
            self.totals.violations.append("failed: the log does not open again")
        await self._check_draw(server)
        if self.rng.random() < 0.3:
            await self.traffic.changes.restore(self.network)
            await server.drained()
        if self.rng.random() < 0.5:
            await self.traffic.resend(self.network)

    async def _step_the_clock(self) -> None:
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / 20))
            if self.rng.random() < 0.5:
                self.virtual.wall_ahead += round(self.rng.choice(STEPS) * SECOND)

    # --- checks ---------------------------------------------------------------------------------

    async def _last_life(self) -> None:
        """Start once more on a sound disk, send all that is open, and check everything."""
        server = self._server("stop")
        if not await self._started(server, troubled=False):
            return
        self.network.server, self.network.lost = server, 0.0
        await self._examined(server)
        await self.traffic.set_up(self.network)
        await self.traffic.resend(self.network)
        self._check_open()
        await self._check_time(server)
        await self._examined(server)
        await self._check_states(server)
        records = (await self._examined(server)).records
        self.network.server = None
        self.traffic.changes.forget_copy()
        self.totals.add(self.traffic.book, records)
        await server.stop()
        await self._check_saved()

    async def _examined(self, server: Server) -> Any:
        """Hold the log, and the states that are served, against all that was answered."""
        return await examine(str(self.path), self.traffic.book, self.network, self.totals)

    def _check_open(self) -> None:
        for item in self.traffic.book.open():
            if item.verb in {"signal", "reward", "void"}:
                self.totals.violations.append(f"lost: {item.name} finds no answer")

    async def _check_time(self, server: Server) -> None:
        """Log time goes on by what passes, whatever the wall clock says."""
        before = log_of(server).now() // 2048
        await asyncio.sleep(5.0)
        passed = log_of(server).now() // 2048 - before
        if passed < 5 * SECOND:
            self.totals.violations.append(f"time: {passed} microseconds passed in five seconds")

    async def _check_draw(self, server: Server) -> None:
        """Ask for a decision when nothing is under way, and draw it again from the log alone."""
        assert server.engine is not None
        await asyncio.sleep(10.0)
        runtime, log = server.engine.runtime, log_of(server)
        for active in runtime.by_number.values():  # a table may be of a time when some were
            active.decider.forget(active.decider._choosable)
        answer = await self.traffic.decide_plainly(self.network, "plain")
        if server.dead.is_set() or answer is None:
            return
        token = read_decision_id(answer["decision_id"], runtime.secrets)
        assert token is not None
        event = (await log.decided(token.campaign, [token.number]))[token.number]
        campaign = await rebuild(log, token.campaign, event.state)
        everything = Eligible.of(np.ones(len(campaign.config.actions), np.bool_))
        drawn = Decider(campaign.config.seed).choose(Overlay(campaign), everything, event.nonce)
        if (drawn.action, drawn.propensity) != (event.action, event.propensity):
            self.totals.violations.append(f"draw: {event} is drawn as {drawn} from the log alone")
        settled = await self._check_close(server, token.number)
        if settled and any(active.overlay._under_way for active in runtime.by_number.values()):
            self.totals.violations.append("pending: a decision is under way that is not there")

    async def _settled(self, server: Server) -> bool:
        """Wait until all that is in the log is folded, which takes long on a slow disk.

        Returns whether it is: not where the log closes, or the server dies.
        """
        assert server.engine is not None
        fold, end = server.engine.fold, log_of(server).now()
        with contextlib.suppress(LogClosed):
            for _ in range(100):
                if server.dead.is_set():
                    return False
                if await fold.reached(end, 10.0):
                    return True
            self.totals.violations.append("fold: it does not come to the end of the log")
        return False

    async def _check_close(self, server: Server, decision: int) -> bool:
        """Go to the microsecond at which the window of a decision closes: now it is closed.

        Returns whether all that is in the log is folded then.
        """
        assert server.engine is not None
        log, active = log_of(server), server.engine.runtime.by_name["plain"]
        due = active.campaign.rules.due(0, moment(decision))
        self.virtual.advance(due - moment(log.now()))
        if not await self._settled(server):
            return False
        with contextlib.suppress(LogClosed):
            final = await FinalLog.read(log)
            self.totals.violations += wrong_life(final, "plain", active.campaign)
        return True

    async def _check_states(self, server: Server) -> None:
        assert server.engine is not None
        await self._settled(server)
        runtime = server.engine.runtime
        with open_reader(str(self.path)) as log:
            final = await FinalLog.read(log)
            self.totals.violations += wrong_answers(self.traffic.book, self.network.receipts, final)
            campaigns = [(one.number, one.campaign) for one in runtime.by_number.values()]
            self.totals.violations += await wrong_refits(log, campaigns)
        self.totals.violations += wrong_life(final, "plain", runtime.by_name["plain"].campaign)
        self.network.trace.append([campaign.digest() for _, campaign in campaigns])

    async def _check_saved(self) -> None:
        """The states that were saved at the end are those of the log, and not above its head."""
        with open_reader(str(self.path)) as log:
            found = await verify_log(log)
            self.totals.violations += [f"state: {one}" for one in found.damage]
            for number in await log.campaigns():
                saved = await log.load_state(number)
                if saved is not None and saved.position > log.head():
                    self.totals.violations.append("state: one was saved above the head")

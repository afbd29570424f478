"""Running the service: a socket, an engine, a web server between them, and a clean end.

The first SIGTERM or Ctrl-C drains: no new connections, requests in flight are finished, the
campaigns are kept as they are. The second stops at once, which loses nothing that was
acknowledged: that is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import NamedTuple

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from foretell.errors import InvalidInput
from foretell.service.engine.engine import Engine
from foretell.service.http import Limits, ShutdownMiddleware, app
from foretell.service.log.sqlite.faults import in_a_sentence
from foretell.service.logging import set_up_logging
from foretell.service.settings import Settings

logger = logging.getLogger("foretell.service")

SWITCH_SECONDS = 0.001
"""How long one thread may keep others from running. The thread that commits waits for the disk
and then for this: Python's own 5 ms would be longer than the disk takes."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than proxies keep theirs."""


class Started(NamedTuple):
    """A server that takes requests."""

    url: str
    first_key: str | None
    """The admin key, at the first start and if it was made."""


def serve(
    settings: Settings, admin_key: str | None, started: Callable[[Started], None]
) -> signal.Signals:
    """Serve until a signal says stop, and give that signal; `started` is told once it can."""
    set_up_logging(settings.log_level, as_json=settings.log_format == "json")
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = _Stop()
    with (
        stop.listening(),
        closing(_bound(settings)) as listener,
        asyncio.Runner(loop_factory=auto_loop_factory()) as runner,
    ):
        runner.run(_serve(settings, admin_key, started, stop, listener))
    return stop.signal


class _Stop:
    """The wish to stop: the first signal is remembered, the second ends the process."""

    def __init__(self) -> None:
        self.wanted = False
        self.signal = signal.SIGTERM
        self.server: _Server | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals while the server lives."""
        taken = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(one, self._take) for one in taken]
        try:
            yield
        finally:
            for one, handler in zip(taken, before, strict=True):
                signal.signal(one, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.wanted:
            os._exit(128 + number)
        self.wanted = True
        self.signal = signal.Signals(number)
        if self.server is not None:
            self.server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server: it says when it has started, and leaves signals to us.

    uvicorn would send itself each signal again after the end, and so not end with 0.
    """

    def __init__(
        self, config: uvicorn.Config, settings: Settings, tell: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._settings = settings
        self._tell = tell

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with _port_in_a_sentence(self._settings):
            await super().startup(sockets)
        self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logger.info("stopping: requests in flight are finished first")
        await super().shutdown(sockets)


async def _serve(
    settings: Settings,
    admin_key: str | None,
    started: Callable[[Started], None],
    stop: _Stop,
    listener: socket.socket,
) -> None:
    with in_a_sentence(settings.db):
        engine = await Engine.open(
            settings.db,
            durability=settings.durability,
            time_scale=settings.time_scale,
            admin_key=admin_key,
            scrub_seconds=settings.scrub_seconds,
        )
    try:
        if admin_key and engine.identify(admin_key) is None:
            logger.warning("the admin key of the environment is not valid: there were keys already")
        url = _url(settings.host, listener)

        def tell() -> None:
            logger.info(
                "started",
                extra={"url": url, "db": settings.db, "durability": settings.durability}
                | {"seq": engine.log.head, "campaigns": len(engine.by_number)},
            )
            _told(Started(url, engine.first_key), started, settings.db)

        server = stop.server = _Server(_config(engine, settings), settings, tell)
        if not stop.wanted:
            await server.serve([listener])
    finally:
        await engine.close()
    logger.info("stopped", extra={"seq": engine.log.head})


def _told(what: Started, started: Callable[[Started], None], db: str) -> None:
    """Tell that the server has started; where that cannot be shown, it goes on all the same."""
    try:
        started(what)
    except OSError as error:
        if what.first_key is not None:
            logger.warning(
                "the first key could not be shown (%s): stop the server, and make another with "
                "foretell keys make NAME --scope admin --db %s",
                error.strerror or error,
                db,
            )


def _config(engine: Engine, settings: Settings) -> uvicorn.Config:
    limits = Limits(settings.max_body, settings.max_batch, settings.max_in_flight)
    return uvicorn.Config(
        ShutdownMiddleware(app(engine, limits)),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.drain_seconds,
    )


def _bound(settings: Settings) -> socket.socket:
    """Take the port before the database is touched; nobody can connect until it is read."""
    with _port_in_a_sentence(settings):
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    return listener


@contextmanager
def _port_in_a_sentence(settings: Settings) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeError) as error:  # the latter: a name that no host can have
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"cannot listen at {settings.host} port {settings.port} "
            f"({reason}): choose another with --host and --port"
        ) from None


def _url(host: str, listener: socket.socket) -> str:
    """Return an address at which the server can be reached from this machine."""
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (it is left out)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

"""The server: a socket, an engine, a web server between them, and a clean end.

The first SIGTERM or Ctrl-C drains: no new connections, requests in flight are finished, the states
of the campaigns are saved. The second stops at once, which loses nothing that was acknowledged:
that is on disk. SIGHUP is logged: a terminal that closes stops no server.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from math import inf
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, cast

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from foretell.errors import MissingExtra
from foretell.service.database_address import without_password
from foretell.service.engine import Engine
from foretell.service.http import (
    Limits,
    Metrics,
    app,
    connection_factory,
    with_middleware,
)
from foretell.service.listener import bound_socket, port_errors_explained, url_of
from foretell.service.log.errors import LogClosed
from foretell.service.logging import set_up_logging
from foretell.service.model.keys import check_key
from foretell.service.settings import ADMIN_KEY, Settings
from foretell.service.ui import Site, ui_routes

if TYPE_CHECKING:
    from foretell.service.http.telemetry import Telemetry

logger = logging.getLogger("foretell.service")

SWITCH_SECONDS = 0.001
"""How long one thread may keep others from running. The thread that commits waits for the disk,
and then for this long: Python's own 5 ms would be longer than the disk takes."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than proxies keep theirs."""


WAIT_SECONDS = 0.5
"""Seconds between two attempts to open a log that cannot be opened yet."""
REPEAT_WARNING_SECONDS = 60.0
CLOSE_SECONDS = 30.0
"""Seconds that the end waits for a disk that does not answer."""


class Started(NamedTuple):
    """A server that accepts requests."""

    url: str
    first_key: str | None
    """The admin key, if this first start has made it."""


def serve(
    settings: Settings, admin_key: str | None, started: Callable[[Started], None]
) -> signal.Signals:
    """Serve until a signal comes, and return that signal; `started` is called once it serves."""
    set_up_logging(
        settings.log_level,
        as_json=settings.log_format == "json",
        access_log=settings.access_log,
    )
    if admin_key:
        check_key(admin_key, f"the key in {ADMIN_KEY}")
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = _Stop()
    with (
        stop.listening(),
        closing(bound_socket(settings)) as listener,
        asyncio.Runner(loop_factory=auto_loop_factory()) as runner,
    ):
        runner.run(_serve(settings, admin_key, started, stop, listener))
    return stop.signal


class _Stop:
    """Signals to stop: the first is remembered, the second ends the process."""

    def __init__(self) -> None:
        self.requested = False
        self.signal = signal.SIGTERM
        self.server: _Server | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals while the server runs."""
        handled = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(one, self._handle) for one in handled]
        try:
            yield
        finally:
            for one, handler in zip(handled, before, strict=True):
                signal.signal(one, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.requested:
            os._exit(128 + number)
        self.requested = True
        self.signal = signal.Signals(number)
        if self.server is not None:
            self.server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server, which calls back when it has started, and leaves signals to us.

    uvicorn would raise each signal again after the end, and so not exit with 0.
    """

    def __init__(
        self, config: uvicorn.Config, settings: Settings, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._settings = settings
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with port_errors_explained(self._settings):
            await super().startup(sockets)
        self._on_started()

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
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _log_hangup)
    telemetry = _telemetry() if settings.telemetry else None
    engine = await _open_engine(settings, admin_key, stop)
    if engine is None:
        return
    try:
        if admin_key and engine.identify(admin_key) is None:
            logger.warning("the admin key of the environment is not valid: there were keys already")
        if engine.admin_key_taken:
            logger.info("a new database: its first admin key is the one in %s", ADMIN_KEY)
        url, db = url_of(settings.host, listener), without_password(settings.db)

        def on_started() -> None:
            logger.info(
                "started",
                extra={"url": url, "db": db, "durability": settings.durability}
                | {"seq": engine.runtime.log.head(), "campaigns": len(engine.runtime.by_number)},
            )
            _announce(Started(url, engine.first_key), started, db)

        gc.freeze()  # what there is now stays: no later search for garbage looks at it
        config = _config(engine, settings, telemetry, lambda: stop.requested)
        server = stop.server = _Server(config, settings, on_started)
        if not stop.requested:
            await server.serve([listener])
    finally:
        if telemetry is not None:
            await telemetry.close()
        await _close(engine)
    logger.info("stopped", extra={"seq": engine.runtime.log.head()})


async def _close(engine: Engine) -> None:
    """Close the engine; if its disk does not answer, end without it: threads wait for it forever.

    What was acknowledged is on disk, and the next start reads it.
    """
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await engine.close()
    except TimeoutError:
        logger.error(  # noqa: TRY400  (one line)
            "the disk has not answered for %.0f s: the server ends without it, and loses nothing "
            "that was acknowledged",
            CLOSE_SECONDS,
        )
        logging.shutdown()
        os._exit(1)


async def _open_engine(settings: Settings, admin_key: str | None, stop: _Stop) -> Engine | None:
    """Open the engine; while the disk is full or fails, wait and say so. None if stopped then."""
    said = -inf
    while not stop.requested:
        try:
            return await Engine.open(
                settings.db,
                durability=settings.durability,
                time_scale=settings.time_scale,
                admin_key=admin_key,
                scrub_seconds=settings.scrub_seconds,
            )
        except LogClosed as error:
            if monotonic() - said >= REPEAT_WARNING_SECONDS:
                said = monotonic()
                logger.error("not started yet: %s; the server waits, and tries again", error)  # noqa: TRY400
            await asyncio.sleep(WAIT_SECONDS)
    return None


def _log_hangup() -> None:
    logger.info("SIGHUP: nothing is read again and no file reopened, restart to change settings")


def _announce(server: Started, started: Callable[[Started], None], db: str) -> None:
    """Announce that the server has started; if that cannot be printed, the server goes on."""
    try:
        started(server)
    except OSError as error:
        if server.first_key is not None:
            logger.warning(
                "the first key could not be shown (%s): stop the server, and make another with "
                "foretell keys make NAME --scope admin --db %s",
                error.strerror or error,
                db,
            )


def _telemetry() -> Telemetry:
    """Return what sends traces and metrics, which an extra brings."""
    try:
        from foretell.service.http.telemetry import Telemetry
    except ImportError as error:
        raise MissingExtra(
            "telemetry needs OpenTelemetry, which is not installed: "
            "install it with pip install 'foretell[serve,otel]'"
        ) from error
    return Telemetry.over_http()


def _config(
    engine: Engine,
    settings: Settings,
    telemetry: Telemetry | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> uvicorn.Config:
    limits, metrics = limits_of(settings), Metrics(engine)
    pages = ui_routes(Site(engine, limits, metrics, stopping))
    web = with_middleware(app(engine, limits, metrics, pages, settings.root_path or ""), settings)
    if telemetry is not None:
        web = telemetry.wrap(web, metrics)
    connections = connection_factory(limits, metrics, access_log=settings.access_log)
    return uvicorn.Config(
        web,
        http=cast("type[asyncio.Protocol]", connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.drain_seconds,
    )


def limits_of(settings: Settings) -> Limits:
    """Return what may be sent, as it is set."""
    return Limits(
        event=settings.max_event,
        body=settings.max_body,
        batch=settings.max_batch,
        in_flight=settings.max_in_flight,
        in_flight_per_key=settings.max_in_flight_per_key,
        header_bytes=settings.max_header_bytes,
        headers=settings.max_headers,
        header_seconds=settings.header_seconds,
        body_seconds=settings.body_seconds,
        key_requests=settings.key_requests_per_second,
        key_bytes=settings.key_bytes_per_second,
        key_context=settings.key_context_per_second,
    )

"""`foretell demo-live`: the service with four simulated campaigns, for its dashboard to show."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from foretell.traffic.demo import DemoPlayer

TIME_SCALE = 120.0
"""How many times as fast as real time the demonstration runs: an hour takes half a minute."""


@click.command("demo-live")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--db",
    type=click.Path(dir_okay=False),
    default=None,
    help="A new database to keep; by default one that is removed at the end.",
)
def demo_live(host: str, port: int, seed: int, db: str | None) -> None:
    """Start the service on a test database with four simulated campaigns, until Ctrl-C.

    One has a change half-way, one a misleading signal, in one the rewards stop, one has only
    begun. Open the address that is printed, and sign in with the key.
    """
    import asyncio

    from foretell.service.model.keys import new_key

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="foretell-demo-") as folder:
        key, path = new_key(), db or str(Path(folder) / "demo.db")
        if db is not None and Path(db).exists():
            raise InvalidInput(f"{db!r} exists already: name a new database")
        with suppress(KeyboardInterrupt):
            players, now = asyncio.run(_play_past(path, key, seed))
            server = _start(host, port, path, key)
            try:
                url = _address(server)
                click.echo(
                    f"Dashboard: {url}/ui\nKey:       {key}\n\nFour simulated campaigns go on, "
                    f"{TIME_SCALE:.0f} times as fast: an hour takes half a minute. Ctrl-C ends it."
                )
                sys.stdout.flush()
                with suppress(asyncio.CancelledError):
                    asyncio.run(_play_on(players, url, key, now))
            finally:
                if server.poll() is None:
                    server.send_signal(signal.SIGTERM)
                server.wait(timeout=60)


async def _play_past(path: str, key: str, seed: int) -> tuple[list[DemoPlayer], float]:
    """Play what has happened before the demonstration begins, and show how far that is."""
    from foretell.cli.demo_history import play_past

    with click.progressbar(
        length=1000, label="Playing sixteen days", file=sys.stderr, show_eta=False
    ) as bar:
        return await play_past(
            path, key, seed, TIME_SCALE, lambda share: bar.update(round(1000 * share) - bar.pos)
        )


def _start(host: str, port: int, path: str, key: str) -> subprocess.Popen[str]:
    """Start the service in a process of its own."""
    command = [sys.executable, "-m", "foretell", "serve", "--host", host, "--port", str(port)]
    command += ["--db", path, "--time-scale", str(TIME_SCALE), "--log-level", "warning"]
    return subprocess.Popen(  # noqa: S603  (our own command)
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"FORETELL_ADMIN_KEY": key}
    )


def _address(server: subprocess.Popen[str]) -> str:
    """Return where the service says that it is."""
    said = server.stdout.readline() if server.stdout is not None else ""
    found = re.search(r"at (http://\S+)", said)
    if found is None:
        raise click.ClickException("the service did not start: what it says is above")
    return found[1]


async def _play_on(players: list[DemoPlayer], url: str, key: str, now: float) -> None:
    import asyncio

    from foretell.traffic.demo import play_on
    from foretell.traffic.service import HttpService

    playing = asyncio.current_task()
    with suppress(NotImplementedError):  # not on Windows
        stop = playing.cancel if playing is not None else sys.exit
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    async with HttpService(url, key) as service:
        await play_on(players, service, now, TIME_SCALE)

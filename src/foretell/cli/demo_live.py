"""`foretell demo-live`: the service with four simulated campaigns, for its dashboard to show."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import click

TIME_SCALE = 250.0
"""How many times as fast as real time the demonstration runs: an hour takes 14 seconds."""


@click.command("demo-live")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(min=1.0, max=500.0),
    default=40.0,
    show_default=True,
    help="Decisions a second of each campaign.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--db",
    type=click.Path(dir_okay=False),
    default=None,
    help="A new database to keep; by default one that is removed at the end.",
)
def demo_live(host: str, port: int, rate: float, seed: int, db: str | None) -> None:
    """Start the service on a test database with four simulated campaigns, until Ctrl-C.

    One has a change half-way, one a misleading signal, in one the rewards stop, one has only
    begun. Open the address that is printed, and sign in with the key.
    """
    from foretell.service.model.keys import new_key

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="foretell-demo-") as folder:
        key, path = new_key(), db or str(Path(folder) / "demo.db")
        server = _start(host, port, path, key)
        try:
            url = _address(server)
            click.echo(f"Dashboard: {url}/ui\nKey:       {key}\n")
            click.echo(
                "Four simulated campaigns run at 250 times real time. After about a minute every "
                "panel has something to say. Ctrl-C ends it."
            )
            sys.stdout.flush()
            with suppress(KeyboardInterrupt, asyncio.CancelledError):
                asyncio.run(_play(url, key, rate, seed))
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)


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


async def _play(url: str, key: str, rate: float, seed: int) -> None:
    from foretell.traffic.demo import play_demo
    from foretell.traffic.service import HttpService

    playing = asyncio.current_task()
    with suppress(NotImplementedError):  # not on Windows
        stop = playing.cancel if playing is not None else sys.exit
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    async with HttpService(url, key) as service:
        await play_demo(service, TIME_SCALE, rate, seed, lambda _name, _played: None)

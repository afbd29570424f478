"""Connecting to a cluster: to a Dask scheduler at an address, or to processes started here.

Local workers are started as commands, not forked or spawned by Python: a script needs no
`if __name__ == "__main__"` for them. They end by themselves when this process does.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from distributed import Client

CONNECT_SECONDS = 30
QUIET_SETTINGS = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
"""Settings of Dask's processes: they watch themselves less, which costs each a few percent."""
_LOCAL = "local:"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler at an address, or start `local:N` workers and a scheduler."""
    distributed = _distributed()
    with ExitStack() as stack:
        if address.startswith(_LOCAL):
            address = stack.enter_context(_local_cluster(distributed, _count(address)))
        _check_address(address)
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"there is no Dask scheduler at {address!r} ({error}): start one with "
                f"dask scheduler, or use local:N for N processes on this machine"
            ) from None
        yield stack.enter_context(client)


def _check_address(address: str) -> None:
    """Refuse what is no address: Dask's client would, but then waits a minute for its own end."""
    if re.fullmatch(r"((tcp|tls|ws|wss|ucx)://)?[^\s/]+:[0-9]{1,5}", address) is None:
        raise InvalidInput(
            f"the address of a Dask scheduler is written tcp://HOST:PORT, got {address!r}: take "
            f"the one that dask scheduler prints, or local:N for N processes on this machine"
        )


def _count(address: str) -> int:
    found = re.fullmatch(r"[1-9][0-9]{0,3}", address.removeprefix(_LOCAL))
    if found is None:
        raise InvalidInput(
            f"a cluster on this machine is named local:N with N processes, got {address!r}: "
            f"write for instance local:4"
        )
    return int(found[0])


@contextmanager
def _local_cluster(distributed: Any, count: int) -> Iterator[str]:
    """Start a scheduler in this process and workers in others; yield its address."""
    with (
        _quiet(),
        tempfile.TemporaryDirectory(prefix="foretell-workers-") as folder,
        distributed.LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            scheduler_port=0,
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        command += ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "10"]
        workers = [
            subprocess.Popen(  # noqa: S603  this Python, Dask's own command
                [*command, "--name", f"local-{number}", "--local-directory", folder],
                env=os.environ | QUIET_SETTINGS,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for number in range(count)
        ]
        try:
            yield cluster.scheduler_address
        finally:
            for worker in workers:  # they hold nothing, and may not hear a milder signal
                worker.kill()
            for worker in workers:
                worker.wait()


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the scheduler in this process say nothing of its own."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra(
            "a cluster needs dask.distributed, which is not installed: "
            "pip install 'foretell[cluster]'"
        ) from error
    return distributed

"""Servers to be killed: an engine behind a socket, forked from one process that has it loaded.

`python -m tests.torture.server` reads a line of JSON for each server to start and prints its
process id. The JSON says how each shall be broken, and where it shall die.
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import foretell.service.server  # noqa: F401  (loaded once, for all that are forked)
from foretell.cli import main as command_line
from foretell.errors import ForetellError
from foretell.service.engine import Engine, maintenance
from foretell.service.log.sqlite import side_tables
from foretell.service.log.sqlite.appender import Appender
from foretell.service.log.sqlite.database import Database
from foretell.service.model.campaign import Campaign
from tests.torture.breakage import break_it
from tests.torture.disk import DeadlyDisk, die
from tests.torture.power_cuts import set_checkpoint
from tests.torture.verbs import perform, status_of

KEY = "ftk_torture-torture-torture-torture"
LENGTH = struct.Struct(">I")


class Start(Struct):
    """How a server is started."""

    path: str
    socket: str
    broken: str = ""
    """answer-early, no-dedup, replay-twice or skip-records; nothing for a server that is right."""
    dies: str = ""
    """Where it kills itself: operation, database, before-commit, after-commit, save, refit."""
    at: int = 1
    """At which of these."""
    how: str = "after"
    durability: str = "full"
    serve: bool = False
    """Whether it is `foretell serve`, at an address that it prints, and not only its engine."""
    db: str = ""
    """The address of its database, where that is no file."""
    clock: str = ""
    """The file from which it reads its clock, where the nursery runs under libfaketime."""


class Killing:
    """Counts down to the moment at which the process ends."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            die()


def _die_around(owner: Any, name: str, killing: Killing, how: str) -> None:
    original = getattr(owner, name)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if how == "before":
            killing()
        result = original(*args, **kwargs)
        if how != "before":
            killing()
        return result

    setattr(owner, name, deadly)


def mark_for_death(start: Start) -> DeadlyDisk | None:
    """Prepare the end, and return the layer under the database, if there is one."""
    killing = Killing(start.at)
    match start.dies:
        case "operation":
            return DeadlyDisk(start.at, None, start.how)
        case "database":
            return DeadlyDisk(start.at, "", start.how)
        case "before-commit":
            _die_around(Appender, "finish", killing, start.how)
        case "after-commit":
            _die_around(Database, "_done", killing, "before")
        case "save":
            _die_around(side_tables, "save_state", killing, start.how)
        case "refit":
            _die_around(Campaign, "refit_one", killing, start.how)
        case "refitted":
            _die_around(Campaign, "end_refit", killing, start.how)
    return None


async def serve(start: Start) -> None:
    """Open the database and answer until the end."""
    maintenance.SAVE_RECORDS = 50
    disk = mark_for_death(start)
    running = await Engine.open(
        start.path,
        durability=start.durability,
        vfs=None if disk is None else disk.name,
        compiled=False,
    )
    set_checkpoint(running, 40)
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def answer(number: int, verb: str, body: Any) -> None:
            try:
                reply = (number, 200, await perform(running, verb, body))
            except ForetellError as error:
                reply = (number, status_of(error), str(error))
            except Exception as error:  # noqa: BLE001  (a defect, to be seen by the load)
                reply = (number, 500, repr(error))
            packed = msgspec.msgpack.encode(reply)
            writer.write(LENGTH.pack(len(packed)) + packed)

        tasks = set()
        try:
            while True:
                (length,) = LENGTH.unpack(await reader.readexactly(4))
                request = msgspec.msgpack.decode(await reader.readexactly(length))
                task = asyncio.create_task(answer(*request))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_unix_server(converse, start.socket)
    async with server:
        await done.wait()
    await running.close()


def serve_arguments(path: str) -> list[str]:
    """Return the command line of `foretell serve`, at any port."""
    return ["serve", "--db", path, "--port", "0"]


def run_command_line(start: Start) -> None:
    """Run `foretell serve` in this process, with its output in files."""
    path = Path(start.path)
    for descriptor, ending in ((1, ".printed"), (2, ".said")):
        file = os.open(path.with_suffix(ending), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, descriptor)
    os.chdir(path.parent)
    os.environ["FORETELL_ADMIN_KEY"] = KEY
    if start.clock:
        os.environ["FAKETIME_TIMESTAMP_FILE"] = start.clock
    sys.argv = ["foretell", *serve_arguments(start.db or start.path)]
    command_line()


def main() -> None:
    """Fork a server for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        start = msgspec.json.decode(line, type=Start)
        process = os.fork()
        if process == 0:
            os.close(0)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                break_it(start.broken)
                if start.serve:
                    run_command_line(start)
                else:
                    asyncio.run(serve(start))
            except BaseException:  # noqa: BLE001  (whoever started it reads why)
                Path(start.socket + ".error").write_text(traceback.format_exc())
            os._exit(0)
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

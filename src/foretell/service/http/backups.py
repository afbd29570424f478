"""The whole database as one file: sent out, or put in place of the one there is."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from tempfile import TemporaryDirectory

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.http.call import Call, Reply, encode, piece
from foretell.service.http.files import send_file
from foretell.service.model.errors import TooLarge

SQLITE = b"application/vnd.sqlite3"
BYTES = b"application/octet-stream"
_PIECE = 1 << 20


async def backup(call: Call) -> Reply:
    """Send a backup, taken while the service runs."""
    return await send_file(call, call.engine.backup, "foretell-backup.db", SQLITE)


async def restore(call: Call) -> Reply:
    """Take in a backup and go on from it; it may be as large as the disk allows."""
    with TemporaryDirectory(prefix="foretell-") as directory:
        path = Path(directory) / "restore.db"
        try:
            await _save(call, path)
            return Reply(200, encode(await call.engine.restore(str(path))))
        except (DamagedFile, InvalidInput) as error:  # its name here means nothing to the sender
            raise type(error)(str(error).replace(repr(str(path)), "what was sent")) from None
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise TooLarge("the disk of the service has no room for this file") from None


async def _save(call: Call, path: Path) -> None:
    with path.open("wb") as file:
        more, waiting = True, bytearray()
        while more:
            message = await piece(call.receive)
            waiting += message.get("body", b"")
            more = message.get("more_body", False)
            if len(waiting) >= _PIECE or not more:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()

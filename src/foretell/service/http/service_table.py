"""The rows of the table of operations that are about the service itself."""

from __future__ import annotations

from msgspec.structs import replace

from foretell import protocol
from foretell.service.http import backups, keys, probes
from foretell.service.http.operation import Operation, Success
from foretell.service.http.rows import open_row
from foretell.service.model.errors import Conflict, LogClosed, NotFound

SERVICE = (
    Operation(
        "make_key",
        "POST",
        "/v1/keys",
        keys.make,
        "Make a key; it can be read in this answer only.",
        (
            Success(
                201,
                "The key.",
                protocol.MadeKey,
                ("Location",),
                links=(("revoke_key", "key_id", "id"),),
            ),
        ),
        "Keys",
        scope="admin",
        request=protocol.NewKey,
        raises=(Conflict,),
        example={"name": "web-frontend", "scopes": ["decide", "feedback"]},
    ),
    Operation(
        "list_keys",
        "GET",
        "/v1/keys",
        keys.show_all,
        "List the valid keys, without their secrets.",
        (Success(200, "Every valid key.", protocol.KeyList),),
        "Keys",
        scope="admin",
    ),
    Operation(
        "revoke_key",
        "DELETE",
        "/v1/keys/{key_id}",
        keys.revoke,
        "Make a key invalid from now on.",
        (Success(204, "It is not valid any more.", None, (), ()),),
        "Keys",
        scope="admin",
        raises=(NotFound, Conflict),
    ),
    Operation(
        "rotate_secret",
        "POST",
        "/v1/secrets",
        keys.rotate,
        "Sign decision ids with a new secret from now on; the old ids stay valid.",
        (Success(201, "The new secret's number.", protocol.Rotated),),
        "Keys",
        scope="admin",
        raises=(Conflict,),
    ),
    Operation(
        "backup",
        "GET",
        "/v1/backup",
        backups.backup,
        "Read the whole database as one file, while the service runs.",
        (Success(200, "A SQLite database.", None, (), (backups.SQLITE,)),),
        "Service",
        scope="admin",
    ),
    Operation(
        "restore",
        "POST",
        "/v1/restore",
        backups.restore,
        "Put a backup in place of the database.",
        (Success(200, "Where the log stands now.", protocol.Restored),),
        "Service",
        scope="admin",
        request=bytes,
        reads="stream",
        media=(backups.SQLITE, backups.BYTES),
        raises=(Conflict,),
    ),
    open_row(
        "/livez", probes.livez, "Does the process run?", Success(200, "It does.", protocol.Health)
    ),
    replace(
        open_row(
            "/readyz",
            probes.readyz,
            "Can the log be written?",
            Success(200, "It can.", protocol.Health),
        ),
        raises=(LogClosed,),
    ),
    open_row(
        "/metrics",
        probes.metrics,
        "Numbers for Prometheus.",
        Success(200, "Prometheus' text format.", None, (), (b"text/plain",)),
    ),
    open_row(
        "/openapi.json",
        probes.openapi,
        "This description.",
        Success(200, "An OpenAPI 3.1 document.", dict),
    ),
    open_row(
        "/docs",
        probes.docs,
        "This description, to read.",
        Success(200, "A page.", None, (), (b"text/html",)),
    ),
)

"""The operations that are about the server itself: keys, secrets, copies, probes and pages."""

from __future__ import annotations

from foretell import protocol
from foretell.service.http import service_handlers
from foretell.service.http.operation import (
    Operation,
    Success,
    open_operation,
)
from foretell.service.http.queries import LogQuery, RetireQuery
from foretell.service.model.errors import (
    Conflict,
    LogUnavailable,
    NoRoomForCopy,
    NotFound,
)

SERVICE_OPERATIONS = (
    Operation(
        "make_key",
        "POST",
        "/v1/keys",
        service_handlers.make_key,
        "Make a key, for one campaign or for all; it can be read in this answer only.",
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
        service_handlers.list_keys,
        "List the valid keys, without their secrets.",
        (Success(200, "Every valid key.", protocol.KeyList),),
        "Keys",
        scope="admin",
    ),
    Operation(
        "revoke_key",
        "DELETE",
        "/v1/keys/{key_id}",
        service_handlers.revoke_key,
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
        service_handlers.rotate_secret,
        "Retire the secret that signs decision ids, and sign with a new one; the old ids stay "
        "valid.",
        (Success(201, "The new secret's number.", protocol.Rotated),),
        "Keys",
        scope="admin",
        raises=(Conflict,),
    ),
    Operation(
        "list_secrets",
        "GET",
        "/v1/secrets",
        service_handlers.list_secrets,
        "List the secrets that sign decision ids, without the secrets themselves.",
        (Success(200, "Every secret.", protocol.SecretList),),
        "Keys",
        scope="admin",
    ),
    Operation(
        "retire_secret",
        "DELETE",
        "/v1/secrets/{secret}",
        service_handlers.retire_secret,
        "Retire a secret; with its ids, no id that it has signed is valid any more.",
        (Success(200, "The secret as it is now.", protocol.SecretView),),
        "Keys",
        scope="admin",
        query=RetireQuery,
        raises=(NotFound, Conflict),
    ),
    Operation(
        "get_server_events",
        "GET",
        "/v1/events",
        service_handlers.get_server_events,
        "Read who made and revoked keys, and changed secrets.",
        (Success(200, "Records about the server, and where to go on.", protocol.RecordPage),),
        "Keys",
        scope="admin",
        query=LogQuery,
    ),
    Operation(
        "backup",
        "GET",
        "/v1/backup",
        service_handlers.backup,
        "Read the whole log as one file, while the service runs.",
        (
            Success(
                200,
                "A SQLite database; where the log is in PostgreSQL, all its rows in a file of "
                "foretell's own.",
                None,
                (),
                service_handlers.COPIES,
            ),
        ),
        "Service",
        scope="admin",
        raises=(NoRoomForCopy,),
    ),
    Operation(
        "restore",
        "POST",
        "/v1/restore",
        service_handlers.restore,
        "Put a backup in place of the database.",
        (Success(200, "The last record of the restored log.", protocol.Restored),),
        "Service",
        scope="admin",
        request=bytes,
        reads="stream",
        media=(*service_handlers.COPIES, service_handlers.BYTES),
        raises=(Conflict, NoRoomForCopy),
    ),
    open_operation(
        "/livez",
        service_handlers.livez,
        "Does the process run?",
        Success(200, "It does.", protocol.Health),
    ),
    open_operation(
        "/readyz",
        service_handlers.readyz,
        "Can the log be written?",
        Success(200, "It can.", protocol.Health),
        raises=(LogUnavailable,),
    ),
    open_operation(
        "/metrics",
        service_handlers.metrics,
        "Numbers for Prometheus.",
        Success(200, "Prometheus' text format.", None, (), (b"text/plain",)),
    ),
    open_operation(
        "/openapi.json",
        service_handlers.openapi,
        "This description.",
        Success(200, "An OpenAPI 3.1 document.", dict),
    ),
    open_operation(
        "/docs",
        service_handlers.docs,
        "This description, to read.",
        Success(200, "A page.", None, (), (b"text/html",)),
    ),
)

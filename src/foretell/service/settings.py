"""The settings of a server.

Each is a field of one struct, which also holds its words for `foretell serve --help` and for the
table in docs/live.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ADMIN_KEY = "FORETELL_ADMIN_KEY"
"""The variable with the first admin key: flags are seen by others, and files are copied."""


def _meta(must_be: str, description: str, **bounds: Any) -> Meta:
    """Return what a setting must be, and what it is for."""
    return Meta(description=description, extra={"must_be": must_be}, **bounds)


_BYTES = {"ge": 1024, "le": 1 << 30}
_SECONDS = {"gt": 0, "le": 366 * 86400}
_BUDGET = {"gt": 0, "le": 1e12}
_BUDGET_IS = "a number above 0, at most 1e12"


class Settings(Struct, frozen=True, kw_only=True):
    """All that can be set of a server."""

    db: Annotated[
        str,
        _meta(
            "the name of a file, or an address that begins with postgresql://",
            "The database: a file, or an address of PostgreSQL; made where there is none.",
            min_length=1,
        ),
    ] = "foretell.db"
    host: Annotated[
        str, _meta("a name or an address", "Where to listen; 0.0.0.0 is everywhere.", min_length=1)
    ] = "127.0.0.1"
    port: Annotated[
        int,
        _meta("a whole number from 0 to 65535", "TCP port; 0 picks a free one.", ge=0, le=65535),
    ] = 8000
    root_path: (
        Annotated[
            str,
            _meta(
                "a path like /foretell, without a slash at its end",
                "The path under which a proxy serves it: links, redirections and cookies get it.",
                pattern=r"^(/[A-Za-z0-9._~-]+)+\Z",
            ),
        ]
        | None
    ) = None
    cors_origin: (
        Annotated[
            str,
            _meta(
                "origins like https://shop.example, with commas between them, or *",
                "Sites whose scripts may read answers in a browser; keys do not belong there.",
                pattern=r"^(\*|https?://[^\s,/*]+( *, *https?://[^\s,/*]+)*)\Z",
            ),
        ]
        | None
    ) = None
    durability: Annotated[
        Literal["full", "relaxed"],
        _meta(
            "full or relaxed",
            "full: a 2xx is on disk. relaxed: decisions are answered before their fsync, and "
            "survive a crash of the process, not a power cut.",
        ),
    ] = "full"
    time_scale: (
        Annotated[
            float,
            _meta(
                "a number above 0, at most 1000000",
                "Run a new test database at this many times the speed of the clock.",
                gt=0,
                le=1e6,
            ),
        ]
        | None
    ) = None
    log_format: Annotated[
        Literal["console", "json"],
        _meta("console or json", "How log lines are written, to standard error."),
    ] = "console"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        _meta("debug, info, warning or error", "The least that is logged."),
    ] = "info"
    access_log: Annotated[
        bool,
        _meta(
            "true or false",
            "Log every request: its id, operation, key, status, bytes and seconds.",
        ),
    ] = False
    telemetry: Annotated[
        bool,
        _meta(
            "true or false",
            "Send traces and metrics with OpenTelemetry, where its own OTEL_… variables say.",
        ),
    ] = False
    max_event: Annotated[
        int,
        _meta(
            "a whole number from 1024 to 2^30",
            "Bytes of the body of one decision or report; 413 over it.",
            **_BYTES,
        ),
    ] = 1 << 19
    max_body: Annotated[
        int,
        _meta(
            "a whole number from 1024 to 2^30", "Bytes of any other body; 413 over it.", **_BYTES
        ),
    ] = 1 << 20
    max_batch: Annotated[
        int,
        _meta("a whole number from 1024 to 2^30", "Bytes of a batch; 413 over it.", **_BYTES),
    ] = 2 << 20
    max_in_flight: Annotated[
        int,
        _meta(
            "a whole number from 1 to 1000000",
            "Requests served at the same time; 429 over it.",
            ge=1,
            le=1_000_000,
        ),
    ] = 1000
    max_in_flight_per_key: Annotated[
        int,
        _meta(
            "a whole number from 1 to 1000000",
            "Requests of one key served at the same time; 429 over it.",
            ge=1,
            le=1_000_000,
        ),
    ] = 500
    max_header_bytes: Annotated[
        int,
        _meta(
            "a whole number from 1024 to 2^30",
            "Bytes of the first line and the headers of a request; 431 over it.",
            **_BYTES,
        ),
    ] = 1 << 16
    max_headers: Annotated[
        int,
        _meta(
            "a whole number from 8 to 10000",
            "Headers of a request; 431 over it.",
            ge=8,
            le=10_000,
        ),
    ] = 100
    header_seconds: Annotated[
        float,
        _meta(
            "a number of seconds above 0, at most a year",
            "How long the headers of a request may take; 408 over it.",
            **_SECONDS,
        ),
    ] = 10.0
    body_seconds: Annotated[
        float,
        _meta(
            "a number of seconds above 0, at most a year",
            "How long a body may take, and a second more for each 16 KiB; 408 over it.",
            **_SECONDS,
        ),
    ] = 10.0
    key_requests_per_second: (
        Annotated[float, _meta(_BUDGET_IS, "Requests a second of one key; 429 over it.", **_BUDGET)]
        | None
    ) = None
    key_bytes_per_second: (
        Annotated[
            float, _meta(_BUDGET_IS, "Bytes of bodies a second of one key; 429 over it.", **_BUDGET)
        ]
        | None
    ) = None
    key_context_per_second: (
        Annotated[
            float,
            _meta(
                _BUDGET_IS, "Bytes of stored context a second of one key; 429 over it.", **_BUDGET
            ),
        ]
        | None
    ) = None
    scrub_seconds: Annotated[
        float,
        _meta(
            "a number of seconds above 0, at most a year",
            "Pause between two checks of everything that is stored.",
            **_SECONDS,
        ),
    ] = 3600.0
    drain_seconds: Annotated[
        int,
        _meta(
            "a whole number of seconds from 1 to 3600",
            "How long requests in flight may take to finish at a stop.",
            ge=1,
            le=3600,
        ),
    ] = 10

"""CORS: which other sites' scripts may read answers in a browser. None, unless it is set.

A key that a page holds can be read by everybody who opens the page: docs/how-to/browsers.md says
what to do instead.
"""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
_ASKED = ("Authorization", "Content-Type", "If-Match", "X-Request-Id")
_SHOWN = ("ETag", "Location", "Retry-After", "X-Request-Id")
_REMEMBERED_SECONDS = 600


def cors_middleware(inner: ASGIApp, origins: str) -> CORSMiddleware:
    """Let scripts of some origins, with commas between them, read what `inner` answers.

    No cookie is ever accepted from another site: a request from there needs a key.
    """
    return CORSMiddleware(
        inner,
        allow_origins=[origin.strip() for origin in origins.split(",")],
        allow_methods=_METHODS,
        allow_headers=_ASKED,
        expose_headers=_SHOWN,
        max_age=_REMEMBERED_SECONDS,
    )

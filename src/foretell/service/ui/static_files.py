"""Stylesheets, scripts and the icon: each is sent as it is, and kept by the browser."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from starlette.types import Receive, Scope, Send

from foretell.pages import read_static
from foretell.service.http.problems import problem_response
from foretell.service.http.responses import send_response
from foretell.service.model.errors import NotFound

_MEDIA = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_OF_PAGES = ("page.css", "uPlot.min.css", "uPlot.iife.min.js")
"""Those that other pages have too."""
_OWN = (
    "ui.css",
    "charts.css",
    "theme.js",
    "live.js",
    "draw.js",
    "first_weeks.js",
    "once.js",
    "forms.js",
    "retry.js",
    "icon.svg",
)
NAMES = frozenset((*_OF_PAGES, *_OWN))


@cache
def static_file(name: str) -> tuple[bytes, bytes]:
    """Return a file and its tag."""
    if name in _OF_PAGES:
        content = read_static(name)
    else:
        content = resources.files("foretell.service.ui").joinpath("static", name).read_bytes()
    return content, b'"%s"' % hashlib.sha256(content).hexdigest()[:16].encode()


class StaticFiles:
    """Answers requests for the files of the dashboard, which hold nothing secret."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        name = scope["path_params"]["name"]
        if name not in NAMES or scope["method"] not in {"GET", "HEAD"}:
            problem = NotFound("there is no such file: open the page again")
            await send_response(problem_response(problem), "ui", scope["method"], receive, send)
            return
        content, tag = static_file(name)
        known = dict(scope["headers"]).get(b"if-none-match") == tag
        headers = [
            (b"cache-control", b"no-cache"),
            (b"etag", tag),
            (b"x-content-type-options", b"nosniff"),
        ]
        if not known:
            headers.append((b"content-type", _MEDIA[name.rpartition(".")[2]]))
            headers.append((b"content-length", b"%d" % len(content)))
        start = {"type": "http.response.start", "status": 304 if known else 200, "headers": headers}
        await send(start)
        body = b"" if known or scope["method"] == "HEAD" else content
        await send({"type": "http.response.body", "body": body})

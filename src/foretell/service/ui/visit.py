"""A request of a browser, and the answers that it can be given."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.types import Receive, Scope

from foretell.pages import render
from foretell.service.engine import Engine
from foretell.service.http.responses import Response
from foretell.service.model.events import Author
from foretell.service.model.keys import Caller
from foretell.service.model.sessions import form_token, is_session
from foretell.service.ui.banners import banners
from foretell.service.ui.site import Site

COOKIE = "foretell_session"
_COOKIE = f"{COOKIE}=".encode()
REFRESH = b"x-refresh"
"""The header with which an open page asks for what may have changed in it."""
READ_AGAIN = b"x-read-again"
"""The header that says after how many seconds there can be something new in it."""
MAX_FIELDS = 100
"""Fields of a form: 413 over it. The largest of our own has some twenty."""
HTML = b"text/html; charset=utf-8"
PAGE_HEADERS = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class Visit(NamedTuple):
    """One request; `caller` is whose session it is, None before somebody has signed in."""

    site: Site
    params: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    scope: Scope
    receive: Receive
    caller: Caller | None
    session: str

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.site.engine

    @property
    def author(self) -> Author | None:
        """What the log calls the key, if it changes something."""
        return None if self.caller is None else self.caller.author

    @property
    def may_change(self) -> bool:
        """Whether the key may change something."""
        return self.caller is not None and "admin" in self.caller.scopes

    @property
    def may_see_all(self) -> bool:
        """Whether the key is for all campaigns."""
        return self.caller is not None and self.caller.campaign is None

    def may_use(self, campaign: str) -> bool:
        """Return whether a campaign is one that the key is for."""
        return self.caller is not None and self.caller.may_use(campaign)

    def page(
        self,
        title: str,
        main: str,
        status: int = 200,
        here: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
        *,
        forms: bool = False,
        passes: bool = False,
    ) -> Response:
        """Return a page around what it has to say; `here` is its part of the site.

        A page with `forms` says when the server is away, and one about a problem that `passes`
        opens itself again when it has.
        """
        runtime, live = self.engine.runtime, here in {"campaigns", "operations"}
        text = render(
            "frame.html",
            title=title,
            main=main,
            here=here,
            live=live,
            forms=forms and self.caller is not None,
            passes=passes,
            banners=banners(self.engine, shows=live),
            head=runtime.log.head(),
            caller=self.caller,
            may_change=self.may_change,
            token=form_token(self.session) if self.session else "",
        )
        return Response(status, text.encode(), (*PAGE_HEADERS, *headers), HTML)

    async def kept_page(
        self, title: str, what: Hashable, make: Callable[[], Awaitable[str]], here: str
    ) -> Response:
        """Return a page that all who may see it share, or for an open page the parts of it."""
        made = await self.site.kept(what, make)
        if REFRESH in dict(self.scope["headers"]):
            again = b"%.2f" % made.read_again_after()
            packed = ((b"content-encoding", b"gzip"), (b"x-content-type-options", b"nosniff"))
            return Response(200, made.packed, (*packed, (READ_AGAIN, again)), HTML)
        return self.page(title, made.main, here=here)

    def form_page(
        self,
        template: str,
        title: str,
        status: int = 200,
        here: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
        **values: Any,
    ) -> Response:
        """Return a page with a form, which holds the token of this session."""
        token = form_token(self.session) if self.session else ""
        main = render(template, token=token, **values)
        return self.page(title, main, status, here, headers, forms=True)


PageHandler = Callable[[Visit], Awaitable[Response]]


def redirect(to: str, *headers: tuple[bytes, bytes]) -> Response:
    """Return a redirection that is then read with GET."""
    return Response(303, b"", ((b"location", to.encode()), *headers), HTML)


def campaign_address(name: str, part: str = "") -> str:
    """Return the address of a campaign's page."""
    return f"/ui/campaigns/{quote(name)}{part}"


def session_of(headers: Mapping[bytes, bytes]) -> str:
    """Return the session that a browser has sent, or nothing.

    Whoever has no key can send cookies too: they are split, and nothing in them is unquoted.
    """
    for part in headers.get(b"cookie", b"").split(b";"):
        if part.lstrip().startswith(_COOKIE):
            sent = part.strip()[len(_COOKIE) :].decode("latin-1")
            if is_session(sent):
                return sent
    return ""


def came_from(headers: Mapping[bytes, bytes], here: str) -> str | None:
    """Return the page of this site from which a browser came to another; None: it does not say."""
    sent = headers.get(b"referer", b"").decode("latin-1")
    host, slash, rest = sent.partition("://")[2].partition("/")
    path = slash + re.split("[?#]", rest, maxsplit=1)[0]
    own = host == headers.get(b"host", b"").decode("latin-1")
    inside = path == "/ui" or path.startswith("/ui/")
    return path if own and inside and path not in {here, "/ui/sign-in"} else None


def is_from_here(headers: Mapping[bytes, bytes]) -> bool | None:
    """Return whether a form was sent by a page of this site; None: the browser does not say."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None and site not in {b"same-origin", b"none"}:
        return False
    if origin is None:
        return True if site == b"same-origin" else None
    scheme, _, host = origin.partition(b"://")  # no more is in an origin
    return scheme in {b"http", b"https"} and host != b"" and host == headers.get(b"host")

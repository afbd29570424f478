"""What every request of a browser passes through, from its session to its page.

How long a form may be goes by who has sent it, for it is parsed between the requests of others.
Somebody who is signed in may type in a campaign with thousands of actions; a stranger can send a
key, and what was typed when a session was over.
"""

from __future__ import annotations

import time
from hmac import compare_digest
from time import perf_counter
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from starlette.types import Receive, Scope, Send

from foretell.pages import render
from foretell.service.http.bodies import ClientDisconnected, HeaderMap, check_media, read_body
from foretell.service.http.endpoint import CLIENT_GONE
from foretell.service.http.problems import problem_of
from foretell.service.http.responses import Response, request_id, send_response
from foretell.service.model.errors import (
    Forbidden,
    LogUnavailable,
    RequestProblem,
    TooLarge,
    Unauthorized,
    WrongMethod,
)
from foretell.service.model.keys import Caller
from foretell.service.model.sessions import form_token
from foretell.service.ui.site import Site
from foretell.service.ui.unsent_forms import send_again, sign_in_again
from foretell.service.ui.visit import (
    MAX_FIELDS,
    PageHandler,
    Visit,
    came_from,
    is_from_here,
    redirect,
    session_of,
)

FORM = b"application/x-www-form-urlencoded"
SIGN_IN_PAGE = "/ui/sign-in"
ANOTHER_SITE = "this form was not sent by a page of this site: open the page again"


class FormLimit(NamedTuple):
    """How long a form may be, and what to do with a longer one."""

    size: int
    """Bytes of its body: 413 over it."""
    advice: str


SIGNED_IN = FormLimit(256 << 10, "send what needs more through the API, as /docs says")
"""Forms of a session, whose key may send what the page is for."""
SIGNED_OUT = FormLimit(
    16 << 10, "sign in in another window of this browser, then go back and send the form again"
)
"""Forms of this site whose session is over: they are kept for whoever signs in."""
SIGN_IN = FormLimit(24 << 10, "send a key alone")
"""The form with a key: a form of a session that was over is in it too, by a third longer."""


class PageRoute(NamedTuple):
    """A page: where it is, what makes it, and what a key must be allowed to see it."""

    name: str
    path: str
    get: PageHandler | None = None
    post: PageHandler | None = None
    scope: str | None = "read"
    """None: nobody has to be signed in."""
    each_campaign: bool = False
    """Whether it shows any number of campaigns, and leaves out those that a key is not for."""


class PageEndpoint:
    """One page: the session, the key, the form and its token, the handler, in this order."""

    def __init__(self, route: PageRoute, site: Site) -> None:
        """Serve a page of a site."""
        self._route = route
        self._site = site
        self.name = f"ui_{route.name}"
        self._done = site.metrics.done("ui")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, method = perf_counter(), scope["method"]
        scope["operation"] = self
        visit = self._visit(scope, receive)
        try:
            response = await self._answer(visit, method)
        except ClientDisconnected:
            self._done(scope.get("refused", CLIENT_GONE), perf_counter() - began)
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the browser gets a page
            response = self._refusal(visit, error)
        self._done(response.status, perf_counter() - began)
        await send_response(response, self.name, method, receive, send)

    def _visit(self, scope: Scope, receive: Receive) -> Visit:
        headers = dict(scope["headers"])
        session = session_of(headers)
        caller = self._site.engine.session_caller(session, time.time()) if session else None
        scope["caller"] = caller
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        params, held = scope["path_params"], session if caller is not None else ""
        return Visit(self._site, params, query, {}, scope, receive, caller, held)

    async def _answer(self, visit: Visit, method: str) -> Response:
        route = self._route
        handler = route.post if method == "POST" else route.get
        if handler is None or method not in {"GET", "HEAD", "POST"}:
            raise WrongMethod(f"this page does not know the method {method[:20]!r}: open it anew")
        headers: HeaderMap = dict(visit.scope["headers"])
        if route.scope is not None and visit.caller is not None:
            self._let_in(visit, visit.caller, route.scope)
        elif route.scope is not None and method != "POST":
            return redirect(f"{SIGN_IN_PAGE}?next={quote(visit.scope['path'])}")
        elif route.scope is not None and not is_from_here(headers):
            raise Unauthorized("you are signed out, or your key was revoked: sign in again")
        if method == "POST":
            form = await self._form(visit, headers)
            sent = form.pop("token", "")
            visit = visit._replace(form=form)
            if route.scope is not None and not _is_of_session(sent, visit.session):
                return _unsent(visit, headers)
        return await handler(visit)

    def _let_in(self, visit: Visit, caller: Caller, scope: str) -> None:
        """Raise unless the key of the session may see the page."""
        if caller.scopes.isdisjoint({scope, "admin"}):
            raise Forbidden(
                f"this needs a key with the scope {scope}, and yours has "
                f"{', '.join(sorted(caller.scopes))} alone: sign in with another key"
            )
        asked = visit.params.get("campaign")
        if "decision" in visit.params:
            asked = visit.engine.campaign_of(visit.params["decision"])
        elif asked is None and caller.campaign is not None and not self._route.each_campaign:
            raise Forbidden(
                f"your key is for the campaign {caller.campaign!r} alone, and this is about all of "
                f"them: sign in with a key for all campaigns"
            )
        if asked is not None and not caller.may_use(asked):
            raise Forbidden("your key is for another campaign alone: sign in with another key")

    async def _form(self, visit: Visit, headers: HeaderMap) -> dict[str, str]:
        """Read a form; nothing is read of one that another site has sent."""
        if is_from_here(headers) is False:
            raise Forbidden(ANOTHER_SITE)
        check_media(headers, (FORM,))
        limit = SIGNED_OUT if visit.caller is None else SIGNED_IN
        return await _read_form(
            visit.receive, headers, SIGN_IN if self._route.scope is None else limit
        )

    def _refusal(self, visit: Visit, error: Exception) -> Response:
        """Return the page that says what went wrong."""
        problem: RequestProblem = problem_of(error, self.name, request_id(visit.scope))
        asked = visit.scope["method"] != "POST"  # what was sent is not sent again
        passes, signed_in = asked and isinstance(problem, LogUnavailable), visit.caller is not None
        main = render(
            "problem.html",
            problem=problem,
            signed_in=signed_in,
            passes=passes,
            back=came_from(dict(visit.scope["headers"]), visit.scope["path"]),
        )
        seconds = problem.retry_after
        again = () if seconds is None else ((b"retry-after", b"%d" % seconds),)
        return visit.page(problem.title, main, problem.status, headers=again, passes=passes)


def _is_of_session(token: str, session: str) -> bool:
    """Return whether the token of a form is that of a session."""
    return bool(session) and compare_digest(token.encode(), form_token(session).encode())


def _unsent(visit: Visit, headers: HeaderMap) -> Response:
    """Return the way to send a form again whose session is over, if it is surely our own."""
    if visit.caller is None:
        return sign_in_again(visit)
    if not is_from_here(headers):
        raise Forbidden(ANOTHER_SITE)
    return send_again(visit, visit.scope["path"], visit.form, status=409)


async def _read_form(receive: Receive, headers: HeaderMap, limit: FormLimit) -> dict[str, str]:
    """Read a form, or raise TooLarge before it is taken apart."""
    try:
        body = await read_body(receive, headers, limit.size)
    except TooLarge as problem:
        what = str(problem).rpartition(": ")[0].replace("the body", "a form here", 1)
        raise TooLarge(f"{what}: {limit.advice}") from None
    try:
        fields = parse_qsl(
            body.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise TooLarge(f"a form must have at most {MAX_FIELDS} fields: {limit.advice}") from None
    return dict(fields)

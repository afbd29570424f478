"""What every request of a browser passes through, from its session to its page."""

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
from foretell.service.model.errors import Forbidden, RequestProblem, Unauthorized, WrongMethod
from foretell.service.model.keys import Caller
from foretell.service.model.sessions import form_token
from foretell.service.ui.site import Site
from foretell.service.ui.visit import PageHandler, Visit, is_from_here, redirect, session_of

FORM = b"application/x-www-form-urlencoded"
SIGN_IN = "/ui/sign-in"


class PageRoute(NamedTuple):
    """A page: where it is, what makes it, and what a key must be allowed to see it."""

    name: str
    path: str
    get: PageHandler | None = None
    post: PageHandler | None = None
    scope: str | None = "read"
    """None: nobody has to be signed in."""


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
        if route.scope is not None:
            if visit.caller is None and method != "POST":
                return redirect(f"{SIGN_IN}?next={quote(visit.scope['path'])}")
            self._let_in(visit, visit.caller, route.scope)
        if method == "POST":
            visit = visit._replace(form=await self._form(visit))
        return await handler(visit)

    def _let_in(self, visit: Visit, caller: Caller | None, scope: str) -> None:
        """Raise unless the key of the session may see the page."""
        if caller is None:
            raise Unauthorized("you are signed out, or your key was revoked: sign in again")
        if caller.scopes.isdisjoint({scope, "admin"}):
            raise Forbidden(
                f"this needs a key with the scope {scope}, and yours has "
                f"{', '.join(sorted(caller.scopes))} alone: sign in with another key"
            )
        asked = visit.params.get("campaign")
        if asked is None and "decision" in visit.params:
            asked = visit.engine.campaign_of(visit.params["decision"])
        if asked is not None and not caller.may_use(asked):
            raise Forbidden("your key is for another campaign alone: sign in with another key")

    async def _form(self, visit: Visit) -> dict[str, str]:
        """Read a form; one that another site has sent is refused."""
        headers: HeaderMap = dict(visit.scope["headers"])
        body = await read_body(visit.receive, headers, self._site.limits.body)
        check_media(headers, (FORM,))
        form = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        token, sent = form_token(visit.session), form.pop("token", "")
        expected = self._route.scope is None or compare_digest(sent.encode(), token.encode())
        if not is_from_here(headers) or not expected:
            raise Forbidden("this form was not sent by a page of this site: open the page again")
        return form

    def _refusal(self, visit: Visit, error: Exception) -> Response:
        """Return the page that says what went wrong."""
        problem: RequestProblem = problem_of(error, self.name, request_id(visit.scope))
        main = render("problem.html", problem=problem, signed_in=visit.caller is not None)
        return visit.page(problem.title, main, problem.status)

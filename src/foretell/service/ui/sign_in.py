"""Signing in with a key, and out again.

The key is sent once, in the body of a form. What the browser keeps is a random session that no
script can read and no other site can use.
"""

from __future__ import annotations

import time
from urllib.parse import quote

from foretell.pages import render
from foretell.service.http.responses import Response
from foretell.service.http.sign_ins import MOST_SIGN_INS, SIGN_IN_SECONDS
from foretell.service.model.sessions import SESSION_SECONDS
from foretell.service.ui.unsent_forms import send_again, unsent
from foretell.service.ui.visit import COOKIE, Visit, redirect

HOME = "/ui"


async def sign_in_page(visit: Visit) -> Response:
    """Ask for a key."""
    if visit.caller is not None:
        return redirect(HOME)
    return _ask(visit, "", 200)


async def sign_in(visit: Visit) -> Response:
    """Open a session for whoever has sent a valid key."""
    key = visit.form.get("key", "").strip()
    caller = visit.engine.identify(key) if key.isascii() else None
    if caller is None:
        wrong = (
            "This key is not known here, or it has expired. Ask whoever runs the service for "
            "a new one."
        )
        return _ask(visit, wrong, 401)
    if caller.scopes.isdisjoint({"read", "admin"}):
        wrong = (
            f"This key may {' and '.join(sorted(caller.scopes))}, not read. Use a key with the "
            f"scope read or admin."
        )
        return _ask(visit, wrong, 403)
    if not visit.site.sign_ins.take(caller.author.id):
        wrong = (
            f"This key has signed in {MOST_SIGN_INS} times within a minute. Wait a minute, then "
            f"sign in again; a program is to use the API, with the key in each request."
        )
        return _ask(visit, wrong, 429, (b"retry-after", b"%d" % SIGN_IN_SECONDS))
    session = await visit.engine.open_session(caller, int(time.time()) + SESSION_SECONDS)
    to, typed = visit.form.get("next", ""), visit.form.get("unsent", "")
    to = quote(to, safe="/%") if to == HOME or to.startswith(HOME + "/") else HOME
    cookie = _cookie(visit, session, SESSION_SECONDS)
    if typed:
        visit = visit._replace(caller=caller, session=session)
        return send_again(visit, to, unsent(typed), cookie)
    return redirect(to, cookie)


async def sign_out(visit: Visit) -> Response:
    """End the session, and let the browser forget it."""
    if visit.caller is not None:
        await visit.engine.close_session(visit.session)
    return redirect("/ui/sign-in", _cookie(visit, "", 0))


def _ask(visit: Visit, wrong: str, status: int, *headers: tuple[bytes, bytes]) -> Response:
    to = visit.form.get("next", visit.query.get("next", ""))
    main = render("sign_in.html", wrong=wrong, next=to, unsent=visit.form.get("unsent", ""))
    return visit.page("Sign in", main, status, headers=headers)


def _cookie(visit: Visit, session: str, seconds: int) -> tuple[bytes, bytes]:
    headers = dict(visit.scope["headers"])
    scheme = headers.get(b"x-forwarded-proto", visit.scope["scheme"].encode())
    secure = "; Secure" if scheme == b"https" else ""
    text = f"{COOKIE}={session}; Path=/ui; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    return b"set-cookie", text.encode()

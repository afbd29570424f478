"""Forms whose session is over: what was typed is not lost, and nothing is done by itself.

Whoever is signed out is asked to sign in, and then shown what they were about to send; so is
whoever sends a page that an earlier session has opened. Only forms of this site come here: those of
another are refused before.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from foretell.pages import render
from foretell.service.http.responses import Response
from foretell.service.ui.visit import MAX_FIELDS, Visit

WRONG = "You are signed out. What you typed is kept: sign in, and send it again."
_NOT_TYPED = {"again", "confirmed"}


def sign_in_again(visit: Visit) -> Response:
    """Ask for a key, and keep what was typed on the page."""
    kept = keep({**visit.form, "again": "yes"})
    main = render("sign_in.html", wrong=WRONG, next=visit.scope["path"], unsent=kept)
    return visit.page("Sign in", main, 401)


def send_again(
    visit: Visit,
    to: str,
    form: Mapping[str, str],
    *headers: tuple[bytes, bytes],
    status: int = 200,
) -> Response:
    """Show what was about to be sent, with a button that sends it."""
    typed = {name: value for name, value in form.items() if name not in _NOT_TYPED and value}
    return visit.form_page(
        "send_again.html",
        "Send it again?",
        status,
        headers=headers,
        to=to,
        fields=form,
        typed=typed,
    )


def keep(form: Mapping[str, str]) -> str:
    """Return a form as a text that a page keeps: as a field of a form it grows no further."""
    return urlsafe_b64encode(urlencode(form).encode()).rstrip(b"=").decode()


def unsent(text: str) -> dict[str, str]:
    """Return the form that a page has kept; nothing, if it is none.

    >>> unsent(keep({"name": "a b", "holdout": ""}))
    {'name': 'a b', 'holdout': ''}
    >>> unsent("é"), unsent("a"), unsent("name=a")
    ({}, {}, {})
    """
    try:
        kept = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        return dict(parse_qsl(kept, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:  # which no page of ours has made
        return {}

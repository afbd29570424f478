"""Making a campaign: what its signals and windows mean is asked, and shown before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foretell import protocol
from foretell.service.http.responses import Response, encode
from foretell.service.model.config import new_config
from foretell.service.model.errors import Conflict, RequestProblem
from foretell.service.reports.words import percent, span
from foretell.service.ui.forms import UNITS, as_body, campaign_fields, decisions_a_day, policy_names
from foretell.service.ui.typed_errors import typed_errors
from foretell.service.ui.visit import Visit, campaign_address, redirect

EMPTY = {
    "name": "",
    "actions": "",
    "signals": "click",
    "signals_ordered": "yes",
    "signal_window": "1",
    "signal_window_unit": "hours",
    "reward_window": "7",
    "reward_window_unit": "days",
    "holdout": "10",
    "explore": "2",
    "decisions_a_day": "500",
    "reward_name": "",
    "policy": "nsd-adaptive",
    "status": "draft",
}
"""What the form holds before anything is typed in."""


async def new_campaign_page(visit: Visit) -> Response:
    """Ask what is to be decided."""
    return _form(visit, EMPTY)


async def new_campaign(visit: Visit) -> Response:
    """Check what was typed in, show what will be made, and make it once that is confirmed."""
    form = EMPTY | {name: value for name, value in visit.form.items() if name in EMPTY}
    try:
        body = as_body(protocol.NewCampaign, campaign_fields(form))
        new_config(body, 0)
        decisions_a_day(form)
        if visit.form.get("confirmed") == "yes":
            view = await visit.engine.create(body, visit.author)
            visit.site.forget()
            return redirect(campaign_address(view.name))
        if body.name in visit.engine.runtime.by_name:
            raise Conflict(
                f"there is a campaign {body.name!r} already, and names are never reused: "
                f"choose another",
                field="name",
            )
    except RequestProblem as problem:
        return _form(visit, form, problem)
    if visit.form.get("confirmed") == "back":
        return _form(visit, form)
    request = msgspec.json.format(encode(body), indent=2).decode()
    return visit.form_page(
        "new_campaign_confirm.html",
        "New campaign",
        here="new",
        form=form,
        body=body,
        steps=first_steps(body),
        request=request,
    )


def first_steps(body: protocol.NewCampaign) -> list[tuple[str, str]]:
    """Return what will happen in the first weeks, and when."""
    order = " < ".join(body.signals if body.signals[0] == "none" else ["none", *body.signals])
    steps = [
        (
            f"The first {span(body.signal_window)}",
            "An even split, nearly: no signal counts before its window has closed.",
        ),
        (
            f"Until {span(body.reward_window)} have passed",
            f"“Learning”. Shares follow the order of your signals ({order}); no action is called "
            f"the best."
            if body.signals_ordered
            else "“Learning”. What a signal means is not known yet, so all actions are tried.",
        ),
        (
            f"From {span(body.reward_window)} on",
            (
                "Rewards count, decision by decision, and whether the signal can be trusted is "
                "tested all the time. It takes 50 settled rewards on two actions to say."
            ),
        ),
    ]
    if body.holdout:
        steps.append(
            (
                "Holdout, always",
                (
                    f"{percent(body.holdout)} of the decisions are drawn evenly, so that you see "
                    f"what would be earned without a policy."
                ),
            )
        )
    if body.explore:
        steps.append(
            (
                "Exploration, always",
                (
                    f"{percent(body.explore)} of the decisions are drawn evenly too, so that every "
                    f"action keeps a chance, and other policies can be tried on the log."
                ),
            )
        )
    return steps


def _form(visit: Visit, form: Mapping[str, str], problem: RequestProblem | None = None) -> Response:
    errors = {} if problem is None else typed_errors(problem.errors, form)
    context: dict[str, Any] = {
        "form": form,
        "errors": errors,
        "problem": problem,
        "units": list(UNITS),
        "policies": policy_names(),
    }
    status = 200 if problem is None else problem.status
    return visit.form_page("new_campaign.html", "New campaign", status, **context)

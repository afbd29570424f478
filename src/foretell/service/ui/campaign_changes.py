"""Changing a campaign: each page says what will happen, asks once, and does it."""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.http.problems import problem_of
from foretell.service.http.responses import Response
from foretell.service.model.errors import NotFound
from foretell.service.reports.words import many
from foretell.service.ui.formats import status_words
from foretell.service.ui.forms import as_body, policy_names
from foretell.service.ui.visit import Visit, campaign_address, redirect

POLICY_HELP = "Choose one, or type it with its settings, such as nsd-ucrl2(window=800)."


class StatusButton(NamedTuple):
    """What changes the status of a campaign, in words."""

    status: protocol.CampaignStatus
    button: str
    effect: str


STATUS_CHANGES = {
    "start": StatusButton(
        "running",
        "Start the campaign",
        "From now on it answers requests for decisions, and its policy learns from what comes.",
    ),
    "pause": StatusButton(
        "paused",
        "Pause the campaign",
        "From now on nothing is decided: whoever asks is refused, and has to use a fallback. "
        "Feedback still counts. It can be started again at any time, and forgets nothing.",
    ),
    "stop": StatusButton(
        "stopped",
        "Stop the campaign for good",
        "From now on nothing is decided, for good: a stopped campaign cannot be started again. "
        "Feedback still counts, and everything stays readable.",
    ),
}


def _ask(
    visit: Visit,
    title: str,
    effects: list[str],
    button: str,
    field: dict[str, Any] | None = None,
    error: Exception | None = None,
) -> Response:
    """Return the page that says what a change does, and asks for it."""
    problem = None if error is None else problem_of(error, "ui")
    context: dict[str, Any] = {
        "name": visit.params["campaign"],
        "heading": title,
        "effects": effects,
        "button": button,
        "field": field,
        "problem": problem,
    }
    status = 200 if problem is None else problem.status
    return visit.form_page("change.html", title, status, **context)


def _back(visit: Visit, part: str = "") -> Response:
    visit.site.forget()
    return redirect(campaign_address(visit.params["campaign"], part))


async def status_page(visit: Visit) -> Response:
    """Say what a change of the status does."""
    return _status(visit)


def _status(visit: Visit, error: Exception | None = None) -> Response:
    change = STATUS_CHANGES.get(visit.params["change"])
    if change is None:
        raise NotFound("there is no such change: open the campaign again")
    name = visit.params["campaign"]
    report = visit.engine.campaign(name)
    effects = [change.effect, f"It is {status_words(report.status)} now."]
    return _ask(visit, f"{change.button}: {name}", effects, change.button, None, error)


async def change_status(visit: Visit) -> Response:
    """Start, pause or stop a campaign."""
    change = STATUS_CHANGES.get(visit.params["change"])
    if change is None:
        raise NotFound("there is no such change: open the campaign again")
    try:
        await visit.engine.set_status(visit.params["campaign"], change.status, None, visit.author)
    except ForetellError as error:
        return _status(visit, error)
    return _back(visit)


async def action_page(visit: Visit) -> Response:
    """Ask for the name of a new action."""
    return _action(visit, "")


def _action(visit: Visit, typed: str, error: Exception | None = None) -> Response:
    name = visit.params["campaign"]
    known = [one.action for one in visit.engine.campaign(name).actions]
    effects = [
        (
            "The new action can be chosen at once, and is tried often at first because nothing "
            "is known of it. What is known of the others stays."
        ),
        f"There are {len(known)} now: {', '.join(known[:20])}{' …' if len(known) > 20 else ''}.",
    ]
    field = {
        "name": "action",
        "label": "Name of the action",
        "help": "Letters, digits, dots, hyphens and underscores. It can never be renamed.",
        "value": typed,
        "choices": (),
    }
    return _ask(visit, f"Add an action: {name}", effects, "Add the action", field, error)


async def add_action(visit: Visit) -> Response:
    """Add an action."""
    typed = visit.form.get("action", "").strip()
    try:
        body = as_body(protocol.NewAction, {"action": typed})
        await visit.engine.add_action(visit.params["campaign"], body, None, visit.author)
    except ForetellError as error:
        return _action(visit, typed, error)
    return _back(visit, "#actions")


async def policy_page(visit: Visit) -> Response:
    """Ask for another policy."""
    view = visit.engine.campaign(visit.params["campaign"])
    return await _policy(visit, view.policy)


async def _policy(visit: Visit, typed: str, error: Exception | None = None) -> Response:
    name = visit.params["campaign"]
    view, report = visit.engine.campaign(name), await visit.engine.report(name)
    effects = [
        (
            f"The new policy reads the whole log ({many(report.counts.decisions, 'decision')}) "
            f"beside the traffic. Until it has, {view.policy} decides; then the new one does."
        ),
        "Nothing is lost: the old policy can be set again in the same way.",
    ]
    field = {
        "name": "policy",
        "label": "Policy",
        "help": POLICY_HELP,
        "value": typed,
        "choices": policy_names(),
    }
    return _ask(visit, f"Change the policy: {name}", effects, "Change the policy", field, error)


async def change_policy(visit: Visit) -> Response:
    """Change the policy; its refit goes on, and the page of the campaign says how far it is."""
    name, typed = visit.params["campaign"], visit.form.get("policy", "").strip()
    try:
        body = as_body(protocol.CampaignPatch, {"policy": typed})
        await visit.engine.patch(name, body, None, visit.author, wait=False)
    except ForetellError as error:
        return await _policy(visit, typed, error)
    return _back(visit)


async def evaluation_page(visit: Visit) -> Response:
    """Ask for a policy to try on the log."""
    return _evaluation(visit, visit.query.get("policy", "ucb"))


def _evaluation(visit: Visit, typed: str, error: Exception | None = None) -> Response:
    effects = [
        (
            "The policy is replayed on the campaign’s own log, beside the traffic. Nothing is "
            "changed: the campaign goes on as it does."
        ),
        (
            "The answer is what it would have earned, and what it would have earned without its "
            "signals. It needs decisions that explored or were held out."
        ),
    ]
    field = {
        "name": "policy",
        "label": "Policy to try",
        "help": POLICY_HELP,
        "value": typed,
        "choices": policy_names(),
    }
    title = f"Try a policy on the log: {visit.params['campaign']}"
    return _ask(visit, title, effects, "Try it", field, error)


async def evaluate(visit: Visit) -> Response:
    """Begin to evaluate a policy on the log."""
    typed = visit.form.get("policy", "").strip()
    try:
        body = as_body(protocol.NewEvaluation, {"policy": typed})
        await visit.engine.evaluate(visit.params["campaign"], body)
    except ForetellError as error:
        return _evaluation(visit, typed, error)
    return _back(visit, "#policies")

"""Names as long as the API allows, and text of any script: no page grows wider than its window."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.server_process import Server
from tests.service.ui.watched import Watched

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.minutes]

LONG = "W" * 99
NAME, REWARDS = f"{LONG}0", "مقروءاتمقروءاتمقروءات 👪📚"
ACTIONS = [f"{LONG}{number}" for number in range(4)]
SIGNALS = ["none", *(f"{LONG}{number}" for number in range(3))]
CAMPAIGN = {
    "name": NAME,
    "actions": ACTIONS,
    "signals": SIGNALS,
    "signal_silence": "unknown",
    "reward_silence": "unknown",
    "reward_name": REWARDS,
    "holdout": 0.3,
}
KEY_NAME = f"{LONG}9"
WIDTHS = (1280, 390)
DRAWN = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"
"""Resolves when charts have taken the new width."""
OVERLAPS = """() => {
  const cut = (one) => { for (let up = one; up; up = up.parentElement)
    if (getComputedStyle(up).overflowX !== "visible") return true; return false; };
  const shown = [...document.querySelectorAll("main *, header *")].filter((one) =>
    one.checkVisibility() && !cut(one) && !one.closest("svg, .u-wrap, .out-of-sight")
    && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const boxes = shown.flatMap((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [...range.getClientRects()].filter((box) => box.width > 1).map((box) => [one, box]);
  });
  const found = [];
  for (const [one, a] of boxes) for (const [other, b] of boxes) {
    if (one === other || one.contains(other) || other.contains(one)) continue;
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const texts = [one, other].map((each) => each.textContent.slice(0, 40));
    if (wide > 2 && high > 4) found.push(texts.join(" / "));
  }
  return found;
}"""
"""Text that is drawn over other text."""


def misfits(page: Page, what: str) -> list[str]:
    """Return where the page is too wide, or text lies over text, with everything unfolded."""
    found = []
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    charts = page.locator("figure[data-chart]").count()
    expect(page.locator("figure[data-chart] .uplot")).to_have_count(charts)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(DRAWN)
        root = "document.documentElement"
        beyond = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        if beyond > 0:
            found.append(f"{what} is wider than {width} px by {beyond}")
        found += [f"{what}, {width} px: {one}" for one in page.evaluate(OVERLAPS)]
    return found


def test_no_page_is_wider_than_its_window(browser: Browser, tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        made = server.ask("POST", "/v1/campaigns", CAMPAIGN)
        assert made[0] == 201, made
        made = server.ask("POST", "/v1/keys", {"name": KEY_NAME, "scopes": ["read"]})
        assert made[0] == 201, made
        path = ""
        for number in range(120):
            _, decided = server.ask(
                "POST", f"/v1/campaigns/{NAME}/decisions", {"unit": f"{LONG}-{number}"}
            )
            path = f"/decisions/{decided['decision_id']}"
            signal = {"signal": SIGNALS[number % 4], "event_id": f"{number}{'ק' * 190}"}
            server.ask("POST", f"/v1{path}/signal", signal)
            server.ask("POST", f"/v1{path}/reward", {"reward": float(number % 2)})
        campaign = f"/ui/campaigns/{quote(NAME)}"
        trial = {"policy": "nsd-ucrl2(window=800)"}
        server.ask("POST", f"/v1/campaigns/{NAME}/evaluations", trial)
        watched = Watched(browser.new_context(), server.url)
        page = watched.sign_in(server.key)
        page.goto(f"{server.url}{campaign}")
        expect(page.locator("#policies")).to_contain_text("nsd-ucrl2")
        found = []
        for what, where in {
            "fleet": "/ui",
            "campaign": campaign,
            "pause": f"{campaign}/change/pause",
            "new action": f"{campaign}/new-action",
            "policy": f"{campaign}/policy",
            "evaluation": f"{campaign}/evaluation",
            "decision": f"/ui{path}",
            "operations": "/ui/operations",
            "new campaign": "/ui/new-campaign",
        }.items():
            page.goto(server.url + where)
            found += misfits(page, what)
        page.goto(f"{server.url}/ui/new-campaign")
        page.fill("#name", f"{LONG}1")
        page.fill("#actions", "\n".join(ACTIONS))
        page.fill("#signals", "\n".join(SIGNALS[1:]))
        page.fill("#reward_name", REWARDS)
        page.get_by_role("button", name="Show what will be made").click()
        expect(page.locator("#first-weeks .uplot")).to_be_visible()
        found += misfits(page, "confirmation")
        assert found == []
        assert watched.complaints == []
        page.context.close()

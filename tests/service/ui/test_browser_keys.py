"""Every page by keys alone: what can be done with a mouse is reached, seen and done without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.server_process import Server
from tests.service.ui.watched import Watched

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.minutes]

CAMPAIGN = {
    "name": "hero",
    "actions": ["a", "b"],
    "signals": ["none", "click"],
    "signal_silence": "unknown",
    "reward_silence": "unknown",
    "holdout": 0.3,
}
STOP = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  if (one === document.body) return null;
  return {
    name: (one.getAttribute("aria-label") ?? (one.innerText || one.name || one.tagName)).trim(),
    place: [...document.querySelectorAll("*")].indexOf(one),
    ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight
      && box.left < innerWidth && box.right > 0,
  };
}"""
"""Where the focus is, and whether somebody can see it."""
REACHABLE = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
  .filter((one) => one.checkVisibility())
  .map((one) => [...document.querySelectorAll("*")].indexOf(one))"""
"""What keys must reach."""


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        for number in range(120):
            _, decided = server.ask("POST", "/v1/campaigns/hero/decisions", {})
            path = f"/v1/decisions/{decided['decision_id']}"
            server.ask("POST", f"{path}/signal", {"signal": "click" if number % 3 else "none"})
            server.ask("POST", f"{path}/reward", {"reward": float(number % 2)})
        watched = Watched(browser.new_context(viewport={"width": 1280, "height": 900}), server.url)
        yield watched.sign_in(server.key)
        assert watched.complaints == []
        watched.page.context.close()


def next_stop(page: Page) -> dict[str, Any] | None:
    """Press Tab; return where the focus is now, which must be seen."""
    page.keyboard.press("Tab")
    stop: dict[str, Any] | None = page.evaluate(STOP)
    if stop is not None:
        assert stop["ring"] >= 2, f"the focus on {stop['name']!r} is not seen"
        assert stop["seen"], f"{stop['name']!r} has the focus and is not in the window"
    return stop


def walk(page: Page) -> None:
    """Go through a page from its start to its end; every stop is seen, and none is left out."""
    page.reload()
    stops: list[int] = []
    while (stop := next_stop(page)) is not None:
        assert not stops or stop["place"] != stops[-1], f"no key leads away from {stop['name']!r}"
        stops.append(stop["place"])
        assert len(stops) < 300, "the page has no end"
    assert stops == sorted(stops), "the focus jumps about"
    assert set(page.evaluate(REACHABLE)) <= set(stops)


def go_to(page: Page, name: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(300):
        stop = next_stop(page)
        if stop is not None and stop["name"] == name:
            return
    pytest.fail(f"{name!r} cannot be reached by keys")


def open_link(page: Page, name: str, heading: str) -> None:
    go_to(page, name)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(heading)


def test_every_page_is_walked_and_used_by_keys_alone(page: Page) -> None:
    walk(page)
    open_link(page, "hero", "hero")
    expect(page.locator("figure[data-chart] .uplot").first).to_be_visible()
    walk(page)
    go_to(page, "To the content")
    page.keyboard.press("Enter")
    open_link(page, "Pause", "Pause the campaign: hero")
    walk(page)
    open_link(page, "Pause the campaign", "hero")
    expect(page.locator("#lead .state")).to_contain_text("Paused")
    open_link(page, "Start", "Start the campaign: hero")
    open_link(page, "Start the campaign", "hero")
    expect(page.locator("#lead .state")).not_to_contain_text("Paused")
    open_link(page, "Add an action", "Add an action: hero")
    walk(page)
    go_to(page, "action")
    page.keyboard.type("c")
    page.keyboard.press("Enter")
    expect(page.locator("#actions")).to_contain_text("c")
    open_link(page, "Change the policy", "Change the policy: hero")
    walk(page)
    go_to(page, "policy")
    page.keyboard.press("Control+a")
    page.keyboard.type("ucb")
    page.keyboard.press("Enter")
    expect(page.locator("#history")).to_contain_text("ucb")
    go_to(page, page.locator("#latest a").first.inner_text())
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Decision of")
    walk(page)


def test_a_chart_is_read_by_keys(page: Page) -> None:
    open_link(page, "hero", "hero")
    go_to(page, page.locator("#traffic .canvas").get_attribute("aria-label") or "")
    tip = page.locator("#traffic .tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("%")
    page.keyboard.press("Home")
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(tip).to_be_visible()
    next_stop(page)
    expect(tip).to_be_hidden()
    page.locator("#traffic .canvas").hover()
    expect(tip).to_be_visible()


def test_a_campaign_is_made_by_keys_alone(page: Page) -> None:
    open_link(page, "New campaign", "New campaign")
    walk(page)
    for field, typed in (("name", "typed"), ("actions", "one\ntwo"), ("signals", "click")):
        go_to(page, field)
        page.keyboard.type(typed)
    open_link(page, "Show what will be made", "Make typed?")
    expect(page.locator("#first-weeks .uplot")).to_be_visible()
    go_to(page, "Make the campaign")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("typed")
    open_link(page, "Operations", "Operations")
    walk(page)

"""The dashboard in a real browser, over the demonstration: pages, verdicts, live updates.

Screenshots of every page go to out/screens/. `make test` installs Chromium where it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from foretell.service.ui.statuses import shown
from tests.service.server_process import Server
from tests.service.ui.demo_process import EXPECTED, Demo
from tests.service.ui.watched import WAIT, Watched

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.minutes]

SCREENS = Path("out/screens")
PAGES = {
    "fleet": "/ui",
    "campaign": "/ui/campaigns/bookshop-front",
    "misleading": "/ui/campaigns/app-feed",
    "stopped": "/ui/campaigns/checkout",
    "learning": "/ui/campaigns/gift-finder",
    "operations": "/ui/operations",
    "new-campaign": "/ui/new-campaign",
    "change": "/ui/campaigns/bookshop-front/policy",
}
SIZES = {"wide": 1280, "narrow": 390}
LOOKS = (("wide", "light"), ("wide", "dark"), ("narrow", "dark"), ("narrow", "light"))
SCANNED = {("wide", "light"), ("narrow", "dark")}
"""The looks in which axe-core scans every page."""
SEED = 8_000_000
"""Its worlds are not those that `make demo-live` shows."""


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    started = Demo(SEED)
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def watched(browser: Browser, demo: Demo) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = Watched(context, demo.url)
    opened.sign_in(demo.key)
    yield opened
    assert opened.complaints == []
    context.close()


def test_the_four_campaigns_say_what_was_planted(demo: Demo, watched: Watched) -> None:
    page = watched.page
    assert demo.statuses() == EXPECTED
    names = page.locator(".fleet tbody th > a").all_inner_texts()
    assert names == ["checkout", "app-feed", "gift-finder", "bookshop-front"]  # urgent ones first
    for name, status in EXPECTED.items():
        page.goto(f"{demo.url}/ui/campaigns/{name}")
        expect(page.locator("#lead .state")).to_contain_text(shown(status).word)
    for name, verdict in (("app-feed", "Misleading"), ("gift-finder", "Too early")):
        page.goto(f"{demo.url}/ui/campaigns/{name}")
        expect(page.locator("#validity .answer .state")).to_contain_text(verdict)
    page.goto(f"{demo.url}/ui/campaigns/bookshop-front")
    expect(page.locator("#changes .answer")).to_contain_text("changed about")


def serious_findings(page: Page) -> list[str]:
    """Return what axe-core finds that would keep somebody from using the page."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


def test_every_page_draws_and_can_be_read_by_everybody(demo: Demo, watched: Watched) -> None:
    SCREENS.mkdir(parents=True, exist_ok=True)
    latest = demo.read("/campaigns/bookshop-front/events?type=decision&limit=1")["events"][0]
    pages = PAGES | {"decision": f"/ui/decisions/{latest['body']['decision_id']}"}
    page = watched.page
    for name, path in pages.items():
        page.goto(demo.url + path)
        for width, theme in LOOKS:
            page.set_viewport_size({"width": SIZES[width], "height": 900})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            charts = page.locator("figure[data-chart]").count()
            expect(page.locator("figure[data-chart] .uplot")).to_have_count(charts)
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, f"{name} is wider than the screen by {beyond} px"
            if (width, theme) in SCANNED:
                assert serious_findings(page) == [], f"{name}, {width}, {theme}"
            page.screenshot(path=SCREENS / f"{name}-{width}-{theme}.png", full_page=True)


def test_a_page_follows_the_log_by_itself(demo: Demo, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{demo.url}/ui/campaigns/bookshop-front")
    expect(page.locator("#live")).to_contain_text("Live")
    page.locator("#traffic details summary").click()
    page.get_by_role("button", name="click", exact=True).click()
    before = page.locator("#lead").inner_text()
    moved = "text => document.getElementById('lead').innerText !== text"
    page.wait_for_function(moved, arg=before, timeout=WAIT)
    assert page.locator("#traffic details").get_attribute("open") is not None
    assert page.locator("[data-signal=click]").get_attribute("aria-pressed") == "true"


def test_keys_alone_are_enough(demo: Demo, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{demo.url}/ui/campaigns/bookshop-front")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#main$"), timeout=WAIT)
    page.goto(f"{demo.url}/ui/campaigns/bookshop-front/change/pause")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Pause the campaign":
            break
    else:
        pytest.fail("the button cannot be reached by keys")


def test_a_campaign_is_made_in_the_browser(demo: Demo, watched: Watched) -> None:
    page = watched.page
    page.get_by_role("link", name="New campaign").click()
    page.fill("#name", "made-in-a-browser")
    page.fill("#actions", "one\ntwo\nthree")
    page.fill("#signals", "click\norder")
    page.fill("#decisions_a_day", "20")
    page.fill("#reward_window", "12")
    page.select_option("[name=reward_window_unit]", "minutes")
    watched.complaints.clear()
    page.get_by_role("button", name="Show what will be made").click()
    expect(page.locator("#reward_window-error")).to_be_visible()
    watched.complaints.clear()  # Chromium logs that a page has come with 422
    page.fill("#reward_window", "7")
    page.select_option("[name=reward_window_unit]", "days")
    page.get_by_role("button", name="Show what will be made").click()
    expect(page.locator("h1")).to_have_text("Make made-in-a-browser?")
    expect(page.locator("#first-weeks .uplot")).to_be_visible(timeout=WAIT)
    assert serious_findings(page) == []
    page.screenshot(path=SCREENS / "confirm-wide-light.png", full_page=True)
    page.get_by_role("button", name="Make the campaign").click()
    expect(page.locator("#lead .state")).to_contain_text("Draft")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("h1")).to_have_text("made-in-a-browser")
    view = demo.read("/campaigns/made-in-a-browser")
    assert view["status"] == "running"
    assert view["signals"] == ["none", "click", "order"]


def test_a_page_finds_the_server_again_after_a_restart(browser: Browser, tmp_path: Path) -> None:
    with Server(tmp_path) as first:
        port = str(urlsplit(first.url).port)
        watched = Watched(browser.new_context(), first.url)
        page = watched.sign_in(first.key)
        expect(page.locator("#live")).to_contain_text("Live")
        assert first.stop() == 0
    expect(page.locator("#lost")).to_be_visible(timeout=WAIT)
    with Server(tmp_path, "--port", port) as second:
        expect(page.locator("#live")).to_contain_text("Live", timeout=WAIT)
        expect(page.locator("#lost")).to_be_hidden()
        second.ask(
            "POST", "/v1/campaigns", {"name": "new", "actions": ["a", "b"], "signals": ["x"]}
        )
        expect(page.locator("#fleet")).to_contain_text("new", timeout=WAIT)
        second.ask("DELETE", f"/v1/keys/{second.ask('GET', '/v1/keys')[1]['keys'][0]['id']}")
        page.context.close()

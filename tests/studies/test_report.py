"""The pages in a real browser: charts draw, hover and toggle, tables sort, all of it offline.

`make test` installs Chromium where it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request

from foretell.pages import render
from foretell.studies.leaderboard.report import NumberCell
from foretell.studies.paper import chosen_studies
from foretell.studies.reproduce import run_studies
from tests.browser import chromium

pytestmark = [pytest.mark.compiled, pytest.mark.slow]


def is_remote(request: Request) -> bool:
    return request.url.startswith("http")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page")
    run_studies(
        chosen_studies(["fig2", "fig3", "explore"]), out, runs=3, seed=0, cache=out / "cache"
    )
    return (out / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: errors.append(request.url) if is_remote(request) else None)
    opened.goto(address)
    opened.wait_for_selector(".live .uplot")
    yield opened
    assert errors == []
    context.close()


def test_every_still_figure_becomes_a_chart(page: Page) -> None:
    figures = page.locator("figure[data-chart]").count()
    assert figures == 4
    assert page.locator("figure .live").count() == figures
    assert page.locator("figure[data-chart=fig3] .uplot").count() == 3
    assert not page.locator("figure[data-chart=fig3] .still").is_visible()


def test_values_are_shown_under_the_pointer(page: Page) -> None:
    chart = page.locator("figure[data-chart=fig2] .u-over")
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 300, "y": 60})
    readout = page.locator("figure[data-chart=fig2] .readout").inner_text()
    assert readout.startswith("round ")
    assert "nsd-ucrl2, W=400" in readout
    assert "[" in readout


def test_a_policy_can_be_switched_off(page: Page) -> None:
    figure = page.locator("figure[data-chart=fig2]")
    figure.get_by_label("nsd-ucrl2, W=400").uncheck()
    figure.locator(".u-over").hover(position={"x": 300, "y": 60})
    readout = figure.locator(".readout").inner_text()
    assert "W=400" not in readout
    assert "W=800" in readout


def test_the_scale_can_be_switched(page: Page) -> None:
    figure = page.locator("figure[data-chart=fig2]")
    before = figure.locator("canvas").screenshot()
    figure.get_by_label("logarithmic scale").check()
    assert figure.locator("canvas").screenshot() != before


def labels_of(page: Page, figure: str) -> list[str]:
    """Return what the charts of a figure write when their scale is made logarithmic again."""
    return page.evaluate(
        """async (name) => {
          const box = document.querySelector(`figure[data-chart=${name}] .controls input`);
          box.click();
          await new Promise((done) => setTimeout(done, 200));
          const written = [];
          const draw = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
            written.push(text);
            return draw.call(this, text, ...place);
          };
          box.click();
          await new Promise((done) => setTimeout(done, 200));
          CanvasRenderingContext2D.prototype.fillText = draw;
          return written;
        }""",
        figure,
    )


def test_log_axes_have_round_and_exact_labels(page: Page) -> None:
    numbers = {text for text in labels_of(page, "growth") if text[:1].isdigit()}
    assert {"10,000", "20,000", "50,000", "1,000"} <= numbers
    assert all(re.fullmatch(r"(1|2|5)(0|,)*", text) for text in numbers if len(text) > 3)


def test_sliders_move_through_the_cells(page: Page) -> None:
    figure = page.locator("figure[data-explorer]")
    row = figure.locator("tr", has_text="nsd-ucrl2")
    before = row.locator(".number").inner_text()
    window = figure.get_by_role("slider", name="window")
    window.focus()
    page.keyboard.press("ArrowRight")
    assert window.get_attribute("aria-valuetext") == "1,600"
    assert row.locator(".number").inner_text() != before
    assert "window 1,600" in figure.locator(".said").inner_text()
    others = figure.locator("tr", has_text="oracle-nsd").locator(".number")
    told = others.inner_text()
    window.focus()
    page.keyboard.press("ArrowLeft")
    assert others.inner_text() == told
    figure.get_by_role("slider", name="delay").focus()
    page.keyboard.press("ArrowRight")
    assert others.inner_text() != told


def test_a_link_into_a_fold_opens_it(page: Page) -> None:
    remark = page.locator("#claim-w-800-best")
    assert not remark.is_visible()
    page.locator("section#fig2 a[href='#claim-w-800-best']").click()
    assert remark.is_visible()


def test_sentences_are_stacked_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    claim = page.locator("article.claim").first
    words, reading = (claim.locator("> div").nth(n).bounding_box() for n in (0, 1))
    assert words is not None
    assert reading is not None
    assert reading["y"] >= words["y"] + words["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_print_shows_the_still_figures(page: Page, tmp_path: Path) -> None:
    page.emulate_media(media="print")
    assert page.locator("figure[data-chart=fig3] .still").is_visible()
    assert not page.locator("figure[data-chart=fig3] .live").is_visible()
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


def test_a_leaderboard_sorts_by_a_click_and_shows_what_is_searched_for(browser: Browser) -> None:
    keys = {"b": 10.0, "a": None, "c": 2.0}
    rows = [
        {"scenario": name, "part": "held out", "policy": name, "spec": name, "numbers": [number]}
        for name, number in {name: NumberCell(key, str(key)) for name, key in keys.items()}.items()
    ]
    text = render("leaderboard.html", made="", columns=[], summary=[], heat="", cells=rows)
    page = browser.new_page()
    page.set_content(text)

    def shown() -> list[str]:
        return page.locator("#cells tbody tr:visible th").all_inner_texts()

    assert shown() == ["b", "a", "c"]
    page.locator("#cells").get_by_role("button", name="regret").click()
    assert shown() == ["c", "b", "a"]
    page.locator("#cells").get_by_role("button", name="regret").click()
    assert shown() == ["a", "b", "c"]
    page.locator("#cells").get_by_role("button", name="scenario").click()
    assert shown() == ["a", "b", "c"]
    page.get_by_role("searchbox").fill("10")
    assert shown() == ["b"]
    page.close()

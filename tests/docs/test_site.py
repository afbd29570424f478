"""The documentation site: complete, without a dead link, and without a request to another host."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import foretell as ft
from foretell.policies import policy_table, registered_policies
from tests.browser import chromium

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
VENDORED = ("katex", "iframe-worker")
LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
"""What a browser asks for without being told to."""


class Links(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.append(value)
            if (tag, name) in {*LOADED, ("a", "href")} and value:
                self.links.append(value)


def build(target: Path) -> None:
    """Build the site as `make docs` does: a warning is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(target)]
    built = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stdout + built.stderr


@pytest.mark.slow
def test_the_site_is_whole_and_works_from_disk(tmp_path: Path) -> None:
    """All that takes the built site is here, because building it takes long."""
    build(tmp_path)
    pages = {page: Links(page.read_text("utf-8")) for page in sorted(tmp_path.rglob("*.html"))}
    assert dead_links(pages) == []
    assert {link for found in pages.values() for link in found.loaded if "//" in link} == set()
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text("utf-8"))
    check_parameters(tmp_path)
    check_in_a_browser(tmp_path)


def dead_links(pages: dict[Path, Links]) -> list[str]:
    """Return every link that leads to no file, or to no heading of a page."""
    dead: list[str] = []
    for page, found in pages.items():
        if page.name == "404.html":  # its links are those of a server's root
            continue
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            there = pages[target].anchors if target in pages else set()
            if not target.is_file() or (anchor and anchor not in {"__top", *there}):
                dead.append(f"{page.name}: {link}")
    return dead


def check_parameters(site: Path) -> None:
    """Every parameter of a policy is in a table of its page."""
    known = registered_policies()
    for row in policy_table(shipped=True):
        text = (site / "policies" / f"{row.name}.html").read_text("utf-8")
        for field in dataclasses.fields(known[row.name].spec):
            assert f"<td><code>{field.name}</code></td>" in text, f"{field.name} of {row.name}"
        assert r"\|" not in text


def check_in_a_browser(site: Path) -> None:
    """Formulas and search work in pages that are opened from disk, and ask no host for anything."""
    asked: list[str] = []
    broken: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda one: asked.append(one.url))
        page.on("pageerror", lambda error: broken.append(str(error)))
        for name in ("bounds", "errata", "explanation/what-is-possible"):
            page.goto((site / f"{name}.html").as_uri())
            formulas = page.locator(".arithmatex").count()
            assert formulas > 5
            assert page.locator(".arithmatex > [class^=katex]").count() == formulas
        page.locator(".md-search__input").fill("posterior sampling")
        page.locator(".md-search-result__item").first.wait_for(timeout=60_000)
    assert broken == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def listed_in_nav() -> set[str]:
    """Return every page that the navigation names."""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    return set(re.findall(r"([\w./-]+\.md)$", nav, flags=re.MULTILINE))


def test_every_page_is_in_the_navigation() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    notebooks = {
        path.relative_to(DOCS).with_suffix(".md").as_posix() for path in DOCS.rglob("*.ipynb")
    }
    assert len(notebooks) == 3
    listed = {page for page in listed_in_nav() if not page.startswith("project/")}
    assert listed == {"index.md", *pages, *notebooks}


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text("utf-8") for page in (DOCS / "reference" / "python").glob("*.md"))
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)}
    shown |= set(re.findall(r"\w+", " ".join(re.findall(r"members: \[(.*)\]", text))))
    policies = {entry.spec.__name__ for entry in registered_policies().values()}
    assert set(ft.__all__) - shown - policies == set()


@pytest.mark.parametrize("name", VENDORED)
def test_what_is_vendored_has_its_licence(name: str) -> None:
    assert "MIT" in (DOCS / "assets" / name / "LICENSE").read_text("utf-8")

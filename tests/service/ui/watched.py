"""A page in a real browser whose errors and requests are kept."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, expect

WAIT = 120_000
"""Milliseconds to wait at most: the machine may be busy."""


class Watched:
    """A page whose errors and requests are kept."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url, self.complaints = url, list[str]()
        self.page = context.new_page()
        self.page.on("console", lambda said: self._note(said.text, said.type == "error"))
        self.page.on("pageerror", lambda error: self._note(str(error), wrong=True))
        self.page.on("request", self._check)

    def _note(self, text: str, wrong: bool) -> None:
        if wrong:
            self.complaints.append(text)

    def _check(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.url).netloc:
            self.complaints.append(f"a request left the host: {request.url}")

    def sign_in(self, key: str) -> Page:
        self.page.goto(f"{self.url}/ui")
        expect(self.page.locator("input[name=key]")).to_be_focused()
        self.page.keyboard.type(key)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("h1")).to_have_text("Campaigns")
        return self.page

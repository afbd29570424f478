"""The page of the API shows every operation and loads nothing."""

from __future__ import annotations

from html.parser import HTMLParser

from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import Served


class Links(HTMLParser):
    """The anchors of a page, its links, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.loads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href":
                self.links.add(value or "")
            elif name in {"src", "srcset", "action"}:
                self.loads.add(value or "")
        if tag in {"script", "link", "iframe"}:
            self.loads.add(tag)


def test_the_page_shows_every_operation_and_loads_nothing(served: Served) -> None:
    answer = served.client.get("/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = Links()
    page.feed(answer.text)
    assert not page.loads
    assert "url(" not in answer.text
    assert len(page.ids) == len(set(page.ids))
    assert {one.name for one in OPERATIONS} <= set(page.ids)
    for link in page.links - {"/openapi.json"}:
        assert link.startswith("#")
        assert link[1:] in page.ids, link
    assert answer.text.count("curl http") == len(OPERATIONS)

"""Behind a real nginx: the files of deploy/ serve, and a path in front is followed everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

import foretell
from tests.browser import chromium
from tests.deploy.tools import DEPLOY, Nginx, free_port
from tests.service.server_process import CAMPAIGN, KEY, Server

PREFIX = "/foretell"
HEADERS = {"Authorization": f"Bearer {KEY}"}
LINK = re.compile(r'\b(href|src|action|formaction|data-[a-z-]+)="(/[^"]*)"')

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service under a path of a site, as deploy/nginx-path.conf has it."""
    folder, port = tmp_path_factory.mktemp("path"), free_port()
    with Server(folder, "--root-path", PREFIX) as server:
        part = (DEPLOY / "nginx-path.conf").read_text("utf-8")
        assert part.count("http://127.0.0.1:8000") == 1
        part = part.replace("http://127.0.0.1:8000", server.url)
        other = "location / { return 418; }"
        content = f"server {{ listen 127.0.0.1:{port}; {part} {other} }}"
        with Nginx(folder, content, port) as nginx:
            yield nginx.url


@pytest.fixture
def client(site: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site, timeout=60) as client:
        yield client


def test_what_is_made_is_found_at_its_location(client: httpx2.Client) -> None:
    body = CAMPAIGN | {"name": "located"}
    made = client.post(f"{PREFIX}/v1/campaigns", json=body, headers=HEADERS)
    decided = client.post(f"{PREFIX}/v1/campaigns/located/decisions", headers=HEADERS)
    for answer in (made, decided):
        assert answer.status_code == 201
        assert answer.headers["location"].startswith(f"{PREFIX}/v1/")
        assert client.get(answer.headers["location"], headers=HEADERS).status_code == 200


def test_the_description_says_where_the_service_is(client: httpx2.Client) -> None:
    document = client.get(f"{PREFIX}/openapi.json").json()
    assert [one["url"] for one in document["servers"]] == [PREFIX]
    page = client.get(f"{PREFIX}/docs").text
    assert f"curl http://localhost:8000{PREFIX}/v1/campaigns" in page
    assert "localhost:8000/v1" not in page


def test_the_sdk_takes_an_address_with_a_path(site: str) -> None:
    with foretell.Client(f"{site}{PREFIX}", key=KEY) as client:
        client.create_campaign(**CAMPAIGN | {"name": "by-sdk"})
        assert client.decide("by-sdk").action in {"a", "b"}


def test_metrics_stay_inside(client: httpx2.Client) -> None:
    assert client.get(f"{PREFIX}/metrics").status_code == 404
    assert client.get(f"{PREFIX}/livez").status_code == 200
    assert client.get("/v1/campaigns", headers=HEADERS).status_code == 418, "that is the site's"


def signed_in(client: httpx2.Client) -> httpx2.Response:
    asked = client.get(f"{PREFIX}/ui/operations")
    assert asked.status_code == 303
    to = asked.headers["location"]
    assert to == f"{PREFIX}/ui/sign-in?next=/ui/operations"
    form = {"key": KEY, "next": "/ui/operations"}
    return client.post(f"{PREFIX}/ui/sign-in", data=form)


def test_a_session_is_sent_to_the_dashboard_alone(client: httpx2.Client) -> None:
    answer = signed_in(client)
    assert answer.headers["location"] == f"{PREFIX}/ui/operations"
    assert f"Path={PREFIX}/ui;" in answer.headers["set-cookie"]
    assert client.get(f"{PREFIX}/ui/operations").status_code == 200
    left = client.post(f"{PREFIX}/ui/sign-out", data={"token": ""})
    assert f"Path={PREFIX}/ui;" in left.headers["set-cookie"]


def test_every_link_of_the_dashboard_leads_to_something_under_the_path(
    client: httpx2.Client,
) -> None:
    client.post(f"{PREFIX}/v1/campaigns", json=CAMPAIGN, headers=HEADERS)
    client.post(f"{PREFIX}/v1/campaigns/{CAMPAIGN['name']}/decisions", headers=HEADERS)
    signed_in(client)
    waiting, seen = [f"{PREFIX}/ui"], set()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == (404 if address == f"{PREFIX}/metrics" else 200), address
        if answer.headers["content-type"].startswith("text/html"):
            assert int(answer.headers["content-length"]) == len(answer.content)
            for kind, link in LINK.findall(answer.text):
                assert link.startswith(f"{PREFIX}/"), f"{kind} of {address}"
                if kind in {"href", "src"}:
                    waiting.append(urlsplit(link.replace("&amp;", "&")).path)
    assert {f"{PREFIX}/ui/operations", f"{PREFIX}/ui/campaigns/home-hero"} <= seen
    assert len(seen) > 10


def test_head_is_told_no_length_that_is_not_that_of_the_page(client: httpx2.Client) -> None:
    assert client.head(f"{PREFIX}/ui/sign-in").headers.get("content-length") is None


def test_a_browser_signs_in_and_follows_the_stream_under_the_path(site: str) -> None:
    failed: list[Any] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("response", lambda one: failed.append(one.url) if one.status >= 400 else None)
        page.goto(f"{site}{PREFIX}/ui")
        page.fill("input[name=key]", KEY)
        page.click("button[type=submit]")
        page.wait_for_url(f"{site}{PREFIX}/ui")
        page.wait_for_selector("#live:has-text('Live')", timeout=60_000)
    assert failed == []


def test_two_deciders_serve_behind_the_proxy_of_the_compose_file(tmp_path: Path) -> None:
    """The proxy takes turns, keeps metrics inside, and goes on when one server stops."""
    port = free_port()
    config = (DEPLOY / "nginx.conf").read_text("utf-8").replace("8080", f"127.0.0.1:{port}")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with Server(folders[0]) as first, Server(folders[1]) as second:
        for name, server in (("decider-1", first), ("decider-2", second)):
            config = config.replace(f"{name}:8000", urlsplit(server.url).netloc)
            server.ask("POST", "/v1/campaigns", CAMPAIGN | {"name": name})
        assert "decider-" not in config
        with (
            Nginx(tmp_path, config, port) as nginx,
            httpx2.Client(base_url=nginx.url, headers=HEADERS, timeout=60) as client,
        ):

            def names() -> set[str]:
                shown = client.get("/v1/campaigns")
                assert shown.status_code == 200
                return {one["name"] for one in shown.json()["campaigns"]}

            assert {name for _ in range(8) for name in names()} == {"decider-1", "decider-2"}
            assert client.get("/metrics").status_code == 404
            assert client.get("/livez").status_code == 200
            copy = client.get("/v1/backup")
            assert copy.content.startswith(b"SQLite format 3")
            second.stop()
            assert [names() for _ in range(4)] == [{"decider-1"}] * 4


CORS = ["https://shop.example", "http://localhost:3000"]


def test_without_these_settings_there_is_no_path_and_no_other_origin(tmp_path: Path) -> None:
    asked = {
        "Origin": CORS[0],
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    where = "/v1/campaigns/home-hero/decisions"
    with Server(tmp_path) as server, httpx2.Client(base_url=server.url) as client:
        assert client.get("/openapi.json").json()["servers"][0]["url"] == "/"
        assert 'href="/ui/' in client.get("/ui/sign-in").text
        for answer in (client.options(where, headers=asked), client.get("/livez", headers=asked)):
            assert not [name for name in answer.headers if name.startswith("access-control")]
    with (
        Server(tmp_path, "--cors-origin", ", ".join(CORS)) as server,
        httpx2.Client(base_url=server.url) as client,
    ):
        for origin in CORS:
            allowed = client.options(where, headers=asked | {"Origin": origin})
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == origin
            assert "access-control-allow-credentials" not in allowed.headers
            got = client.get("/livez", headers={"Origin": origin})
            assert got.headers["access-control-allow-origin"] == origin
            assert "Retry-After" in got.headers["access-control-expose-headers"]
        stranger = {"Origin": "https://elsewhere.example"}
        assert client.options(where, headers=asked | stranger).status_code == 400
        assert "access-control-allow-origin" not in client.get("/livez", headers=stranger).headers

"""The dashboard of a campaign with a million decisions, 50 actions and 20 signals.

How long it takes until a real Chromium has painted its page, and whether a hundred open pages are
felt by those who ask for decisions meanwhile. For that two servers run at once and are asked for
decisions in turns, one of them with the pages and one without, and then the other way round, each
time long enough for the page to be made anew: so both feel alike what else the machine does, which
moves a p99 far more than pages do. Some lines do not depend on it at all: the CPU of server and
browser until all is drawn, that of the server for open pages, and the longest turn of its event
loop, in CPU of its thread, while a page is made, while it is read again, and while a hundred wait
for it: for so long decisions wait.

Called as a program with a path, it makes the database of that campaign, whose counts are those of a
million decisions, as in `live_reports`, and prints these turns.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.live_server import KEY, Server, create_campaign, decide_path, load, serve
from benchmarks.measure import BenchmarkResult
from foretell.service.ui.site import MOST_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from foretell.service.engine import Engine

PAGE = "/ui/campaigns/large"
PAGES = 100
SESSIONS = 10
"""Browsers that have them open."""
RATE, SECONDS = 200, MOST_SECONDS + 3.0
"""Decisions a second while pages are open, and for how long: a page is made anew meanwhile."""
TURNS = 3


def live_dashboard() -> BenchmarkResult:
    """Measure the first paint, and decisions while pages are open."""
    result = BenchmarkResult("Dashboard, 1,000,000 decisions, 50 actions, 20 signals")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = f"{folder}/dashboard.db"
        called = [sys.executable, "-m", "benchmarks.live_dashboard", path]
        turns = json.loads(subprocess.run(called, check=True, capture_output=True).stdout)
        for what, held in turns.items():
            result.at_most(f"longest turn of the event loop, page {what}", held, 2, " ms")
        shutil.copy(path, f"{folder}/other.db")
        with serve(path) as server, serve(f"{folder}/other.db") as other:
            for one in (server, other):
                create_campaign(one.port, "small", 5, 3)
            _first_paint(result, server)
            _open_pages(result, server, other)
    return result


def _first_paint(result: BenchmarkResult, server: Server) -> None:
    """Open the page in a browser, each time when the server has to make it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        turns = [_paint(browser, server) for _ in range(TURNS)]
        browser.close()
    painted, spent, drawn = (statistics.median(one) for one in zip(*turns, strict=True))
    result.at_most("first paint in Chromium", painted, 1000, " ms")
    result.add("CPU of the server until all is drawn", f"{spent:.0f} ms", spent)
    result.add("CPU of the page in Chromium until all is drawn", f"{drawn:.0f} ms", drawn)
    result.at_most("CPU of both until all is drawn", spent + drawn, 1000, " ms")


def _paint(browser: Browser, server: Server) -> tuple[float, float, float]:
    """Return milliseconds: until text was painted, of the server's CPU, and of the page's."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"http://127.0.0.1:{server.port}/ui/sign-in")
    page.fill("#key", KEY)
    page.click("button.main")
    page.wait_for_selector("h1:has-text('Campaigns')")
    page.goto("about:blank")
    _change_campaign(server)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = server.cpu()
    page.goto(f"http://127.0.0.1:{server.port}{PAGE}")
    page.wait_for_selector(".uplot")
    spent = server.cpu() - before
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    drawn = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    painted: float = page.evaluate(
        "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    page.context.close()
    return painted, 1000 * spent, 1000 * drawn


def _change_campaign(server: Server) -> None:
    """Pause a campaign and let it go on: the server then makes every page anew."""
    for change in ("pause", "start"):
        job = {"kind": "many", "connections": 1, "port": server.port, "bodies": [""]}
        load(job | {"path": f"/v1/campaigns/small/{change}"})


class Turn(NamedTuple):
    """Decisions of two servers at once, the first of them with open pages."""

    beside: list[float]
    alone: list[float]
    """Latencies in seconds."""
    spent: float
    """CPU that the pages took of the server, in shares of a core."""
    readers: float
    generator: float
    reads: int
    size: int


def _open_pages(result: BenchmarkResult, server: Server, other: Server) -> None:
    """Compare decisions while a hundred pages are open with those of another server without any."""
    for one in (server, other):
        load(_job() | {"kind": "open", "port": one.port, "seconds": 2.0})
    turns = [_turn(server, other), _turn(other, server)]
    alone = [one for turn in turns for one in turn.alone]
    beside = [one for turn in turns for one in turn.beside]
    for name, latencies in (("no page", alone), (f"{PAGES} pages", beside)):
        for percent in (50, 99):
            taken = 1000 * _quantile(latencies, percent)
            result.add(f"decide, p{percent} with {name} open", f"{taken:.3g} ms", taken)
    ratio = _quantile(beside, 99) / _quantile(alone, 99)
    result.at_most(f"p99 of decisions, {PAGES} pages open against none", ratio, 1.2)
    ratios = [_quantile(one.beside, 99) / _quantile(one.alone, 99) for one in turns]
    result.add("each turn", ", ".join(f"{one:.2f}" for one in ratios), max(ratios))
    spent = 100 * statistics.mean(one.spent for one in turns)
    result.at_most("CPU of the server for them", spent, 10, " % of a core")
    for name, shares in (
        ("the readers", [one.readers for one in turns]),
        ("the load generator", [one.generator for one in turns]),
    ):
        share = 100 * statistics.mean(shares)
        result.add(f"CPU of {name} beside it", f"{share:.2g} % of a core", share)
    last = turns[-1]
    kilobytes = last.size / 1000
    result.add("readings of a page in a turn", f"{last.reads} of {kilobytes:.0f} kB", last.reads)


def _quantile(latencies: list[float], percent: int) -> float:
    return statistics.quantiles(latencies, n=100)[percent - 1]


def _job() -> dict[str, Any]:
    job = {"kind": "both", "connections": 8, "rate": RATE, "seconds": SECONDS}
    return job | {"path": decide_path("small")}


def _turn(server: Server, other: Server) -> Turn:
    """Ask both servers for decisions, while the first of them has pages open."""
    lasts, sessions = SECONDS + 3.0, [_sign_in(server) for _ in range(SESSIONS)]
    command = [sys.executable, "-m", "benchmarks.live_pages", str(server.port), PAGE, str(PAGES)]
    command += [str(lasts), *sessions]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pages:
        time.sleep(3.0)  # all are open
        before = server.cpu() - other.cpu()
        (beside, alone), generator = load(_job() | {"ports": [server.port, other.port]})
        spent = (server.cpu() - other.cpu() - before) / SECONDS
        reads, size, readers = json.loads(pages.communicate()[0])
    return Turn(beside, alone, spent, readers / lasts, generator / SECONDS, reads, size)


def _sign_in(server: Server) -> str:
    """Return the cookie of a session."""
    form = urllib.parse.urlencode({"key": KEY}).encode()

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    try:
        urllib.request.build_opener(Stay).open(f"http://127.0.0.1:{server.port}/ui/sign-in", form)
    except urllib.error.HTTPError as answer:
        return str(answer.headers["set-cookie"]).partition(";")[0]
    raise RuntimeError("the server did not sign in")


async def _make(path: str) -> dict[str, float]:
    """Make the database; return the longest turns of the event loop, in milliseconds of CPU."""
    from benchmarks.live_reports import ACTIONS, SIGNALS, counted
    from foretell import protocol
    from foretell.service.engine import Engine

    engine = await Engine.open(path, admin_key=KEY, compiled=False)
    actions = [f"action-{n}" for n in range(ACTIONS)]
    signals = ["none", *(f"signal-{n}" for n in range(SIGNALS - 1))]
    await engine.create(protocol.NewCampaign("large", actions, signals, holdout=0.1))
    for _ in range(2000):
        await engine.decide("large", protocol.DecisionRequest())
    await engine.settled()
    campaign = engine.runtime.by_name["large"].campaign
    campaign.counters = counted(campaign.rules, campaign.as_of)
    found = await _turns(engine)
    await engine.close()
    return found


async def _turns(engine: Engine) -> dict[str, float]:
    from benchmarks.live_reports import held_while
    from foretell.service.http import Limits, Metrics, app
    from foretell.service.server import SWITCH_SECONDS
    from foretell.service.ui import Site, ui_routes

    sys.setswitchinterval(SWITCH_SECONDS)
    limits, metrics = Limits(), Metrics(engine)
    site = Site(engine, limits, metrics)
    served = app(engine, limits, metrics, ui_routes(site))
    caller = engine.identify(KEY)
    assert caller is not None
    session = await engine.open_session(caller, int(time.time()) + 3600)
    headers = [(b"cookie", f"foretell_session={session}".encode()), (b"x-refresh", b"1")]
    scope = {"type": "http", "method": "GET", "path": PAGE, "raw_path": PAGE.encode()}
    scope |= {"headers": headers, "query_string": b"", "scheme": "http", "http_version": "1.1"}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: object) -> None:
        pass

    async def read() -> None:
        await served(dict(scope), receive, send)

    async def read_by_all() -> None:
        waiting = []
        for _ in range(PAGES):
            waiting.append(asyncio.create_task(read()))
            await asyncio.sleep(0)  # each comes on a connection of its own
        await asyncio.gather(*waiting)

    made, again, waited = [], [], []
    await read()
    for _ in range(TURNS):
        site.forget()
        made.append(await held_while(read))
        again.append(await held_while(read))
        site.forget()
        waited.append(await held_while(read_by_all))
    found = {"is made": made, "is read again": again, f"is awaited by {PAGES}": waited}
    return {what: 1000 * min(turns) for what, turns in found.items()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_make(sys.argv[1]))))

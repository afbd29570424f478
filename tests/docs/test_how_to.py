"""The pages of docs/how-to are true: their commands run, and their drills end as they say."""

from __future__ import annotations

import gzip
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import apsw
import click
import pytest

from foretell.cli import cli
from foretell.service.log.sqlite.rows import write_settings
from tests.docs.pages import DOCS, code_of, run_python, run_shell
from tests.service.log.fixtures.make_format_1 import FOLDER as FIXTURES
from tests.service.server_process import CAMPAIGN, Server, foretell

HOW_TO = DOCS / "how-to"
DECIDE = "/v1/campaigns/home-hero/decisions"

pytestmark = pytest.mark.slow


def blocks(page: str, kind: str) -> list[str]:
    """Return the code of one kind on a page."""
    return code_of(HOW_TO / f"{page}.md", kind)


def run_page(server: Server, folder: Path, page: str) -> str:
    """Run every command of a page, top to bottom; the address and the key are set."""
    known = {"FORETELL_URL": server.url, "FORETELL_ADMIN_KEY": server.key}
    return run_shell(server, folder, "\n".join(blocks(page, "sh")), **known)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a campaign that has been used."""
    with Server(tmp_path_factory.mktemp("server")) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        for number in range(5):
            body = {"unit": "user-17"} if number % 2 else {"unit": "user-18"}
            _, decided = server.ask("POST", DECIDE, body)
            server.ask("POST", f"/v1/decisions/{decided['decision_id']}/reward", {"value": 1.0})
        yield server


def test_the_drill_of_the_page_on_backups_ends_well(server: Server, tmp_path: Path) -> None:
    said = run_page(server, tmp_path, "backup")
    assert said.count("Nothing is damaged.") == 2
    assert "Restored from drill.db." in said
    assert '"rewards":5' in (tmp_path / "counted.after").read_text("utf-8")


def test_a_unit_is_erased_as_the_page_on_retention_says(server: Server, tmp_path: Path) -> None:
    assert '{"decisions":2}' in run_page(server, tmp_path, "retention")
    exported = (tmp_path / "home-hero.ndjson").read_text("utf-8")
    assert exported.count("\n") >= 11
    assert "user-1" not in exported


def test_keys_are_made_as_the_page_on_security_says(server: Server, tmp_path: Path) -> None:
    said = run_page(server, tmp_path, "security")
    assert said.count("web-frontend") >= 1
    assert "decide" in said


def test_the_page_on_security_names_what_is_public() -> None:
    from foretell.service.http.routes import OPERATIONS
    from foretell.service.ui.routes import PAGES

    page = (HOW_TO / "security.md").read_text("utf-8")
    public = page.partition("## What is public")[2].partition("## Threats")[0]
    for operation in OPERATIONS:
        assert (f"`{operation.path}`" in public) == (operation.scope is None), operation.path
    assert {one.path for one in PAGES if one.scope is None} == {"/ui/sign-in", "/ui/sign-out"}


def test_the_metrics_are_where_the_page_on_monitoring_says(server: Server, tmp_path: Path) -> None:
    assert "foretell_build_info" in run_page(server, tmp_path, "monitor")


def test_a_server_asks_for_a_page_as_the_page_on_browsers_says(
    server: Server, tmp_path: Path
) -> None:
    run_python(server, tmp_path, "\n".join(blocks("browsers", "python")))


def test_a_campaign_is_hidden_and_shown_again(server: Server, tmp_path: Path) -> None:
    """The last of those that share a server: the campaign does not run again."""
    said = run_page(server, tmp_path, "hide-campaign").splitlines()
    assert [line.count('"status":"hidden"') for line in said if "home-hero" in line] == [1, 1, 0]
    assert '"status":"stopped"' in said[-1]


def test_a_standby_goes_on_from_its_copy(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with Server(first) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        _, known = server.ask("POST", DECIDE)
        assert '"status":"ok"' in run_page(server, second, "standby")
        _, unknown = server.ask("POST", DECIDE)
        server.stop(signal.SIGKILL)
    assert "--db standby.db" in blocks("standby", "")[0]
    with Server(second, "--db", "standby.db") as standby:
        assert standby.ask("POST", DECIDE)[0] == 201
        for decided, status in ((known, "accepted"), (unknown, "parked")):
            path = f"/v1/decisions/{decided['decision_id']}/reward"
            assert standby.ask("POST", path, {"value": 1.0})[1]["status"] == status


def test_a_log_of_format_1_is_served_and_backed_up_before_an_upgrade(tmp_path: Path) -> None:
    packed = (FIXTURES / "format-1.db.gz").read_bytes()
    (tmp_path / "foretell.db").write_bytes(gzip.decompress(packed))
    key = "ftk_the-key-of-the-fixture-of-format-1"
    with Server(tmp_path, FORETELL_ADMIN_KEY=key) as server:
        listed = server.ask("GET", "/v1/campaigns")[1]["campaigns"]
        assert listed
        assert "Nothing is damaged." in run_page(server, tmp_path, "upgrade")
    restored = foretell("restore", "before-upgrade.db", "--db", "rolled-back.db", cwd=tmp_path)
    assert restored.returncode == 0, restored.stderr
    with Server(tmp_path, "--db", "rolled-back.db", FORETELL_ADMIN_KEY=key) as server:
        assert server.ask("GET", "/v1/campaigns")[1]["campaigns"] == listed


def test_a_log_of_a_newer_format_is_refused_in_the_sentence_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "foretell.db"
    path.write_bytes(gzip.decompress((FIXTURES / "format-1.db.gz").read_bytes()))
    connection = apsw.Connection(str(path))
    write_settings(connection, log_format=3)
    connection.close()
    before = path.read_bytes()
    refused = foretell("serve", "--port", "0", cwd=tmp_path)
    assert refused.returncode == 2
    assert blocks("upgrade", "")[0].strip() in refused.stderr
    assert path.read_bytes() == before, "nothing is changed"


def options(command: str) -> set[str]:
    """Return the options of a command."""
    found: click.Command | None = cli
    for name in command.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    assert found is not None
    return {"--help", *(option for one in found.params for option in one.opts)}


@pytest.mark.parametrize("page", sorted(HOW_TO.glob("*.md")), ids=lambda page: page.name)
def test_every_option_that_a_page_names_is_one(page: Path) -> None:
    text = page.read_text("utf-8").replace("\\\n", " ")
    for command, rest in re.findall(
        r"foretell (serve|keys make|verify|backup|restore)\b([^\n`]*)", text
    ):
        assert set(re.findall(r"(?<!\w)--[a-z-]+", rest)) <= options(command), rest

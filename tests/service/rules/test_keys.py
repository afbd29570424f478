"""Keys: how long they are valid, for what, when they were used, and who changed what with them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import maintenance
from foretell.service.model.errors import Conflict, Unusable
from foretell.service.model.events import Author
from foretell.service.model.timestamps import format_timestamp
from tests.service.engine_driver import SECOND, START, Served

OPERATOR = Author("0123456789ab", "operator")


def make(served: Served, *scopes: protocol.Scope, **more: Any) -> protocol.MadeKey:
    new = protocol.NewKey("web", list(scopes or ["decide"]), **more)
    return served.run(served.engine.make_key(new, OPERATOR))


def listed(served: Served) -> dict[str, protocol.KeyView]:
    keys = served.engine.keys()
    return {one.id: one for one in keys}


def in_seconds(seconds: float) -> str:
    return format_timestamp(START + round(seconds * SECOND))


def test_a_key_expires_while_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head of the log then stands still, and its clock goes on."""
    with Served(tmp_path / "a.db") as served:
        made = make(served, expires_at=in_seconds(100))
        head = served.engine.runtime.log.head()
        monkeypatch.setattr(served.engine.runtime.log, "head", lambda: head)
        assert served.engine.identify(made.key) is not None
        served.pass_time(101)
        assert served.engine.identify(made.key) is None


def test_a_key_is_valid_until_it_expires(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        made = make(served, expires_at=in_seconds(100))
        assert made.expires_at == in_seconds(100)
        for passed, valid in ((50.0, True), (49.0, True), (1.0, False), (1e6, False)):
            served.pass_time(passed)
            served.run(served.engine.settled())
            assert (served.engine.identify(made.key) is not None) is valid
            assert (made.id in listed(served)) is valid
        for again in (served.restart, served.crash):
            again()
            assert served.engine.identify(made.key) is None
        served.set_wall_clock(-2e6)
        served.restart()
        assert served.engine.identify(made.key) is None, "log time does not go back"


def test_an_expiry_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        for written, sentence in (
            ("soon", "must be a time with its zone"),
            ("2023-01-01T00:00:00Z", "must lie in the future, got '2023-01-01T00:00:00Z' at 2023"),
        ):
            with pytest.raises(Unusable, match=sentence):
                make(served, expires_at=written)
        with pytest.raises(Unusable, match="no campaign 'nowhere' for a key to be for"):
            make(served, campaign="nowhere")


def test_an_admin_that_ends_or_is_for_one_campaign_is_not_the_last(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        (first,) = served.engine.keys()
        make(served, "admin", expires_at=in_seconds(100))
        make(served, "admin", campaign="c")
        with pytest.raises(Conflict, match="the last key with the scope admin that is for all"):
            served.run(served.engine.revoke_key(first.id))
        make(served, "admin")
        served.run(served.engine.revoke_key(first.id))


def test_the_last_use_of_a_key_is_kept_without_a_write_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "TICK_SECONDS", 1e6)
    with Served(tmp_path / "a.db") as served:
        made, unused = make(served), make(served)
        before = served.engine.gauges()["commits"]
        for _ in range(100):
            assert served.engine.identify(made.key) is not None
        assert served.engine.gauges()["commits"] == before
        assert listed(served)[unused.id].last_used is None
        used = listed(served)[made.id].last_used
        assert used is not None
        served.pass_time(1000)
        served.restart()
        assert listed(served)[made.id].last_used == used
        served.run(served.engine.settled())
        served.engine.identify(made.key)
        later = listed(served)[made.id].last_used
        assert later is not None
        assert later > used


def test_the_log_names_who_changed_what(tmp_path: Path) -> None:
    engine_calls: list[tuple[str, tuple[Any, ...]]] = [
        ("set_status", ("c", "paused", None)),
        ("patch", ("c", protocol.CampaignPatch(explore=0.1), None)),
        ("patch", ("c", protocol.CampaignPatch(signal_window=10.0, reward_window=10.0), None)),
        ("add_action", ("c", protocol.NewAction("x"), None)),
        ("patch_action", ("c", "x", protocol.ActionPatch("paused"), None)),
        ("refit", ("c", None)),
        ("erase", ("c", "u")),
    ]
    new = protocol.NewCampaign("c", ["a", "b"], ["click"], "ucb")
    with Served(tmp_path / "a.db") as served:
        served.run(served.engine.create(new, OPERATOR))
        for name, arguments in engine_calls:
            served.run(getattr(served.engine, name)(*arguments, OPERATOR))
        served.run(served.engine.set_status("c", "running"))
        for again in (served.restart, served.crash):
            again()
            changes = [(one.type, one.body.get("by")) for one in served.records()]
            by = msgspec.structs.asdict(OPERATOR)
            kinds = ["created", "changed", "changed", "refit", "changed", "changed", "refit"]
            assert changes == [*((kind, by) for kind in kinds), ("erased", by), ("changed", None)]


def test_the_log_names_who_changed_keys_and_secrets(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        made = make(served, "read", "decide", campaign="c", expires_at=in_seconds(100))
        assert made.created_by == "operator"
        served.run(served.engine.revoke_key(made.id, OPERATOR))
        served.run(served.engine.rotate(OPERATOR))
        served.run(served.engine.retire_secret(0, with_ids=True, by=OPERATOR))
        page = served.run(served.engine.server_page())
        by = msgspec.structs.asdict(OPERATOR)
        shown = [(one.type, one.body) for one in page.events]
        assert shown[0] == ("secret_made", {"id": 0})
        assert shown[1][1]["name"] == "first"
        assert shown[2:] == [
            (
                "key_made",
                {
                    "id": made.id,
                    "name": "web",
                    "scopes": ("decide", "read"),
                    "campaign": "c",
                    "expires_at": in_seconds(100),
                    "by": by,
                },
            ),
            ("key_revoked", {"id": made.id, "by": by}),
            ("secret_made", {"id": 1, "by": by}),
            ("secret_withdrawn", {"id": 0, "by": by}),
        ]
        text = msgspec.json.encode(page)
        assert made.key.encode() not in text
        first = served.run(served.engine.server_page(0, 2))
        rest = served.run(served.engine.server_page(int(first.next), 100))
        assert [*first.events, *rest.events] == page.events


def test_a_restore_names_who_asked_for_it_and_the_keys_that_are_valid_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Served(tmp_path / "a.db") as served:
        made, copy = make(served), str(tmp_path / "copy.db")
        served.run(served.engine.backup(copy))
        served.run(served.engine.revoke_key(made.id))
        for revived in (f"web ({made.id})", "none"):
            caplog.clear()
            with caplog.at_level(logging.WARNING, "foretell"):
                served.run(served.engine.restore(copy, OPERATOR))
            said = f"restored by the key operator ({OPERATOR.id}); keys that are valid again: "
            assert said + revived in caplog.text

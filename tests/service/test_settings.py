"""Settings: where they come from, and what is said about a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.errors import ForetellError
from foretell.service.http import Limits
from foretell.service.settings import Settings, known_settings, read_settings


def test_a_flag_goes_before_a_variable_and_a_variable_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "live.toml"
    file.write_text('port = 1\nhost = "file"\ndb = "file.db"\n', "utf-8")
    got = read_settings(
        {"port": "3", "host": None},
        {"FORETELL_PORT": "2", "FORETELL_HOST": "variable", "FORETELL_MAX_BODY": ""},
        str(file),
    )
    assert got == Settings(port=3, host="variable", db="file.db")


def test_the_file_can_be_named_by_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "live.toml"
    file.write_text("time_scale = 60\n", "utf-8")
    assert read_settings({}, {"FORETELL_CONFIG": str(file)}).time_scale == 60.0


@pytest.mark.parametrize("name", list(known_settings()))
def test_every_setting_can_be_set_in_each_way(name: str, tmp_path: Path) -> None:
    setting = known_settings()[name]
    other = {"durability": "relaxed", "log_format": "json", "log_level": "error"}.get(name, "2048")
    written = other if name == "time_scale" or setting.kind.__origin__ in {int, float} else None
    file = tmp_path / "live.toml"
    file.write_text(f"{name} = {written or repr(other)}\n", "utf-8")
    ways = [
        read_settings({name: other}, {}),
        read_settings({}, {setting.variable: other}),
        read_settings({}, {}, str(file)),
    ]
    assert ways[0] == ways[1] == ways[2] != Settings()


@pytest.mark.parametrize(
    ("flags", "variables", "written", "sentence"),
    [
        ({"port": "http"}, {}, "", "--port must be a whole number from 0 to 65535, got 'http'"),
        ({"port": "70000"}, {}, "", "--port must be a whole number from 0 to 65535, got '70000'"),
        ({}, {"FORETELL_DURABILITY": "ful"}, "", "FORETELL_DURABILITY must be full or relaxed"),
        ({"scrub_seconds": "nan"}, {}, "", "--scrub-seconds must be a number of seconds above 0"),
        ({"time_scale": "inf"}, {}, "", "--time-scale must be a number above 0"),
        ({}, {}, 'port = "8000"', "port in 'live.toml' must be a whole number"),
        ({}, {}, "port = true", "port in 'live.toml' must be a whole number"),
        ({}, {}, "prot = 80", "there is no setting 'prot' in 'live.toml': did you mean 'port'?"),
        ({}, {}, "port = ", "'live.toml' is no TOML file"),
        ({}, {}, "[serve]\nport = 80", "there is no setting 'serve' in 'live.toml'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    flags: dict[str, str],
    variables: dict[str, str],
    written: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("live.toml").write_text(written, "utf-8")
    with pytest.raises(ForetellError) as caught:
        read_settings(flags, variables, "live.toml")
    assert str(caught.value).startswith(sentence)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ForetellError, match=r"no settings file 'nowhere.toml'"):
        read_settings({}, {}, "nowhere.toml")


def test_the_limits_are_those_of_the_http_layer() -> None:
    settings = Settings()
    assert Limits(settings.max_body, settings.max_batch, settings.max_in_flight) == Limits()

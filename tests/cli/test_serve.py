"""`foretell serve`: where its settings come from, and what is said about a bad one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from foretell.cli.serve import serve
from foretell.errors import ForetellError
from foretell.service.setting_info import known_settings
from foretell.service.settings import Settings


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in known_settings().values():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.delenv("FORETELL_CONFIG", raising=False)


def read_settings(
    monkeypatch: pytest.MonkeyPatch,
    flags: Mapping[str, str | None] = {},
    variables: Mapping[str, str] = {},
    config: str | None = None,
) -> Settings:
    """Return the settings with which `foretell serve` would start."""
    arguments = [part for pair in flags.items() for part in pair if part is not None]
    with monkeypatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        named = [] if config is None else ["--config", config]
        return Settings(**serve.make_context("serve", [*arguments, *named]).params)


def test_a_flag_goes_before_a_variable_and_a_variable_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "live.toml"
    file.write_text('port = 1\nhost = "file"\ndb = "file.db"\nmax_body = 2048\n', "utf-8")
    got = read_settings(
        monkeypatch,
        {"--port": "3"},
        {"FORETELL_PORT": "2", "FORETELL_HOST": "variable", "FORETELL_MAX_BODY": ""},
        str(file),
    )
    assert got == Settings(port=3, host="variable", db="file.db", max_body=2048)


def test_without_anything_every_setting_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings(monkeypatch) == Settings()
    assert read_settings(monkeypatch, variables={"FORETELL_PORT": ""}) == Settings()


def test_the_file_can_be_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "live.toml"
    file.write_text("time_scale = 60\n", "utf-8")
    got = read_settings(monkeypatch, variables={"FORETELL_CONFIG": str(file)})
    assert got.time_scale == 60.0


@pytest.mark.parametrize("name", list(known_settings()))
def test_every_setting_can_be_set_in_each_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = known_settings()[name]
    words = {"durability": "relaxed", "log_format": "json", "log_level": "error"}
    words |= {"root_path": "/foretell", "cors_origin": "https://a.example,http://localhost:3000"}
    other = "true" if setting.is_switch else words.get(name, "2048")
    written = other if setting.is_switch or setting.form in {"INTEGER", "NUMBER"} else None
    file = tmp_path / "live.toml"
    file.write_text(f"{name} = {written or repr(other)}\n", "utf-8")
    ways = [
        read_settings(monkeypatch, flags={setting.flag: None if setting.is_switch else other}),
        read_settings(monkeypatch, variables={setting.variable: other}),
        read_settings(monkeypatch, config=str(file)),
    ]
    assert ways[0] == ways[1] == ways[2] != Settings()


@pytest.mark.parametrize(
    ("flags", "variables", "written", "sentence"),
    [
        ({"--port": "http"}, {}, "", "--port must be a whole number from 0 to 65535, got 'http'"),
        ({"--port": "70000"}, {}, "", "--port must be a whole number from 0 to 65535, got '70000'"),
        ({"--port": ""}, {}, "", "--port must be a whole number from 0 to 65535, got ''"),
        ({}, {"FORETELL_DURABILITY": "ful"}, "", "FORETELL_DURABILITY must be full or relaxed"),
        ({"--scrub-seconds": "nan"}, {}, "", "--scrub-seconds must be a number of seconds above 0"),
        ({"--time-scale": "inf"}, {}, "", "--time-scale must be a number above 0"),
        ({"--root-path": "foretell/"}, {}, "", "--root-path must be a path like /foretell"),
        ({"--root-path": "/"}, {}, "", "--root-path must be a path like /foretell"),
        ({"--cors-origin": "shop.example"}, {}, "", "--cors-origin must be origins like https://"),
        ({"--cors-origin": "https://a.example/x"}, {}, "", "--cors-origin must be origins like"),
        ({}, {}, 'port = "8000"', "port in 'live.toml' must be a whole number"),
        ({"--port": "80"}, {}, 'port = "8000"', "port in 'live.toml' must be a whole number"),
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
        read_settings(monkeypatch, flags, variables, "live.toml")
    assert str(caught.value).startswith(sentence)


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ForetellError, match=r"no settings file 'nowhere.toml'"):
        read_settings(monkeypatch, config="nowhere.toml")

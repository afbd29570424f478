"""A user's own study file: what it means, and how its errors help."""

from __future__ import annotations

from pathlib import Path

import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.studies.study_file import read_study

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TEXT = (EXAMPLES / "windows_under_delay.toml").read_text("utf-8")
CAMPAIGN = (EXAMPLES / "campaign.toml").read_text("utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, "utf-8")
    return path


def test_policies_and_scenarios_are_crossed_with_the_grid() -> None:
    own = read_study(EXAMPLES / "windows_under_delay.toml")
    assert [panel.name for panel in own.plan().panels] == [
        "paper, delay = 100",
        "paper, delay = 500",
    ]
    for panel in own.plan().panels:
        assert [str(spec) for spec in panel.specs] == [
            "nsd-ucrl2(window=400, delta=0.1)",
            "nsd-ucrl2(window=800, delta=0.1)",
            "nsd-psrl(window=400)",
            "nsd-psrl(window=800)",
            "ucb",
        ]
        assert panel.horizon == 8000


def test_a_scenario_of_ones_own_is_read_whole() -> None:
    own = read_study(EXAMPLES / "campaign.toml")
    assert own.seed == 7
    assert len(own.plan().panels) == 4
    delays = [panel.scenario.delay for panel in own.plan().panels]
    assert [getattr(delay, "average", None) for delay in delays] == [200, 1000, 200, 1000]
    assert own.plan().panels[0].scenario.scale.high == 40.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEXT.replace("policies", "polices"), "line 5: there is no key 'polices': did you mean"),
        (TEXT.replace('delay = "{', 'dealy = "{'), "line 14: there is no setting 'dealy' of the"),
        (TEXT.replace("ucrl2(", "ucrl("), "line 5: there is no policy 'nsd-ucrl': did you mean"),
        (TEXT.replace("window={w", "windw={w"), "line 5: there is no field 'windw' of nsd-ucrl2"),
        (TEXT.replace("= 8000", '= "long"'), "line 3: Expected `int`, got `str`"),
        (TEXT.replace("= 8000", "= 0"), "line 11: the horizon must be a whole number of rounds"),
        (TEXT.replace('base = "paper"', 'base = "papre"'), "there is no scenario 'papre': did you"),
        (CAMPAIGN.replace("average", "avrage"), "line 17: there is no field 'avrage' of"),
        (CAMPAIGN.replace('"geometric"', '"geo"'), "line 17: there is no family 'geo'"),
        (
            TEXT.replace("[400, 800]", "400"),
            "line 8: the word 'window' of the grid needs a list of values, got 400: put it in",
        ),
        (CAMPAIGN.replace("0.90", "0.80"), "line 12: the law of action 0 must sum to 1"),
        (
            TEXT.replace('window={window})", "nsd-psrl', 'window={windwo})", "nsd-psrl'),
            "line 5: there is no word 'windwo' in the grid: did you mean 'window'? (line 8)",
        ),
        (
            TEXT.replace("[grid]", "[grid]\ndelta = [0.1]"),
            "line 8: no policy and no scenario uses the word 'delta' of the grid",
        ),
        (
            TEXT.replace("delay = [", 'world = ["paper", "papre"]\ndelay = [').replace(
                'base = "paper"', 'base = "{world}"'
            ),
            "line 9: there is no scenario 'papre': did you mean 'paper'?",
        ),
        (
            TEXT.replace("[400, 800]", '[400, "long"]'),
            "line 5: cannot read the fields 'window=long' of nsd-ucrl2",
        ),
        (
            TEXT.replace("horizon", 'imports = ["nothing.py"]\nhorizon'),
            "line 3: there is no file",
        ),
        (
            TEXT + '[[scenarios]]\nname = "paper"\nbase = "paper"\n',
            "line 15: two scenarios are called 'paper'",
        ),
        ("title = [", "study.toml is not valid TOML"),
        ("horizon = 5\npolicies = []\nscenarios = []", "needs at least one policy and one"),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_study(written(tmp_path, text))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no study file"):
        read_study(tmp_path / "nowhere.toml")


def test_the_theta_of_a_named_scenario_can_be_moved(tmp_path: Path) -> None:
    moved = (
        'title = "t"\nhorizon = 12000\npolicies = ["uniform"]\n[[scenarios]]\n'
        'base = "theta-drifts"\n'
        'theta_changes = { pattern = "steps", towards = [[3000, [0.1, 0.2, 0.3, 0.4]]] }\n'
    )
    (panel,) = read_study(written(tmp_path, moved)).plan().panels
    assert panel.scenario.theta_changes == ft.theta_steps([(3000, [0.1, 0.2, 0.3, 0.4])])

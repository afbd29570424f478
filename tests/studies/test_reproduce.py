"""The studies of the paper, run small: every control is refused, and what is plain comes out."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from foretell.errors import UnknownName
from foretell.studies import runner
from foretell.studies.paper import STUDIES, chosen_studies
from foretell.studies.plan import FinishedStudy
from foretell.studies.reproduce import run_studies
from foretell.studies.sentences import sentences

PLAIN = {
    "larger-window-smaller-regret": "supported",
    "large-window-variance": "supported",
    "w-800-best": "not supported",
    "w-1243": "not supported",
    "nsd-beats-non-oracles": "supported",
    "small-window-linear": "supported",
    "agnostic-linear": "supported",
    "oracle-ucb-linear-long-delay": "supported",
    "undelayed-oracles-beat-their-twins": "supported",
    "w-800-best-tight": "supported",
    "oracles-beat-everyone": "not supported",
    "psrl-similar": "not supported",
    "low-mixing-on-par": "supported",
    "favourable-on-par": "not supported",
    "bad-case-diverges": "supported",
    "fig6-best-action-changes": "not supported",
    "fig8-best-action-changes": "not supported",
    "random-delays-cost-their-mean": "supported",
    "agnostic-pays-every-change": "supported",
    "nsd-pays-once": "supported",
    "switching-rate": "supported",
    "stationary-rate": "supported",
    "theorem-1": "supported",
    "theorem-2": "supported",
}
"""Verdicts far from any border, whatever the seed."""

RUNS = 12


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[FinishedStudy], Path]:
    out = tmp_path_factory.mktemp("report")
    finished = run_studies(list(STUDIES.values()), out, runs=RUNS, seed=3, cache=out / "cache")
    return finished, out


def test_every_claim_has_a_name_of_its_own() -> None:
    names = [claim.name for study in STUDIES.values() for claim in study.claims]
    assert len(names) == len(set(names))
    assert set(PLAIN) <= set(names)


def test_a_figure_is_found_by_its_number_and_a_wrong_one_by_the_nearest() -> None:
    assert [study.name for study in chosen_studies(["fig7", "fig5"])] == ["fig3", "fig4"]
    assert chosen_studies(["all"]) == list(STUDIES.values())
    with pytest.raises(UnknownName, match="did you mean 'fig8'"):
        chosen_studies(["fig9"])


@pytest.mark.compiled
@pytest.mark.slow
class TestReport:
    """One small reproduction, looked at from all sides."""

    def test_every_control_is_refused(self, report: tuple[list[FinishedStudy], Path]) -> None:
        passed = [
            verdict.claim.name
            for one in report[0]
            for verdict in one.verdicts
            if verdict.control.holds is not False
        ]
        assert passed == []

    def test_what_is_plain_comes_out(self, report: tuple[list[FinishedStudy], Path]) -> None:
        words = {v.claim.name: v.word for one in report[0] for v in one.verdicts}
        assert {name: words[name] for name in PLAIN} == PLAIN

    def test_every_figure_and_table_is_written(
        self, report: tuple[list[FinishedStudy], Path]
    ) -> None:
        finished, out = report
        figures = {chart.name for one in finished for chart in one.charts}
        assert {"fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8"} <= figures
        for name in figures:
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            ET.parse(out / f"{name}.svg")  # noqa: S314  our own file
        for one in finished:
            for table in one.tables:
                assert (out / f"{one.study.name}-{table.name}.csv").stat().st_size > 0

    def test_text_in_figures_can_be_selected(
        self, report: tuple[list[FinishedStudy], Path]
    ) -> None:
        drawn = (report[1] / "fig3.svg").read_text("utf-8")
        assert re.search(r"<text[^>]*>\s*oracle-nsd-nd\s*</text>", drawn)

    def test_the_page_stands_alone(self, report: tuple[list[FinishedStudy], Path]) -> None:
        page = (report[1] / "index.html").read_text("utf-8")
        assert not re.search(r'(src|href)="(https?:)?//', page)
        assert "<script src" not in page
        assert "{{" not in re.sub(
            r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL
        )

    def test_the_page_tells_the_paper_the_problem_and_the_findings_first(
        self, report: tuple[list[FinishedStudy], Path]
    ) -> None:
        page = (report[1] / "index.html").read_text("utf-8")
        parts = (
            "Non-Stationary Delayed Bandits with Intermediate Observations",
            '<figure data-chart="fig3">',
            "The problem.",
            '<ol class="main-results">',
            '<figure data-explorer="explore">',
            "<nav>",
            '<section id="fig2">',
            "sentence by sentence",
            "<summary>Side remarks",
            'id="errata"',
            "What the words mean",
        )
        places = [page.index(part) for part in parts]
        assert places == sorted(places)
        assert page.count('data-chart="fig3"') == 1

    def test_a_sentence_is_one_row_with_its_readings_inside(
        self, report: tuple[list[FinishedStudy], Path]
    ) -> None:
        verdicts = [verdict for one in report[0] for verdict in one.verdicts]
        main = sentences(verdicts, "main result")
        assert len(main) == 6
        assert [one.word for one in main] == ["supported"] * 6
        page = (report[1] / "index.html").read_text("utf-8")
        words = {verdict.claim.words for verdict in verdicts}
        assert page.count('<article class="claim">') == len(words) < len(verdicts)
        (best,) = (
            one for one in sentences(verdicts, "remark") if "W = 800 works" in one.claim.words
        )
        assert [one.claim.reading for one in best.verdicts] == [
            "with the printed constants",
            "with the tight constants",
        ]
        assert best.word == "depends on the reading"

    def test_the_explorer_has_every_cell_of_its_sliders(
        self, report: tuple[list[FinishedStudy], Path]
    ) -> None:
        (explorer,) = (one.explorer for one in report[0] if one.explorer)
        data = explorer.data()
        sizes = {one["name"]: len(one["values"]) for one in data["sliders"]}
        for row in data["rows"]:
            assert len(row["cells"]) == math.prod(sizes[name] for name in row["follows"])
            assert all(low <= mean <= high for mean, low, high in row["cells"].values())

    def test_a_second_call_reads_the_cache_and_writes_the_same_bytes(
        self,
        report: tuple[list[FinishedStudy], Path],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a finished cell was run again")

        monkeypatch.setattr(runner, "simulate", refuse)
        run_studies(
            chosen_studies(["fig2"]), tmp_path, runs=RUNS, seed=3, cache=report[1] / "cache"
        )
        for name in ("fig2.svg", "fig2.png", "fig2-final-regret.csv"):
            assert (tmp_path / name).read_bytes() == (report[1] / name).read_bytes()

    def test_a_damaged_cell_is_run_again(
        self, report: tuple[list[FinishedStudy], Path], tmp_path: Path
    ) -> None:
        cache = tmp_path / "cache"
        study = chosen_studies(["fig2"])
        run_studies(study, tmp_path / "one", runs=2, seed=0, cache=cache)
        for path in cache.rglob("*.cell"):
            path.write_bytes(path.read_bytes()[:100])
        run_studies(study, tmp_path / "two", runs=2, seed=0, cache=cache)
        first, second = (tmp_path / n / "fig2-final-regret.csv" for n in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()

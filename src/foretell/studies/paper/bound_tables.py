"""The tables of the bounds: by term, as charged in the proofs, bad rounds, and windows."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from foretell.policies import NsdUcrl2
from foretell.sim import simulate
from foretell.studies.tables import ReportTable, final_regret_table
from foretell.theory import (
    Bound,
    Setting,
    bad_probabilities,
    bad_rounds,
    best_window,
    difficulty,
    experiments_window,
    first_useful_horizon,
    paid_widths,
    problem_dependent_bound,
    stationary_bound,
    switching_bound,
)
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import HORIZON, LAW, THETA

if TYPE_CHECKING:
    from foretell.studies.claim import Results

DELAY, SWITCHES = 500, 3
LONG_STATIONARY, TERMS_HORIZON = 1_000_000, 1_000_000
STATIONARY = "stationary, T = 1,000,000"
HARD = difficulty(LAW, THETA)


def bound_setting(horizon: int, switches: int, constants: str = "literal") -> Setting:
    """Return the paper's problem over a horizon, as the bounds ask for it."""
    return Setting(
        horizon=horizon,
        actions=4,
        signals=3,
        switches=switches,
        delay=DELAY,
        constants=constants,  # type: ignore[arg-type]
    )


def switching_world(horizon: int) -> Scenario:
    """Return the paper's world with its changes evenly spread over a horizon."""
    length = horizon // (SWITCHES + 1)
    return scenario(
        "paper", delay=DELAY, changes=shifts(at=[length * i for i in range(1, SWITCHES + 1)])
    )


def _theorem_3(setting: Setting) -> Bound:
    return problem_dependent_bound(setting, HARD.smallest_gap, HARD.smallest_probability)


THEOREMS = (
    ("Theorem 1", 0, stationary_bound),
    ("Theorem 2", SWITCHES, switching_bound),
    ("Theorem 3", SWITCHES, _theorem_3),
)


def _terms_table() -> ReportTable:
    rows = []
    for name, switches, bound in THEOREMS:
        for constants in ("literal", "tight"):
            setting = bound_setting(HORIZON, switches, constants)
            promised = bound(setting)
            useful = first_useful_horizon(setting, HARD.largest_gap, bound)
            rows.append(
                (
                    name,
                    constants,
                    promised.window,
                    *(round(value) for value in promised.by_name().values()),
                    round(promised.total),
                    "vacuous" if promised.vacuous(HARD.largest_gap) else "informative",
                    useful if useful is not None else "never",
                )
            )
    columns = ("bound", "constants", "window", "switching", "law", "theta", "azuma", "delay")
    return ReportTable(
        "bounds",
        f"The bounds at T = {HORIZON}, D = {DELAY}, δ = 0.1, by term; vacuous where they exceed T "
        f"times the largest gap, {HORIZON * HARD.largest_gap:.0f}",
        (*columns, "total", "verdict", "says something from T ="),
        tuple(rows),
    )


@cache
def _widths() -> tuple[tuple[str, str, float, float, float], ...]:
    """Return each term of the proof, on one run of a million rounds and as promised."""
    rows = []
    for name, switches in (("stationary", 0), ("switching", SWITCHES)):
        setting = bound_setting(TERMS_HORIZON, switches)
        window = best_window(setting) if switches else TERMS_HORIZON
        world = (
            switching_world(TERMS_HORIZON)
            if switches
            else scenario("paper-stationary", delay=DELAY)
        )
        spec = NsdUcrl2(window=window) if switches else NsdUcrl2()
        batch = simulate(
            world, spec, TERMS_HORIZON, runs=1, seed=0, trajectories=True, progress=False
        )
        assert batch.trajectories is not None  # noqa: S101  they were asked for
        changes = [TERMS_HORIZON // (SWITCHES + 1) * i for i in range(1, switches + 1)]
        paid = paid_widths(
            setting, window, batch.trajectories.actions[0], batch.trajectories.signals[0], changes
        ).by_name()
        promised = switching_bound(setting, window).by_name()
        for term in ("switching", "law", "theta", "delay"):
            share = paid[term] / promised[term] if promised[term] else 0.0
            rows.append((name, term, round(paid[term]), round(promised[term]), round(share, 3)))
        rows.append(
            (
                name,
                "regret",
                round(float(batch.final[0])),
                round(sum(promised.values())),
                round(float(batch.final[0]) / sum(promised.values()), 4),
            )
        )
    return tuple(rows)


def _windows_table() -> ReportTable:
    found = experiments_window(bound_setting(HORIZON, SWITCHES))
    rows = (
        ("printed in Sec. 5", float(found.printed)),
        ("its formula, T^(2/3) (Γ K S)^(1/3)", round(found.formula, 1)),
        ("Theorem 2 without its logarithm", round(found.without_log, 1)),
        ("Theorem 2", round(found.theorem, 1)),
        ("minimises the bound with explicit constants", float(found.best)),
    )
    return ReportTable(
        "windows",
        f"Windows suggested for T = {HORIZON}, Γ = {SWITCHES}, K = 4, S = 3",
        ("window", "rounds"),
        rows,
    )


def _bad_table(results: Results) -> ReportTable:
    rows = []
    pulls = results[STATIONARY][NsdUcrl2()].actions
    for epsilon in (0.28, 0.36, 0.42):
        bad = [a for a, gap in enumerate((0.0, 0.28, 0.42, 0.36)) if gap >= epsilon - 1e-9]
        promised = bad_rounds(
            bound_setting(LONG_STATIONARY, 0),
            epsilon,
            bad_probabilities(LAW, THETA, epsilon).tolist(),
        )
        rows.append(
            (epsilon, round(float(pulls[:, bad].sum(axis=1).mean())), round(promised.total))
        )
    return ReportTable(
        "bad-rounds",
        f"Rounds with a gap of at least ε, stationary, T = {LONG_STATIONARY:,}, against Theorem 3",
        ("ε", "measured", "bound"),
        tuple(rows),
    )


def bound_tables(results: Results) -> list[ReportTable]:
    """Return every table of the study."""
    return [
        _terms_table(),
        ReportTable(
            "proof-terms",
            f"Terms of the proof on one run of T = {TERMS_HORIZON:,} rounds: widths charged and "
            f"promised",
            ("world", "term", "measured", "bound", "ratio"),
            _widths(),
        ),
        _bad_table(results),
        _windows_table(),
        final_regret_table(results),
    ]

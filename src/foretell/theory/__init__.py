"""What is promised and what is possible: the theorems of [Vernade2020] with explicit constants.

>>> from foretell.theory import Setting, switching_bound
>>> paper = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
>>> switching_bound(paper).vacuous(largest_gap=0.42)
True
"""

from foretell.theory.bounds import Bound, stationary_bound, switching_bound
from foretell.theory.gaps import Difficulty, bad_probabilities, difficulty, gaps
from foretell.theory.horizon import first_useful_horizon
from foretell.theory.instance_constants import InstanceConstant, instance_constant
from foretell.theory.lower_bounds import (
    LowerBound,
    conjectured_order,
    lower_bound,
    minimax_lower_bound,
)
from foretell.theory.measured import paid_regret, paid_widths, stable_rounds
from foretell.theory.problem_dependent import BadRounds, bad_rounds, problem_dependent_bound
from foretell.theory.radius_constants import law_radius_constant, theta_radius_constant
from foretell.theory.s_free import s_free_bound
from foretell.theory.setting import Constants, Setting
from foretell.theory.terms import Terms
from foretell.theory.tuning import (
    ExperimentsWindow,
    best_gap_window,
    best_window,
    experiments_window,
    gap_window,
    printed_bound,
    theorem_window,
)

__all__ = [
    "BadRounds",
    "Bound",
    "Constants",
    "Difficulty",
    "ExperimentsWindow",
    "InstanceConstant",
    "LowerBound",
    "Setting",
    "Terms",
    "bad_probabilities",
    "bad_rounds",
    "best_gap_window",
    "best_window",
    "conjectured_order",
    "difficulty",
    "experiments_window",
    "first_useful_horizon",
    "gap_window",
    "gaps",
    "instance_constant",
    "law_radius_constant",
    "lower_bound",
    "minimax_lower_bound",
    "paid_regret",
    "paid_widths",
    "printed_bound",
    "problem_dependent_bound",
    "s_free_bound",
    "stable_rounds",
    "stationary_bound",
    "switching_bound",
    "theorem_window",
    "theta_radius_constant",
]

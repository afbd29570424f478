"""The errata of the paper that a reader of its experiments should know; docs/errata.md has all.

Numbers are means of 50 runs with seed 0; the studies named in docs/errata.md give them with
intervals.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """A misprint, a wrong statement or a silence of the paper, and how it is read here."""

    id: str
    where: str
    printed: str
    reading: str
    consequence: str


ERRATA = (
    Erratum(
        "E1",
        "Table 1, action 3",
        "The signals of action 3 have probabilities (.8, .1, .8), which sum to 1.7.",
        "(.1, .1, .8): the only change of one entry that makes a law and gives the printed mean "
        ".28.",
        "Divided by 1.7 instead, the row would have the mean .49, and UCB a regret of 1268 in the "
        "place of 1625 at D = 500. The order of the policies is the same.",
    ),
    Erratum(
        "E2",
        "Sec. 5, choice of W",
        "Theory suggests W = T^(2/3) Γ^(1/3) (KS)^(1/3) = 1243.",
        "The formula is the order of the regret, not the window, and equals 1320.8. Theorem 2's "
        "window is 1027 for δ = 0.1.",
        "W = 800 is shorter than every window that the theory suggests with its logarithm.",
    ),
    Erratum(
        "E3",
        "Sec. 5, choice of W; Fig. 2",
        "W = 800 works best of 400, 800 and 2000.",
        "Not with the printed constants: their mean regrets are 777, 441 and 307.",
        "The order of the text appears with the tight constants of P1 and P2: 315, 202 and 275.",
    ),
    Erratum(
        "P1",
        "Sec. 3, constants under the roots (P1 and P2)",
        "C for the law is 2S ln(KWT/δ), C for θ is 2 ln(2TS/δ).",
        "Implemented as printed. The inequalities that are cited need only "
        "2 ln((2^S − 2) KWT/δ) and ½ ln(2TS/δ).",
        "Tight constants lower the regret of NSD-UCRL2 with W = 800 from 464, 539 and 656 to 226, "
        "321 and 449 at D = 100, 500 and 1000, at no cost in the proofs.",
    ),
    Erratum(
        "E4",
        "Sec. 5",
        "δ is not stated.",
        "δ = 0.1.",
        "δ = 0.05 or 1 would give NSD-UCRL2 553 or 494 in the place of 539 at D = 500.",
    ),
    Erratum(
        "E6",
        "Sec. 5, baselines",
        "The exploration constants of UCB and SW-UCB are not stated.",
        "sqrt(2 ln t / N), the UCB1 of the paper that is cited.",
        "With sqrt(ln t / 2N) Oracle-UCB falls from 578 to 243 at D = 100, and NSD-UCRL2 (464) "
        "comes to lie behind it, as the text has it.",
    ),
    Erratum(
        "E7",
        "Sec. 5, baselines",
        "Whether SW-UCB's window counts rounds or rewards that have arrived is not stated.",
        "The latest W rewards that have arrived.",
        "Over rounds, W = 800 holds no reward at all at D = 1000: uniform play, 2120 in the place "
        "of 1827.",
    ),
    Erratum(
        "E8",
        "Sec. 5, comparison",
        "D = 1000 is the extreme case D ≈ T/Γ.",
        "T/Γ is 2667, a segment has T/(Γ + 1) = 2000 rounds: D = 1000 is half a segment.",
        "Oracle-UCB learns in the second half of every segment. It is linear all the same (T^0.98 "
        "when segments and delay grow with T), because every segment has its wait.",
    ),
    Erratum(
        "E9",
        "Algorithm 1",
        "What is played when several actions have the largest index is not stated.",
        "One of them at random.",
        "The best action of the first segment is action 1. Taking the first index would hide the "
        "cost of not knowing: 354 in the place of 777 at W = 400 without delay, 334 in the place "
        "of 656 at D = 1000.",
    ),
    Erratum(
        "E11",
        "Fig. 6, caption",
        "μ is chosen so that the best arm changes in the mixed model.",
        "True at α = 0.5 only. At 0.1 the best arm stays (.64 against .396), at 0.3 barely (.520 "
        "against .508); it changes at α = 0.310.",
        "At α = 0.3 choosing the wrong one of the two costs .012 a round, so the panel says little "
        "about robustness.",
    ),
    Erratum(
        "E12",
        "Fig. 8, caption",
        "The same sentence, with μ = (0.9, 0.1, 0.1, 0.1).",
        "This is the favourable case, as the text beside it says: the best arm never changes.",
        "None for the runs.",
    ),
    Erratum(
        "E21",
        "Sec. 5 and Fig. 5, favourable case",
        "The caption says on par with UCB, the text says higher regret.",
        "The text is right.",
        "NSD-UCRL2 has 67, UCB 32.",
    ),
    Erratum(
        "E22",
        "Sec. 5 and Fig. 4",
        "UCB suffers from the higher variance of mixed rewards, most in the bad case.",
        "UCB1 does not look at variances, and in the favourable case they fall. What matters is "
        "the gap: .28 without mixing, .332 in the favourable case, .172 in the bad one.",
        "UCB's regret is 45 without mixing, 42 in the favourable case, 64 in the bad one.",
    ),
    Erratum(
        "E23",
        "Sec. 5, baselines",
        "Oracles that restart should outperform every other algorithm.",
        "Under delay nothing makes a restart optimal: Oracle-UCB also throws away the rewards "
        "that are on their way, and waits for new ones after every change.",
        "At D = 1000 Oracle-UCB has 1116, NSD-UCRL2 656 and NSD-PSRL 468.",
    ),
    Erratum(
        "S12",
        "App. F",
        "The Beta posterior sums rewards up to round t − D.",
        "Up to t − D − 1, the rewards that its own count includes.",
        "As printed, the second parameter can be 0, and for D = 0 the reward of a round would be "
        "used before the round is played.",
    ),
    Erratum(
        "T1",
        "Theorems 1 and 2",
        "The bounds hold with probability 1 − 2δ.",
        "1 − 3δ: two failure events and the martingale, δ each.",
        "None for the order of the bounds.",
    ),
    Erratum(
        "T4",
        "Theorem 3",
        "The regret bound has S/Δ_min before its first sum.",
        "SK/Δ_min: the K of the line above is lost.",
        "The bound is K times the printed one in its first term.",
    ),
)

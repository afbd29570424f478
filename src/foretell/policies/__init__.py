"""What decides: the verbs, the policies, and what they are built of."""

from foretell.policies import value_draws as value_draws  # it registers a verb of some policies
from foretell.policies.bayes_ucb import BayesUcb
from foretell.policies.cusum_ucb import CusumUcb
from foretell.policies.d_kl_ucb import DKlUcb
from foretell.policies.d_ts import DTs
from foretell.policies.d_ucb import DUcb
from foretell.policies.exp3s import Exp3S
from foretell.policies.glr_kl_ucb import GlrKlUcb
from foretell.policies.ids import Ids
from foretell.policies.kl_ucb import KlUcb
from foretell.policies.m_ucb import MUcb
from foretell.policies.metabio import MetaBio
from foretell.policies.nsd_adaptive import NsdAdaptive
from foretell.policies.nsd_kl import NsdKl
from foretell.policies.nsd_kl_glr import NsdKlGlr
from foretell.policies.nsd_psrl import NsdPsrl
from foretell.policies.nsd_psrl_cp import NsdPsrlCp
from foretell.policies.nsd_ucrl2 import NsdUcrl2
from foretell.policies.oracle import OracleNsd, OracleNsdNd, OraclePsrl, OracleUcb, OracleUcbNd
from foretell.policies.oracle_theta import OracleTheta
from foretell.policies.qpm_d import QpmD
from foretell.policies.registry import (
    Entry,
    PolicyRow,
    entry,
    policy,
    policy_markdown,
    policy_table,
    register,
    registered_policies,
    start,
)
from foretell.policies.signal_glr_kl_ucb import SignalGlrKlUcb
from foretell.policies.spec import Spec
from foretell.policies.sw_kl_ucb import SwKlUcb
from foretell.policies.sw_ts import SwTs
from foretell.policies.sw_ucb import SwUcb
from foretell.policies.ts import Ts
from foretell.policies.ucb import Ucb
from foretell.policies.uniform import Uniform

__all__ = [
    "BayesUcb",
    "CusumUcb",
    "DKlUcb",
    "DTs",
    "DUcb",
    "Entry",
    "Exp3S",
    "GlrKlUcb",
    "Ids",
    "KlUcb",
    "MUcb",
    "MetaBio",
    "NsdAdaptive",
    "NsdKl",
    "NsdKlGlr",
    "NsdPsrl",
    "NsdPsrlCp",
    "NsdUcrl2",
    "OracleNsd",
    "OracleNsdNd",
    "OraclePsrl",
    "OracleTheta",
    "OracleUcb",
    "OracleUcbNd",
    "PolicyRow",
    "QpmD",
    "SignalGlrKlUcb",
    "Spec",
    "SwKlUcb",
    "SwTs",
    "SwUcb",
    "Ts",
    "Ucb",
    "Uniform",
    "entry",
    "policy",
    "policy_markdown",
    "policy_table",
    "register",
    "registered_policies",
    "start",
]

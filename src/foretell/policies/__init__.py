"""What decides: the verbs, the policies, and what they are built of."""

from foretell.policies.d_ts import DTs
from foretell.policies.d_ucb import DUcb
from foretell.policies.exp3s import Exp3S
from foretell.policies.glr_kl_ucb import GlrKlUcb
from foretell.policies.kl_ucb import KlUcb
from foretell.policies.metabio import MetaBio
from foretell.policies.nsd_adaptive import NsdAdaptive
from foretell.policies.nsd_kl import NsdKl
from foretell.policies.nsd_kl_glr import NsdKlGlr
from foretell.policies.nsd_psrl import NsdPsrl
from foretell.policies.nsd_psrl_cp import NsdPsrlCp
from foretell.policies.nsd_ucrl2 import NsdUcrl2
from foretell.policies.oracle import OracleNsd, OracleNsdNd, OraclePsrl, OracleUcb, OracleUcbNd
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
from foretell.policies.sw_ts import SwTs
from foretell.policies.sw_ucb import SwUcb
from foretell.policies.ts import Ts
from foretell.policies.ucb import Ucb
from foretell.policies.uniform import Uniform

__all__ = [
    "DTs",
    "DUcb",
    "Entry",
    "Exp3S",
    "GlrKlUcb",
    "KlUcb",
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
    "OracleUcb",
    "OracleUcbNd",
    "PolicyRow",
    "SignalGlrKlUcb",
    "Spec",
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

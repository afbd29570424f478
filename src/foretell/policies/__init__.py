"""What decides: the verbs, the policies, and what they are built of."""

from foretell.policies.nsd_psrl import NsdPsrl
from foretell.policies.nsd_ucrl2 import NsdUcrl2
from foretell.policies.oracle_nsd import OracleNsd, OracleNsdNd
from foretell.policies.oracle_ucb import OracleUcb, OracleUcbNd
from foretell.policies.registry import Entry, entry, policies, policy, register, start
from foretell.policies.spec import Spec
from foretell.policies.sw_ucb import SwUcb
from foretell.policies.ucb import Ucb
from foretell.policies.uniform import Uniform

__all__ = [
    "Entry",
    "NsdPsrl",
    "NsdUcrl2",
    "OracleNsd",
    "OracleNsdNd",
    "OracleUcb",
    "OracleUcbNd",
    "Spec",
    "SwUcb",
    "Ucb",
    "Uniform",
    "entry",
    "policies",
    "policy",
    "register",
    "start",
]

"""Every other method in the same frame, one per file, each saying what feedback it needs.

`found()` lists them by name. All run in `suffice.simulate`.
"""

from suffice.lab.rivals.ag_aci import AgACI
from suffice.lab.rivals.always_safe import AlwaysSafe
from suffice.lab.rivals.base import Rival
from suffice.lab.rivals.bccp import BCCP
from suffice.lab.rivals.best_fixed import BestFixed
from suffice.lab.rivals.clairvoyant import ClairvoyantMix
from suffice.lab.rivals.conformal_pi import ConformalPI
from suffice.lab.rivals.conformal_pid import ConformalPID
from suffice.lab.rivals.conservative import ConservativeUCB
from suffice.lab.rivals.conservative_path import ConservativePath
from suffice.lab.rivals.decaying_aci import DecayingACI
from suffice.lab.rivals.discover import available
from suffice.lab.rivals.dt_aci import DtACI
from suffice.lab.rivals.epsilon_greedy import EpsilonGreedy
from suffice.lab.rivals.exp3 import Exp3P
from suffice.lab.rivals.exp3_unlock import Exp3Unlock
from suffice.lab.rivals.group_aci import GroupACI
from suffice.lab.rivals.knapsack import Knapsack
from suffice.lab.rivals.linucb import LinUCB
from suffice.lab.rivals.optimistic_lp import OptimisticLP
from suffice.lab.rivals.projected import Projected
from suffice.lab.rivals.quantile_aci import QuantileACI
from suffice.lab.rivals.saocp import SAOCP
from suffice.lab.rivals.scalar_aci import ScalarACI
from suffice.lab.rivals.sf_ogd import ScaleFreeOGD
from suffice.lab.rivals.shortest_interval import ShortestInterval
from suffice.lab.rivals.sps import SPS
from suffice.lab.rivals.squarecb import SquareCB
from suffice.lab.rivals.vowpal import VowpalWabbit

__all__ = [
    "BCCP",
    "SAOCP",
    "SPS",
    "AgACI",
    "AlwaysSafe",
    "BestFixed",
    "ClairvoyantMix",
    "ConformalPI",
    "ConformalPID",
    "ConservativePath",
    "ConservativeUCB",
    "DecayingACI",
    "DtACI",
    "EpsilonGreedy",
    "Exp3P",
    "Exp3Unlock",
    "GroupACI",
    "Knapsack",
    "LinUCB",
    "OptimisticLP",
    "Projected",
    "QuantileACI",
    "Rival",
    "ScalarACI",
    "ScaleFreeOGD",
    "ShortestInterval",
    "SquareCB",
    "VowpalWabbit",
    "available",
]

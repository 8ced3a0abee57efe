"""Every other method in the same frame, one per file, each saying what feedback it needs.

`found()` lists them by name. All run in `suffice.simulate`.
"""

from suffice.rivals.ag_aci import AgACI
from suffice.rivals.always_safe import AlwaysSafe
from suffice.rivals.base import Rival
from suffice.rivals.bccp import BCCP
from suffice.rivals.best_fixed import BestFixed
from suffice.rivals.clairvoyant import ClairvoyantMix
from suffice.rivals.conformal_pi import ConformalPI
from suffice.rivals.conformal_pid import ConformalPID
from suffice.rivals.conservative import ConservativeUCB
from suffice.rivals.conservative_path import ConservativePath
from suffice.rivals.decaying_aci import DecayingACI
from suffice.rivals.discover import found
from suffice.rivals.dt_aci import DtACI
from suffice.rivals.epsilon_greedy import EpsilonGreedy
from suffice.rivals.exp3 import Exp3P
from suffice.rivals.exp3_unlock import Exp3Unlock
from suffice.rivals.group_aci import GroupACI
from suffice.rivals.knapsack import Knapsack
from suffice.rivals.linucb import LinUCB
from suffice.rivals.optimistic_lp import OptimisticLP
from suffice.rivals.projected import Projected
from suffice.rivals.quantile_aci import QuantileACI
from suffice.rivals.saocp import SAOCP
from suffice.rivals.scalar_aci import ScalarACI
from suffice.rivals.sf_ogd import ScaleFreeOGD
from suffice.rivals.shortest_interval import ShortestInterval
from suffice.rivals.sps import SPS
from suffice.rivals.squarecb import SquareCB
from suffice.rivals.vowpal import VowpalWabbit

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
    "found",
]

"""Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked."""

from suffice import models, rivals, streams
from suffice.certificate import Certificate
from suffice.errors import (
    AlreadyTold,
    ForeignDecision,
    Infeasible,
    InvalidArgument,
    InvalidContext,
    NewerState,
    Reentered,
    StateError,
    SufficeError,
    SufficeWarning,
    UnknownDecision,
)
from suffice.fleet import Fleet
from suffice.kernels.warm import warmup
from suffice.looking import Insight
from suffice.menu import Menu
from suffice.optimum import Optimum, contextual_optimum, optimum
from suffice.printed import paper
from suffice.records import Arm, Decision
from suffice.selector import Selector
from suffice.simulate import Mark, Summary, Trace, replicate, simulate, summarize
from suffice.threshold import ThresholdSelector

__version__ = "0.1.0"

__all__ = [
    "AlreadyTold",
    "Arm",
    "Certificate",
    "Decision",
    "Fleet",
    "ForeignDecision",
    "Infeasible",
    "Insight",
    "InvalidArgument",
    "InvalidContext",
    "Mark",
    "Menu",
    "NewerState",
    "Optimum",
    "Reentered",
    "Selector",
    "StateError",
    "SufficeError",
    "SufficeWarning",
    "Summary",
    "ThresholdSelector",
    "Trace",
    "UnknownDecision",
    "contextual_optimum",
    "models",
    "optimum",
    "paper",
    "replicate",
    "rivals",
    "simulate",
    "streams",
    "summarize",
    "warmup",
]

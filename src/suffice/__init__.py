"""Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked."""

from suffice.certificate import Certificate
from suffice.errors import (
    AlreadyTold,
    ForeignDecision,
    Infeasible,
    InvalidArgument,
    NewerState,
    StateError,
    SufficeError,
    SufficeWarning,
    UnknownDecision,
)
from suffice.menu import Menu
from suffice.records import Arm, Decision
from suffice.selector import Selector, paper

__version__ = "0.1.0"

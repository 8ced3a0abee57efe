"""Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked."""

import importlib
from typing import TYPE_CHECKING

from suffice import models
from suffice.context.learner import ContextReport
from suffice.errors import (
    AlreadyTold,
    ForeignDecision,
    Infeasible,
    InvalidArgument,
    InvalidContext,
    NewerState,
    Reentered,
    Refused,
    ServiceProblem,
    StateError,
    SufficeError,
    SufficeWarning,
    UnknownDecision,
    Unreachable,
)
from suffice.fleet import Fleet
from suffice.menu import Menu
from suffice.optimum import Optimum, contextual_optimum, optimum
from suffice.promise.certificate import Certificate
from suffice.records import Arm, Decision
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.selector.threshold import ThresholdSelector
from suffice.simulate import Mark, Summary, Trace, replicate, simulate, summarize
from suffice.warm import warmup

if TYPE_CHECKING:
    from suffice import rivals as rivals
    from suffice import streams as streams
    from suffice.client import AsyncClient as AsyncClient
    from suffice.client import Client as Client

__version__ = "0.1.0"

__all__ = [
    "AlreadyTold",
    "Arm",
    "Certificate",
    "ContextReport",
    "Decision",
    "Fleet",
    "ForeignDecision",
    "Infeasible",
    "InvalidArgument",
    "InvalidContext",
    "Mark",
    "Menu",
    "NewerState",
    "Optimum",
    "Reentered",
    "Refused",
    "Selector",
    "ServiceProblem",
    "StateError",
    "SufficeError",
    "SufficeWarning",
    "Summary",
    "ThresholdSelector",
    "Trace",
    "UnknownDecision",
    "Unreachable",
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

if not TYPE_CHECKING:  # else every name would pass for one of ours

    def __getattr__(name: str) -> object:
        if name in ("rivals", "streams"):  # found when they are asked for: a product needs neither
            return importlib.import_module(f"suffice.{name}")
        # So are the clients, which are not in __all__: they need an extra.
        if name not in ("AsyncClient", "Client"):
            raise AttributeError(f"module 'suffice' has no attribute {name!r}")
        try:
            import suffice.client
        except ModuleNotFoundError as error:
            if error.name != "httpx":
                raise
            raise ImportError(f"suffice.{name} needs httpx: pip install 'suffice[client]'") from error
        return getattr(suffice.client, name)

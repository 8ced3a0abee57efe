"""Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked."""

import importlib
from typing import TYPE_CHECKING, Final

from suffice.version import VERSION

if TYPE_CHECKING:
    from suffice import lab as lab
    from suffice.best_mix import Optimum as Optimum
    from suffice.best_mix import contextual_optimum as contextual_optimum
    from suffice.best_mix import optimum as optimum
    from suffice.client import AsyncClient as AsyncClient
    from suffice.client import Client as Client
    from suffice.context import models as models
    from suffice.context.learner import ContextReport as ContextReport
    from suffice.errors import AccessDenied as AccessDenied
    from suffice.errors import AlreadyTold as AlreadyTold
    from suffice.errors import ForeignDecision as ForeignDecision
    from suffice.errors import Infeasible as Infeasible
    from suffice.errors import InvalidArgument as InvalidArgument
    from suffice.errors import InvalidContext as InvalidContext
    from suffice.errors import ReentrantCall as ReentrantCall
    from suffice.errors import SafeUnavailable as SafeUnavailable
    from suffice.errors import ServiceProblem as ServiceProblem
    from suffice.errors import ServiceUnreachable as ServiceUnreachable
    from suffice.errors import StateError as StateError
    from suffice.errors import StateTooNew as StateTooNew
    from suffice.errors import SufficeError as SufficeError
    from suffice.errors import SufficeWarning as SufficeWarning
    from suffice.errors import UnknownDecision as UnknownDecision
    from suffice.fleet import Fleet as Fleet
    from suffice.learning.settings import Learning as Learning
    from suffice.menu.menu import Menu as Menu
    from suffice.precompile import warmup as warmup
    from suffice.promise.certificate import Certificate as Certificate
    from suffice.promise.rules import Rule as Rule
    from suffice.selector.events import Event as Event
    from suffice.selector.paper import paper as paper
    from suffice.selector.records import Decision as Decision
    from suffice.selector.records import OptionReport as OptionReport
    from suffice.selector.selector import Selector as Selector
    from suffice.selector.threshold import ThresholdSelector as ThresholdSelector
    from suffice.simulator import Checkpoint as Checkpoint
    from suffice.simulator import Summary as Summary
    from suffice.simulator import Trace as Trace
    from suffice.simulator import replicate as replicate
    from suffice.simulator import simulate as simulate
    from suffice.simulator import summarize as summarize

__version__ = VERSION

# Where each public name lives. A room is imported when something of it is asked for: a product that only selects loads
# neither the lab nor the service, and what reads certificates loads no NumPy.
_HOMES: Final = {
    "best_mix": ("Optimum", "contextual_optimum", "optimum"),
    "context.learner": ("ContextReport",),
    "errors": (
        "AlreadyTold",
        "ForeignDecision",
        "Infeasible",
        "InvalidArgument",
        "InvalidContext",
        "StateTooNew",
        "ReentrantCall",
        "AccessDenied",
        "SafeUnavailable",
        "ServiceProblem",
        "StateError",
        "SufficeError",
        "SufficeWarning",
        "UnknownDecision",
        "ServiceUnreachable",
    ),
    "fleet": ("Fleet",),
    "learning.settings": ("Learning",),
    "menu.menu": ("Menu",),
    "precompile": ("warmup",),
    "promise.certificate": ("Certificate",),
    "promise.rules": ("Rule",),
    "selector.events": ("Event",),
    "selector.paper": ("paper",),
    "selector.records": ("Decision", "OptionReport"),
    "selector.selector": ("Selector",),
    "selector.threshold": ("ThresholdSelector",),
    "simulator": ("Checkpoint", "Summary", "Trace", "replicate", "simulate", "summarize"),
}
_HOME_OF: Final = {name: f"suffice.{home}" for home, names in _HOMES.items() for name in names}
_MODULES: Final = {"models": "suffice.context.models", "lab": "suffice.lab"}
_CLIENTS: Final = ("AsyncClient", "Client")  # not in __all__: they need an extra

__all__ = sorted([*_HOME_OF, "models"])

if not TYPE_CHECKING:  # else every name would pass for one of ours

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            found = importlib.import_module(_MODULES[name])
        elif name in _HOME_OF:
            found = getattr(importlib.import_module(_HOME_OF[name]), name)
        elif name in _CLIENTS:
            found = _client(name)
        else:
            raise AttributeError(f"module 'suffice' has no attribute {name!r}")
        globals()[name] = found
        return found


def _client(name: str) -> object:
    try:
        client = importlib.import_module("suffice.client")
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise ImportError(f"suffice.{name} needs httpx: pip install 'suffice[client]'") from error
    return getattr(client, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF, *_MODULES])

"""Methods by name: suffice, the paper, and every rival, each with the feedback that it is given."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.lab import rivals as package
from suffice.lab.rivals import Projected, Rival
from suffice.lab.rivals.base import CONTEXT, SUCCESS_AND_COST
from suffice.menu.menu import Menu
from suffice.numbers import positive, positive_int, rate
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.simulator import Method, Stream

Make = Callable[[int], Method]  # from the seed of the method's own randomness
LOOKING: Final = "suffice:model=auto"  # suffice with a model of the context
SCALED: Final = ("paper", "projected")  # the methods with a step a/sqrt(horizon); paper-5 is the paper with a = 5


def rivals() -> dict[str, type[Rival]]:
    """Every rival, by the name of its file, which is short.

    >>> rivals()["projected"].feedback
    'success + cost'
    """
    kinds = {kind.__module__.rpartition(".")[2]: kind for kind in package.available().values()}
    return dict(sorted(kinds.items()))


def shows(stream: object) -> bool:
    """Whether a stream shows a context before an arm is chosen."""
    return callable(getattr(stream, "context", None))


def methods(stream: Any, target: float, horizon: int, names: Iterable[str]) -> dict[str, Make]:
    """How to make each of the methods named: "suffice", "suffice:model=auto", which has a model of the context, "paper", or
    a rival.

    "paper-5" and "projected-5" have the paper's step a/sqrt(horizon) with a = 5; without a number a is 1.

    >>> from suffice.lab.streams import Trap
    >>> list(methods(Trap(), 0.5, 100, ["suffice", "paper-5", "always_safe"]))
    ['suffice', 'paper-5', 'always_safe']
    """
    menu = stream.menu
    rate("target", target)
    positive_int("horizon", horizon)
    known: dict[str, Make] = {
        "suffice": lambda seed: Selector(menu, target, seed=seed),
        LOOKING: _looking(stream, target),
        "paper": _scaled("paper", menu, target, horizon, 1.0),
        **{name: _maker(kind, stream, target, horizon) for name, kind in rivals().items()},
        "projected": _scaled("projected", menu, target, horizon, 1.0),
    }
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in wanted:
        named_scale = scale_of(name)
        if named_scale is not None:
            known[name] = _scaled(name.partition("-")[0], menu, target, horizon, named_scale)
        elif name not in known:
            raise InvalidArgument(f"methods must be some of {', '.join(known)}, got {quoted(name)}")
    if not wanted:
        raise InvalidArgument(f"methods must be some of {', '.join(known)}, got none")
    return {name: known[name] for name in wanted}


def _looking(stream: Any, target: float) -> Make:
    def make(seed: int) -> Selector:
        _need_context(stream)
        return Selector(stream.menu, target, seed=seed, model="auto")

    return make


def _need_context(stream: Stream) -> None:
    if not shows(stream):
        raise InvalidArgument("stream must show a context to look at, got one without context(latent)")


def scale_of(name: str) -> float | None:
    """The scale of the step in the name of a method; None where there is none.

    >>> scale_of("paper-5"), scale_of("projected-0.5"), scale_of("paper"), scale_of("linucb-5")
    (5.0, 0.5, None, None)
    """
    kind, dash, text = name.partition("-")
    if kind not in SCALED or not dash:
        return None
    try:
        return float(positive(name, float(text)))
    except ValueError:
        raise InvalidArgument(
            f"{kind} must be followed by a scale above 0, as in {kind}-5, got {quoted(name)}"
        ) from None


def feedback_of(method: Method) -> str:
    """What a method is shown of each step."""
    default = CONTEXT if getattr(method, "contextual", False) else SUCCESS_AND_COST
    return str(getattr(method, "feedback", default))


def _scaled(kind: str, menu: Menu, target: float, horizon: int, scale: float) -> Make:
    step = scale / horizon**0.5
    if kind == "paper":
        return lambda _: paper(menu, target, horizon, step)
    return lambda _: Projected(menu, target, horizon, step)


def _maker(kind: type[Rival], stream: Stream, target: float, horizon: int) -> Make:
    takes = inspect.signature(kind).parameters

    def make(seed: int) -> Rival:
        if kind.contextual:
            _need_context(stream)
        given: dict[str, Any] = {"menu": stream.menu, "target": target, "horizon": horizon, "seed": seed}
        return kind(**{name: value for name, value in given.items() if name in takes})

    return make

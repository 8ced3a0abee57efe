"""Methods by name: suffice, the paper, the threshold, and every rival, each with the feedback that it is given."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.lab import rivals as package
from suffice.lab.rivals import Projected, Rival
from suffice.lab.rivals.base import CONTEXT, SUCCESS, SUCCESS_AND_COST
from suffice.learning.settings import Learning
from suffice.menu.menu import Menu
from suffice.numbers import positive, positive_int, rate
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.selector.threshold import ThresholdSelector
from suffice.simulator import Method, Stream

Make = Callable[[int], Method]  # from the seed of the method's own randomness
LEARNING: Final = ("bounds", "chooser", "prices", "memory", "guard")
PARTS: Final = (*LEARNING, "max_surplus", "model")
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
    """How to make each of the methods named: "suffice", "paper", "threshold" or a rival.

    "suffice:chooser=optimist:prices=straight" is suffice with other parts than the default's, "suffice:model=auto" has a
    model of the context.

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
        "paper": _scaled("paper", menu, target, horizon, 1.0),
        "threshold": lambda _: _threshold(stream, target),
        **{name: _maker(kind, stream, target, horizon) for name, kind in rivals().items()},
        "projected": _scaled("projected", menu, target, horizon, 1.0),
    }
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in wanted:
        named_scale = scale_of(name)
        if named_scale is not None:
            known[name] = _scaled(name.partition("-")[0], menu, target, horizon, named_scale)
        elif name.split(":")[0] == "suffice":
            known[name] = _variant(name, stream, target)
        elif name not in known:
            raise InvalidArgument(f"methods must be some of {', '.join(known)}, got {quoted(name)}")
    if not wanted:
        raise InvalidArgument(f"methods must be some of {', '.join(known)}, got none")
    return {name: known[name] for name in wanted}


def parts_of(name: str) -> dict[str, Any]:
    """The parts of a selector in the name of a method.

    >>> parts_of("suffice:bounds=kl:guard=0.3")
    {'bounds': 'kl', 'guard': 0.3}
    """
    parts: dict[str, Any] = {}
    for text in name.split(":")[1:]:
        part, equals, value = text.partition("=")
        if part not in PARTS or not equals:
            raise InvalidArgument(f"suffice: must be followed by {', '.join(PARTS)} as part=value, got {quoted(text)}")
        if part in ("guard", "max_surplus", "model") and value == "none":
            parts[part] = None
        else:
            parts[part] = _number(part, value) if part in ("guard", "max_surplus") else value
    return parts


def _number(part: str, text: str) -> float:
    try:
        return float(positive(part, float(text)))
    except ValueError:
        raise InvalidArgument(f"{part} must be a number above 0, got {quoted(text)}") from None


def _variant(name: str, stream: Any, target: float) -> Make:
    parts = parts_of(name)
    parts["learning"] = Learning(**{part: parts.pop(part) for part in LEARNING if part in parts})
    Selector(stream.menu, target, **parts)  # so that what is wrong is said before anything runs

    def make(seed: int) -> Selector:
        if parts.get("model") is not None:
            _need_context(stream)
        return Selector(stream.menu, target, seed=seed, **parts)

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
    contextual = getattr(method, "contextual", False)
    default = SUCCESS if isinstance(method, ThresholdSelector) else CONTEXT if contextual else SUCCESS_AND_COST
    return str(getattr(method, "feedback", default))


def _scaled(kind: str, menu: Menu, target: float, horizon: int, scale: float) -> Make:
    step = scale / horizon**0.5
    if kind == "paper":
        return lambda _: paper(menu, target, horizon, step)
    return lambda _: Projected(menu, target, horizon, step)


def _threshold(stream: Any, target: float) -> ThresholdSelector:
    if not hasattr(stream, "threshold_outcome"):
        raise InvalidArgument("stream must have outcomes for any threshold between its low and high, as `needs` does")
    return ThresholdSelector(stream.low, stream.high, target)


def _maker(kind: type[Rival], stream: Stream, target: float, horizon: int) -> Make:
    takes = inspect.signature(kind).parameters

    def make(seed: int) -> Rival:
        if kind.contextual:
            _need_context(stream)
        given: dict[str, Any] = {"menu": stream.menu, "target": target, "horizon": horizon, "seed": seed}
        return kind(**{name: value for name, value in given.items() if name in takes})

    return make

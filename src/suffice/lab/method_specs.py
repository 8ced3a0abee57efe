"""From a name to a method: suffice, the paper, the threshold, and every rival, each saying what feedback it is given."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

from suffice.errors import InvalidArgument, quoted
from suffice.lab import rivals as package
from suffice.lab.rivals import Projected, Rival
from suffice.lab.rivals.base import CONTEXT, SUCCESS, SUCCESS_AND_COST
from suffice.numbers import positive, positive_int, rate
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.selector.threshold import ThresholdSelector

Make = Callable[[int], Any]  # from the seed of the method's own randomness
PARTS: Final = ("bounds", "chooser", "prices", "memory", "guard", "max_surplus", "model")
USUAL: Final = ("suffice", "paper", "projected", "always_safe")
LOOKING: Final = "suffice:model=auto"  # ours with a model that looks at the context
SCALED: Final = ("paper", "projected")  # the methods with a step a/sqrt(horizon); paper-5 is the paper with a = 5


def rivals() -> dict[str, type[Rival]]:
    """Every rival, by the name of its file, which is easier to type than its own.

    >>> rivals()["projected"].feedback
    'success + cost'
    """
    kinds = {kind.__module__.rpartition(".")[2]: kind for kind in package.available().values()}
    return dict(sorted(kinds.items()))


def shows(stream: Any) -> bool:
    """Whether a stream shows a context before an arm is chosen."""
    return callable(getattr(stream, "context", None))


def usual(stream: Any) -> tuple[str, ...]:
    """The methods of a run where nobody names any: where there is a context, ours that looks at it is among them.

    >>> from suffice.lab.streams import Trap
    >>> usual(Trap())
    ('suffice', 'paper', 'projected', 'always_safe')
    """
    return (USUAL[0], LOOKING, *USUAL[1:]) if shows(stream) else USUAL


def methods(
    stream: Any, target: float, horizon: int, names: Iterable[str], *, bounds: str = "auto", max_surplus: float | None = None,
    scale: float = 1.0,
) -> dict[str, Make]:  # fmt: skip
    """How to make each of the methods named: "suffice", "paper", "threshold" or a rival.

    "suffice:chooser=optimist:prices=straight" is ours with other parts than the default's, "suffice:model=auto" with a
    model that looks at the context.

    `scale` is a in the paper's step a/sqrt(horizon), for its method and for its projected baseline; "paper-5" and
    "projected-5" have one of their own.

    >>> from suffice.lab.streams import Trap
    >>> list(methods(Trap(), 0.5, 100, ["suffice", "paper-5", "always_safe"]))
    ['suffice', 'paper-5', 'always_safe']
    """
    menu = stream.menu
    rate("target", target)
    positive_int("horizon", horizon)
    known: dict[str, Make] = {
        "suffice": lambda seed: Selector(menu, target, max_surplus=max_surplus, bounds=bounds, seed=seed),
        "paper": _scaled("paper", menu, target, horizon, scale),
        "threshold": lambda _: _threshold(stream, target, max_surplus),
        **{name: _maker(kind, stream, target, horizon) for name, kind in rivals().items()},
        "projected": _scaled("projected", menu, target, horizon, scale),
    }
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in wanted:
        own = scale_of(name)
        if own is not None:
            known[name] = _scaled(name.partition("-")[0], menu, target, horizon, own)
        elif name.split(":")[0] == "suffice":
            known[name] = _variant(name, stream, target, max_surplus, bounds)
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


def _variant(name: str, stream: Any, target: float, max_surplus: float | None, bounds: str) -> Make:
    parts = {"bounds": bounds, "max_surplus": max_surplus, **parts_of(name)}
    Selector(stream.menu, target, **parts)  # so that what is wrong is said before anything runs

    def make(seed: int) -> Selector:
        if parts.get("model") is not None:
            _need_context(stream)
        return Selector(stream.menu, target, seed=seed, **parts)

    return make


def _need_context(stream: Any) -> None:
    if not shows(stream):
        raise InvalidArgument("stream must show a context to look at, got one without context(latent)")


def scale_of(name: str) -> float | None:
    """The scale of the step in the name of a method; None where there is none.

    >>> scale_of("paper-5"), scale_of("projected-0.5"), scale_of("paper"), scale_of("knapsack-5")
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


def feedback_of(method: Any) -> str:
    """What a method is shown of each step."""
    looks = getattr(method, "contextual", False)
    ours = SUCCESS if isinstance(method, ThresholdSelector) else CONTEXT if looks else SUCCESS_AND_COST
    return str(getattr(method, "feedback", ours))


def _scaled(kind: str, menu: Any, target: float, horizon: int, scale: float) -> Make:
    step = float(positive("scale", scale)) / horizon**0.5
    make: Callable[..., Any] = paper if kind == "paper" else Projected
    return lambda _: make(menu, target, horizon, step)


def _threshold(stream: Any, target: float, max_surplus: float | None) -> ThresholdSelector:
    if not hasattr(stream, "judge_value"):
        raise InvalidArgument("stream must judge any threshold between its low and high, as `needs` does")
    return ThresholdSelector(target, stream.low, stream.high, max_surplus=max_surplus)


def _maker(kind: type[Rival], stream: Any, target: float, horizon: int) -> Make:
    takes = inspect.signature(kind).parameters

    def make(seed: int) -> Rival:
        if kind.contextual:
            _need_context(stream)
        there = {"menu": stream.menu, "target": target, "horizon": horizon, "stream": stream, "seed": seed}
        lacking = [n for n, p in takes.items() if n not in there and p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        if lacking:
            raise InvalidArgument(f"method needs {', '.join(lacking)}, which the command line cannot give")
        return kind(**{name: value for name, value in there.items() if name in takes})

    return make

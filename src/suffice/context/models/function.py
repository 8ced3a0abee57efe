"""A user's function as a model: any function that returns a probability for each option."""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.errors import InvalidArgument, quoted

REMEMBERED: Final = 1024  # contexts that wait for their outcome


class FunctionModel(ProbabilityAdapter):
    """A function from a context to probabilities of success. Only their calibration is learned.

    Args:
        function: from a context, as the user passed it, to one probability per interior option or per arm; or to a mapping
            from options to probabilities. An option that it leaves out, or gives NaN, is predicted by its success rate.
        calibrate: whether the probabilities are corrected from their outcomes.

    >>> import suffice
    >>> menu = suffice.Menu({"small": 0.1, "large": 0.4, "a person": 1.0}, safe="a person", skip="skip")
    >>> model = FunctionModel(lambda context: {"small": 1 - context["hard"], "large": 0.9})
    >>> model.open(menu)
    >>> model.predict({"hard": 0.75})[0].round(3).tolist()
    [0.0, 0.25, 0.9, 1.0]
    """

    def __init__(self, function: Callable[[Any], object], *, calibrate: bool = True) -> None:
        super().__init__(calibrate=calibrate)
        if not callable(function):
            raise InvalidArgument(f"function must be callable with a context, got {quoted(function)}")
        self.function = function
        # By context object: a function may be slow, and need not be called again for the outcome.
        self._predicted: OrderedDict[int, tuple[object, list[float]]] = OrderedDict()

    def probabilities(self, context: object) -> list[float]:
        """What the function returns for each interior arm."""
        predicted = self._call(context)
        if self.calibrate:
            self._predicted[id(context)] = context, predicted
            self._predicted.move_to_end(id(context))
            if len(self._predicted) > REMEMBERED:
                self._predicted.popitem(last=False)
        return predicted

    def probability(self, context: object, place: int) -> float:
        """What the function returned for an interior arm in this context."""
        held, predicted = self._predicted.pop(id(context), (None, []))
        return predicted[place] if held is context and predicted else self._call(context)[place]

    def _call(self, context: object) -> list[float]:
        menu, answer = self.menu, self.function(context)
        if isinstance(answer, Mapping):
            by_arm: list[object] = [math.nan] * menu.n_arms
            for option, probability in answer.items():
                by_arm[menu.arm(option)] = probability
            return [_checked(probability) for probability in by_arm[menu.interior]]
        count = len(menu.options)
        listed = np.asarray(answer).tolist()
        if not isinstance(listed, list) or len(listed) not in (count, menu.n_arms):
            raise InvalidArgument(
                f"function must give {count} probabilities, one per interior option, or {menu.n_arms}, one per arm, "
                f"got {quoted(answer)}"
            )
        return [_checked(probability) for probability in (listed if len(listed) == count else listed[menu.interior])]


def _checked(probability: Any) -> float:
    try:
        number = float(probability)
    except (TypeError, ValueError):
        number = math.inf
    if number < 0.0 or number > 1.0:
        raise InvalidArgument(f"function must give probabilities from 0 to 1, got {quoted(probability)}")
    return number

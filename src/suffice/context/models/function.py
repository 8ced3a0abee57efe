"""A function of one's own as a model: whatever gives a probability for each option."""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from suffice.context.models.probability_adapter import ProbabilityAdapter
from suffice.errors import InvalidArgument, quoted

REMEMBERED: Final = 1024  # contexts whose outcome is awaited


class FunctionModel(ProbabilityAdapter):
    """A function from a context to probabilities of success. It learns nothing but how honest they are.

    Args:
        function: from a context, as it was passed, to one probability for each interior option or for each arm; or to a
            mapping from options to probabilities. An option that it leaves out, or gives NaN, is predicted by its rate.
        calibrate: whether the probabilities are corrected by what came of them.

    >>> import suffice
    >>> menu = suffice.Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip")
    >>> model = FunctionModel(lambda context: {"small": 1 - context["hard"], "large": 0.9})
    >>> model.open(menu)
    >>> model.predict({"hard": 0.75})[0].round(3).tolist()
    [0.0, 0.25, 0.9, 1.0]
    """

    def __init__(self, function: Callable[[Any], Any], *, calibrate: bool = True) -> None:
        super().__init__(calibrate=calibrate)
        if not callable(function):
            raise InvalidArgument(f"function must be callable with a context, got {quoted(function)}")
        self.function = function
        # What was given for which context object: a function may take long, and need not be called again for its outcome.
        self._given: OrderedDict[int, tuple[Any, list[float]]] = OrderedDict()

    def probabilities(self, context: Any) -> list[float]:
        """What the function gives for each interior arm."""
        given = self._ask(context)
        if self.calibrate:
            self._given[id(context)] = context, given
            self._given.move_to_end(id(context))
            if len(self._given) > REMEMBERED:
                self._given.popitem(last=False)
        return given

    def probability(self, context: Any, place: int) -> float:
        """What the function gave for an interior arm in this context."""
        held, given = self._given.pop(id(context), (None, []))
        return given[place] if held is context and given else self._ask(context)[place]

    def _ask(self, context: Any) -> list[float]:
        menu, answer = self.menu, self.function(context)
        count = len(menu.options)
        given = [math.nan] * menu.n_arms
        if isinstance(answer, Mapping):
            for option, probability in answer.items():
                given[menu.arm(option)] = probability
        else:
            listed = np.asarray(answer).tolist()
            if not isinstance(listed, list) or len(listed) not in (count, menu.n_arms):
                raise InvalidArgument(
                    f"function must give {count} probabilities, one per interior option, or {menu.n_arms}, one per arm, "
                    f"got {quoted(answer)}"
                )
            given[slice(None) if len(listed) == menu.n_arms else menu.interior] = listed
        return [_checked(probability) for probability in given[menu.interior]]


def _checked(probability: Any) -> float:
    try:
        number = float(probability)
    except (TypeError, ValueError):
        number = math.inf
    if number < 0.0 or number > 1.0:
        raise InvalidArgument(f"function must give probabilities from 0 to 1, got {quoted(probability)}")
    return number

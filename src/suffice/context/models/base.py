"""The interface of a model: a user's own, or an adapter. A bad model costs money and cannot break the promise."""

from typing import Any, Protocol

from numpy.typing import ArrayLike


class Model(Protocol):
    """Predicts how likely each arm is to succeed in a context.

    `predict` returns two numbers per arm of the menu: the mean success, from 0 to 1, and the standard deviation of that mean
    (the model's uncertainty, not the randomness of the outcome; 0 if it has none to offer). Predictions for the safe option
    and the skip option are ignored. `update` is called with every outcome of any other option and the context of its
    decision, however late; the cost is None if it was not reported. A context is what the user passed: a mapping, a row, any
    object.

    A model may also have

    - `open(menu)`: called once, before anything else, with the menu whose arms it predicts;
    - `costs(context)`: the cost of each arm, for menus without known costs;
    - `forget()`: called when its predictions no longer hold: it should start again;
    - `amend(context, arm, success)`: a decision that expired, and was learned as a failure, succeeded after all. Without
      it `update` is called once more;
    - `state()` and `restore(state)`: what it has learned, as JSON values, to be saved with the selector.

    A model that raises is replaced by the chooser for that decision; one that takes long delays the decision.
    """

    def predict(self, context: Any) -> tuple[ArrayLike, ArrayLike]: ...

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None: ...

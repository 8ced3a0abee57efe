"""The seam for models: anything may look at the context, because the promise holds whatever is played between the rails."""

from typing import Any, Protocol

from numpy.typing import ArrayLike


class Model(Protocol):
    """Predicts how likely each arm is to succeed, given what is known beforehand.

    `predict` gives two numbers per arm of the menu: the mean success, from 0 to 1, and the standard deviation of that mean
    (how unsure the model is, not how random the outcome; 0 where it cannot say). What it says of the boundary arms is not
    looked at. `update` is called with every outcome of an option that was played between the rails, and the context that its
    decision was asked with, however late; the cost is None where nobody told it. A context is what the user passed: a
    mapping, a row, anything.

    A model may also have

    - `open(menu)`: called once, before anything else, with the menu whose arms it predicts;
    - `costs(context)`: what each arm costs, where the menu does not know it;
    - `upper(context, width)`: an upper success per arm that is `width` deviations up, where adding them is not how it is done;
    - `forget()`: called when its predictions no longer hold: it should begin anew;
    - `amend(context, arm, success)`: a decision that expired, and was learned as a failure, succeeded after all. Without
      it `update` is called once more;
    - `report()`: per field of contexts, what was missing, for `context_report()`;
    - `state()` and `restore(state)`: what it has learned, in JSON's terms, to be saved with the selector.

    A model that raises, takes long, or predicts nonsense costs money and nothing else.
    """

    def predict(self, context: Any) -> tuple[ArrayLike, ArrayLike]: ...

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None: ...

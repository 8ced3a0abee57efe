"""Bring your own model. A good one saves money; with a bad one the promise still holds, and a guard bounds the loss.

    python examples/own_model.py

Tickets go to a small model, a large one or a person, and nine of ten must be answered well. A scikit-learn classifier,
fitted to old tickets, proposes which option answers a new one (`chooser=`). A second one is fitted to inverted labels and
prefers options that fail: without a guard, with one, and as `model=`, which must earn trust before it is followed.
"""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from watch import Array, Story, Watch, arguments, draw

import suffice

TARGET, COSTS = 0.9, [0.05, 0.25, 1.0]  # of the small model, the large one and a person: assumed
ABLE = np.array([[0.97, 0.99, 1.0], [0.3, 0.8, 1.0]])  # made up: how often each is right if a ticket is easy, or hard
MENU = suffice.Menu(dict(zip(("small", "large", "a person"), COSTS, strict=True)), safe="a person")


class ByModel:
    """Proposes the option that is cheapest at the current price, if the model is right."""

    name, chances = "by model", np.ones(3)  # the predictions for the current ticket, set before asking

    def choose(self, price: float, bounds: Any, allowed: Any) -> int:
        """The arm with the least cost − price · success."""
        return int(np.argmin(bounds.lower - price * self.chances))


def tickets(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
    """Length and topic of made-up tickets, which of them are hard, and whether each of the three would be right."""
    words, topic = rng.integers(5, 300, count), rng.integers(0, 5, count)
    hard = (words > 200) | (topic == 4)
    return np.stack([words, topic], axis=1), hard, rng.random((count, 3)) < ABLE[hard.astype(int)]


def fitted(old: Array, right: Array, new: Array) -> Array:
    """A tree per model, fitted to old tickets, predicts its success on new ones. (In production: one ticket at a time.)"""
    trees = [DecisionTreeClassifier(max_depth=4, random_state=0).fit(old, column) for column in right.T[:2]]
    return np.stack([*(tree.predict_proba(new)[:, 1] for tree in trees), np.ones(len(new))], axis=1)


def run(right: Array, chances: Array, learning: Any = None, **settings: Any) -> tuple[suffice.Selector, Watch]:
    """Answer all tickets."""
    selector, watch = suffice.Selector(MENU, TARGET, learning=learning, **settings), Watch()
    chooser: Any = learning.chooser if learning else ByModel()
    for predicted, works in zip(chances, right.tolist(), strict=True):
        chooser.chances = predicted
        decision = selector.ask(context=predicted if "model" in settings else None)
        selector.tell(decision, works[decision.arm])  # yours: answer it, and check
        watch.note(100.0 * decision.is_safe, works[decision.arm], COSTS[decision.arm], selector.debt)
    return selector, watch


def main() -> None:
    """Run every variant on the same tickets."""
    parser = arguments(__doc__)
    parser.add_argument("--guard", type=float, default=0.1, help="default 0.1; that of suffice itself is 1")
    given, rng, runs = parser.parse_args(), np.random.default_rng(1), {}
    (old, _, answered), (new, hard, right) = tickets(rng, 4000), tickets(rng, 8000)
    good, bad = fitted(old, answered, new), fitted(old, ~answered, new)
    _, runs["no model"] = run(right, good)
    _, runs["good"] = run(right, good, suffice.Learning(chooser=ByModel()))
    selector, runs["bad, no guard"] = run(right, bad, suffice.Learning(chooser=ByModel(), guard=None))
    _, runs["bad, guarded"] = run(right, bad, suffice.Learning(chooser=ByModel(), guard=given.guard))
    _, runs["bad, as model="] = run(right, bad, model=lambda predicted: predicted.tolist())
    print("\n".join(f"{name:15}{watch.said()}" for name, watch in runs.items()))
    blind = suffice.optimum(right.mean(axis=0), COSTS, TARGET).cost
    best = suffice.contextual_optimum([1.0 - hard.mean(), hard.mean()], ABLE, [COSTS] * 2, TARGET).cost
    print(f"The optimum without a look at tickets costs {blind:.3f}, with one {best:.3f}; a person for all of them 1.")
    print(f"\nEven with the bad one and no guard:\n{selector.certificate()}")
    draw(given.figure, runs, Story(TARGET, 1.0, [(0, best)], "optimum, looking", chosen="answered by a person (%)"))


if __name__ == "__main__":
    main()

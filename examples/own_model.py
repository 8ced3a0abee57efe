"""Bring your own model. A good one saves money; with a bad one the promise holds all the same, and a guard bounds the loss.

    python examples/own_model.py

Tickets go to a small model, a large one or a person, and nine of ten must be answered well. A classifier of scikit-learn's,
fitted to old tickets, proposes who answers a new one (`chooser=`). Then one that was fitted to labels with the wrong sign, and
prefers who will fail: without a guard, with one, and where a model must be right for a while before it is followed (`model=`).
"""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from watch import Array, Story, Watch, arguments, draw

import suffice

TARGET, COSTS = 0.9, [0.05, 0.25, 1.0]  # of the small model, the large one and a person: assumed
ABLE = np.array([[0.97, 0.99, 1.0], [0.3, 0.8, 1.0]])  # made up: how often each is right if a ticket is easy, or hard
MENU = suffice.Menu({"small": COSTS[0], "large": COSTS[1]}, safe="a person")


class ByModel:
    """Proposes what is cheapest at the price of the moment, should the model be right."""

    name, chances = "by model", np.ones(3)  # what the model says of the ticket at hand: set before asking

    def choose(self, price: float, bounds: Any, allowed: Any) -> int:
        """The arm with the least cost − price · success."""
        return int(np.argmin(bounds.lower - price * self.chances))


def tickets(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
    """Length and topic of made-up tickets, which of them are hard, and whether each of the three would be right."""
    words, topic = rng.integers(5, 300, count), rng.integers(0, 5, count)
    hard = (words > 200) | (topic == 4)
    return np.stack([words, topic], axis=1), hard, rng.random((count, 3)) < ABLE[hard.astype(int)]


def fitted(old: Array, right: Array, new: Array) -> Array:
    """What a tree for each model says of new tickets. (Yours: of one at a time, when it comes.)"""
    trees = [DecisionTreeClassifier(max_depth=4, random_state=0).fit(old, column) for column in right.T[:2]]
    return np.stack([*(tree.predict_proba(new)[:, 1] for tree in trees), np.ones(len(new))], axis=1)


def run(right: Array, chances: Array, **settings: Any) -> tuple[suffice.Selector, Watch]:
    """Answer all tickets."""
    selector, watch, chooser = suffice.Selector(MENU, TARGET, **settings), Watch(), settings.get("chooser", ByModel())
    for said, works in zip(chances, right.tolist(), strict=True):
        chooser.chances = said
        decision = selector.ask(context=said if "model" in settings else None)
        selector.tell(decision, works[decision.arm])  # yours: have it answered, and see
        watch.note(100.0 * decision.is_safe, works[decision.arm], COSTS[decision.arm], selector.debt)
    return selector, watch


def main() -> None:
    """The same tickets for everybody."""
    parser = arguments(__doc__)
    parser.add_argument("--guard", type=float, default=0.1, help="default 0.1; that of suffice itself is 1")
    given, rng, runs = parser.parse_args(), np.random.default_rng(1), {}
    (old, _, answered), (new, hard, right) = tickets(rng, 4000), tickets(rng, 8000)
    good, bad = fitted(old, answered, new), fitted(old, ~answered, new)
    _, runs["no model"] = run(right, good)
    _, runs["good"] = run(right, good, chooser=ByModel())
    selector, runs["bad, no guard"] = run(right, bad, chooser=ByModel(), guard=None)
    _, runs["bad, guarded"] = run(right, bad, chooser=ByModel(), guard=given.guard)
    _, runs["bad, as model="] = run(right, bad, model=lambda said: said.tolist())
    print("\n".join(f"{name:15}{watch.said()}" for name, watch in runs.items()))
    blind = suffice.optimum(right.mean(axis=0), COSTS, TARGET).cost
    best = suffice.contextual_optimum([1.0 - hard.mean(), hard.mean()], ABLE, [COSTS] * 2, TARGET).cost
    print(f"The optimum without a look at tickets costs {blind:.3f}, with one {best:.3f}; a person for all of them 1.")
    print(f"\nEven with the bad one and no guard:\n{selector.certificate()}")
    draw(given.figure, runs, Story(TARGET, 1.0, [(0, best)], "optimum, looking", chosen="answered by a person (%)"))


if __name__ == "__main__":
    main()

"""Show as few classes as will do: top-k with a classifier trained on the spot, and a scanner that gets dirty.

    python examples/top_k.py

A small classifier reads handwritten digits (scikit-learn's). Its k likeliest digits are shown to a clerk, who picks the right
one; all ten always hold it. It must be among those shown for 95% of the images, and each digit shown costs time. Halfway
through the scanner gets dirty: images become noisy, and the classifier is no longer what it was when it was tested.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from watch import Story, Watch, arguments, draw

import suffice

TARGET, IMAGES, KS = 0.95, 16_000, (1, 2, 3, 5)


def ranks(chances: NDArray[np.float64], digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """At which place of the classifier's ranking the true digit stands, from 1 on."""
    ahead: NDArray[np.int64] = (chances > chances[np.arange(len(digits)), digits][:, None]).sum(axis=1)
    return ahead + 1


def main() -> None:
    """Train, then serve; the second half is noisy."""
    given = arguments(__doc__).parse_args()
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(len(digits))
    train, test = shuffled[:300], shuffled[300:]
    classifier = LogisticRegression(max_iter=2000).fit(images[train], digits[train])

    served = rng.choice(test, size=IMAGES)
    dirt = np.zeros((IMAGES, 64))
    dirt[IMAGES // 2 :] = rng.normal(0.0, 5.0, size=(IMAGES - IMAGES // 2, 64))
    places = ranks(classifier.predict_proba(np.clip(images[served] + dirt, 0.0, 16.0)), digits[served])

    menu = suffice.Menu.top_k(KS, classes=10)  # no skip: a clerk gets at least one digit
    selector, watch = suffice.Selector(menu, TARGET), Watch()
    for place in places.tolist():
        decision = selector.ask()
        success = place <= decision.option  # yours: show decision.option digits; does the clerk find the right one?
        selector.tell(decision, success)
        name = "safe option (10)" if decision.is_safe else f"{decision.option}"
        watch.note(name, success, decision.option / 10, selector.debt)

    print(f"{selector.certificate()}\n")
    best = []
    for name, begin, end in (("clean", 0, IMAGES // 2), ("dirty", IMAGES // 2, IMAGES)):
        part = places[begin:end]
        shown = [*KS, 10]
        least = suffice.optimum([(part <= k).mean() for k in shown], [k / 10 for k in shown], TARGET).cost
        best.append((begin, least))
        print(f"{name}: top-1 is right for {(part == 1).mean():.1%}. {watch.said(begin, end)}; optimum {least:.3f}")
    print("Showing all ten costs 1.")
    order = *(f"{k}" for k in KS), "safe option (10)"
    marks = {IMAGES // 2: "the scanner gets dirty"}
    draw(given.figure, {"suffice": watch}, Story(TARGET, 1.0, best, marks=marks, order=order, unit="images"))


if __name__ == "__main__":
    main()

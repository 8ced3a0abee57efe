"""You have a router with a score already; suffice sets its threshold, and keeps it right.

    python examples/router_score.py

A router scores each question: how likely is it that the small model will do? Somebody chose 0.64 as the threshold, from old
traffic, and it was right. Then other customers come, for whom the score is too high, and it is wrong, without notice. Here
the outcomes move the threshold instead. Copy `answer` and `feedback`; the client is made up, in the shape of OpenAI's.
"""

import random
from types import SimpleNamespace as Record
from typing import Any

import numpy as np
from watch import Story, Watch, arguments, draw

import suffice

PRICES = {"small": 0.15, "large": 2.5}  # assumed: US dollars per thousand answers
TARGET, BY_HAND, QUESTIONS = 0.9, 0.64, 20_000

# At 1 all questions go to the large model. At 0 all go to the small one, which may do: so `low` does not always fail.
controller = suffice.ThresholdSelector(low=0.0, high=1.0, target=TARGET, low_fails=False, max_surplus=50)


def answer(client: Any, question: str, score: float) -> tuple[str, suffice.Decision, str]:
    """By the small model where the score is above the threshold."""
    decision = controller.ask()
    model = "small" if score > decision.option else "large"
    reply = client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
    return reply.choices[0].message.content, decision, model


def feedback(decision: suffice.Decision, good_enough: bool) -> None:
    """A thumb, a judge, a ticket that was not opened again: whatever says that the answer was good enough."""
    controller.tell(decision, success=good_enough)


def create(model: str, messages: list[dict[str, str]]) -> Any:
    """What the made-up client answers: the small model is wrong where the question is hard."""
    content = "wrong" if model == "small" and messages[0]["content"] == "hard" else "right"
    return Record(choices=[Record(message=Record(content=content))])


def hindsight(asked: list[tuple[float, bool]]) -> float:
    """The cost of the best threshold for these questions, from their scores and whether they were hard."""
    failed = np.cumsum([hard for _, hard in sorted(asked, reverse=True)])
    small = float((failed <= (1.0 - TARGET) * len(asked)).mean())  # the share that the small model can be given
    return small * PRICES["small"] + (1.0 - small) * PRICES["large"]


def main() -> None:
    """Other customers come halfway through."""
    given = arguments(__doc__).parse_args()
    client = Record(chat=Record(completions=Record(create=create)))
    rng, half, owed, ours, by_hand = random.Random(1), QUESTIONS // 2, 0.0, Watch(), Watch()
    asked = []
    for step in range(QUESTIONS):
        ease = rng.random() ** (0.5 if step < half else 1.0)  # the probability that the small model will do
        score, hard = ease if step < half else ease**0.5, rng.random() > ease
        content, decision, model = answer(client, "hard" if hard else "easy", score)
        feedback(decision, content == "right")
        ours.note(decision.option, content == "right", PRICES[model], controller.debt)
        good, model = (not hard, "small") if score > BY_HAND else (True, "large")  # what the old threshold does
        owed += TARGET - good
        by_hand.note(BY_HAND, good, PRICES[model], owed)
        asked.append((score, hard))
    print(f"{controller.certificate()}\n")
    best = [(0, hindsight(asked[:half])), (half, hindsight(asked[half:]))]
    for name, (begin, least) in zip(("first half", "second half"), best, strict=True):
        print(f"{name:12}suffice {ours.said(begin, begin + half)}; the best threshold in hindsight costs {least:.3f}")
        print(f"{'':12}by hand {by_hand.said(begin, begin + half)}")
    print(f"The large model for everybody costs {PRICES['large']:.3f}.")
    story = Story(TARGET, PRICES["large"], best, "best in hindsight", {half: "other customers"}, chosen="threshold")
    draw(given.figure, {"suffice": ours, "by hand": by_hand}, story)


if __name__ == "__main__":
    main()

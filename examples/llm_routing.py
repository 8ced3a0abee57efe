"""Meet a quality target at the lowest cost: which queries need the strong language model?

    python examples/llm_routing.py

Nine of ten answers shall be *no worse than the strong model's*. So the strong model is a true safe option: it is never worse
than itself. To learn whether an answer is no worse, a judge compares it with the strong model's. That is expensive, so one
answer in twenty is judged (`audit`), drawn at random before the decision. Each kind of query has its own promise (`group`),
and a model uses what is known of a query (`context`). On Wednesday half of the cheap model's good answers
turn bad, without notice.
"""

import random

import numpy as np
from watch import Story, Watch, arguments, draw

import suffice

MIXTRAL, GPT4 = 0.24, 24.7  # assumed: US dollars per million tokens, and as many tokens of either for a query
CHEAP, TARGET, JUDGED = MIXTRAL / GPT4, 0.9, 0.05
DAYS = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"

# RouteLLM's 15,361 queries (Ong et al. 2024, lm-sys/RouteLLM, Apache-2.0), a fifth of each task by the length of the prompt:
# its middle length in characters, and how many of them both models, GPT-4 alone, Mixtral alone and neither get right.
COUNTED = {
    ("mmlu", 132): (1871, 381, 156, 409), ("mmlu", 205): (1867, 407, 168, 380), ("mmlu", 307): (1849, 457, 144, 357),
    ("mmlu", 438): (1627, 651, 124, 390), ("mmlu", 1136): (1604, 601, 150, 449), ("gsm8k", 137): (167, 59, 28, 15),
    ("gsm8k", 180): (166, 61, 18, 18), ("gsm8k", 223): (159, 74, 14, 15), ("gsm8k", 273): (136, 90, 16, 19),
    ("gsm8k", 366): (119, 99, 19, 27),
}  # fmt: skip


def optimum(kept: float) -> float:
    """The least cost that meets the target in each task, if Mixtral keeps such a share of its good answers."""
    total = 0.0
    for name in ("mmlu", "gsm8k"):
        counts = np.array([counts for (task, _), counts in COUNTED.items() if task == name])
        sizes = counts.sum(axis=1)
        success = np.stack([kept * (1.0 - counts[:, 1] / sizes), np.ones(len(sizes))], axis=1)
        costs = [[CHEAP, 1.0]] * len(sizes)
        total += suffice.contextual_optimum(sizes / sizes.sum(), success, costs, TARGET).cost * sizes.sum()
    return total / sum(map(sum, COUNTED.values()))


def main() -> None:
    """Route a week of queries."""
    parser = arguments(__doc__)
    parser.add_argument("--queries", type=int, default=20_000, help="a day (default 20,000)")
    parser.add_argument("--seed", type=int, default=4, help="another week (default 4)")
    given = parser.parse_args()
    rng, watch, debt = random.Random(given.seed), Watch(), 0.0
    kinds = [(task, length, place != 1) for task, length in COUNTED for place in range(4)]  # True: Mixtral is no worse
    often = [count for counts in COUNTED.values() for count in counts]

    # Everybody gets an answer, so there is no skip. A day has a thousand judged answers: their root is a good max_surplus.
    menu = suffice.Menu({"mixtral": CHEAP, "gpt-4": 1.0}, safe="gpt-4")
    selector = suffice.Selector(menu, TARGET, model="auto", max_surplus=30)
    for day in DAYS:
        for task, length, no_worse in rng.choices(kinds, often, k=given.queries):
            judged, lapse = rng.random() < JUDGED, day == "Wednesday" and rng.random() < 0.5
            decision = selector.ask(group=task, context={"task": task, "length": length}, audit=judged)
            success = decision.is_safe or (no_worse and not lapse)  # yours: send what decision.option answers
            if judged:  # yours: have it compared with the strong model's answer
                selector.tell(decision, success)
                debt = max(group.debt for group in selector.groups.values())
            chosen, cost = ("safe option (gpt-4)", 1.0) if decision.is_safe else ("mixtral", CHEAP)
            watch.note(chosen, success, cost, debt)
        print(f"{day:10}{watch.said(-given.queries)}; optimum {optimum(0.5 if day == 'Wednesday' else 1.0):.3f}")

    print(*(f"\n{task}: {selector.certificate(group=task)}" for task in selector.groups), sep="\n")
    print(f"\n{selector.context_report()}\nAll week: {watch.said()}, where GPT-4 for everybody costs 1.")
    days = {place * given.queries: day for place, day in enumerate(DAYS)}
    best = [(place, optimum(0.5 if day == "Wednesday" else 1.0)) for place, day in days.items()]
    order = "mixtral", "safe option (gpt-4)"
    draw(given.figure, {"suffice": watch}, Story(TARGET, 1.0, best, marks=days, order=order, unit="queries"))


if __name__ == "__main__":
    main()

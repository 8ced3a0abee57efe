"""Send each query to a cheap language model or to the strong one; nine of ten answers shall be no worse than the strong one's.

    python examples/llm_routing.py                          # made-up queries, seconds
    python examples/llm_routing.py --path queries.csv.gz    # RouteLLM's: columns task, weak_ok, strong_ok, prompt_chars

Every task has a promise of its own (`group`), a model looks at task and length (`context`), and only one answer in twenty is
judged (`audit`): by a coin that is tossed before anything is decided, so that those that are judged speak for all.
"""

import argparse
import csv
import gzip
import math
import random
from collections.abc import Iterator

import suffice

CHEAP, STRONG = 0.24, 24.7  # assumed: US dollars per million tokens, and as many tokens of either for a query
TARGET, JUDGED = 0.9, 0.05

Query = tuple[str, int, bool]  # its task, its length, and whether the cheap answer is no worse than the strong one


def made_up(rng: random.Random) -> Iterator[Query]:
    """Queries of three tasks; the longer they are, the less often the cheap answer will do."""
    while True:
        task, usual, ease = rng.choice([("chat", 150, 1.5), ("code", 400, 0.5), ("maths", 250, 0.0)])
        length = int(rng.lognormvariate(math.log(usual), 0.7)) + 1
        odds = ease - 2.0 * math.log(length / usual)
        yield task, length, rng.random() < 0.5 + 0.5 / (1.0 + math.exp(-odds))


def recorded(path: str, rng: random.Random) -> Iterator[Query]:
    """Recorded queries, drawn with replacement. Where both models are wrong, the cheap one is no worse."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        rows = [
            (
                row["task"].split("/")[0],
                int(row["prompt_chars"]),
                row["weak_ok"] == "True" or row["strong_ok"] != "True",
            )
            for row in csv.DictReader(file)
        ]
    while True:
        yield rng.choice(rows)


def main() -> None:
    """Route, and print what came of it."""
    parser = argparse.ArgumentParser(description="Send queries to a cheap and to a strong language model.")
    parser.add_argument("--path", help="RouteLLM's queries, .csv or .csv.gz; made up if left out")
    parser.add_argument("--queries", type=int, default=40_000, help="how many (default 40,000)")
    given = parser.parse_args()
    rng = random.Random(1)
    queries = recorded(given.path, rng) if given.path else made_up(rng)

    # The strong answer is never worse than itself, so it is everything. Everybody gets an answer, so there is no nothing.
    menu = suffice.Menu({"cheap": CHEAP / STRONG}, everything="strong")
    selector = suffice.Selector(menu, TARGET, model="auto")
    spent = 0.0
    for _ in range(given.queries):
        task, length, no_worse = next(queries)
        judged = rng.random() < JUDGED
        decision = selector.ask(group=task, context={"task": task, "length": length}, audit=judged)
        spent += 1.0 if decision.is_everything else CHEAP / STRONG  # yours: call decision.option and send its answer
        if judged:  # yours: have the answer compared with the strong one's
            selector.tell(decision, success=decision.is_everything or no_worse)

    for task in selector.groups:
        print(f"{task}\n{selector.certificate(group=task)}\n")
    print(f"all tasks\n{selector.certificate()}\n")
    print(selector.insight())
    print(f"It cost {spent / max(1, given.queries):.2f} per query, where the strong model alone costs 1.00.")


if __name__ == "__main__":
    main()

"""Routing by plain correctness, where even the strong model is not always right: what can be promised, and what cannot.

    python examples/llm_correctness.py

GPT-4 gets 81.0% of RouteLLM's questions right, Mixtral 67.7%. So no router reaches 85%, and 75% is within reach if you say
that the safe option may fail: `safe_success=0.8`. Both are tried here. At 85% the team believes that GPT-4 is always right,
and the certificate finds out that it is not.
"""

import random

from watch import Story, Watch, arguments, draw

import suffice

MIXTRAL, GPT4 = 0.24, 24.7  # assumed: US dollars per million tokens, and as many tokens of either for a query
CHEAP = MIXTRAL / GPT4

# RouteLLM's queries (Ong et al. 2024, lm-sys/RouteLLM, Apache-2.0): is Mixtral right, is GPT-4 right, and how often.
COUNTED = {(True, True): 9565, (False, True): 2880, (True, False): 837, (False, False): 2079}


def route(target: float, safe_success: float, queries: int, seed: int) -> tuple[suffice.Selector, Watch]:
    """Answer so many questions, each judged right or wrong."""
    menu = suffice.Menu({"mixtral": CHEAP, "gpt-4": 1.0}, safe="gpt-4", safe_success=safe_success)
    selector, watch = suffice.Selector(menu, target), Watch()
    for mixtral, gpt4 in random.Random(seed).choices(list(COUNTED), list(COUNTED.values()), k=queries):
        decision = selector.ask()
        success = gpt4 if decision.is_safe else mixtral  # yours: call it, and have the answer checked
        selector.tell(decision, success)
        chosen, cost = ("safe option (gpt-4)", 1.0) if decision.is_safe else ("mixtral", CHEAP)
        watch.note(chosen, success, cost, selector.debt)
    return selector, watch


def main() -> None:
    """Ask for 75%, and for 85%."""
    parser = arguments(__doc__)
    parser.add_argument("--queries", type=int, default=10_000, help="how many (default 10,000)")
    parser.add_argument("--seed", type=int, default=1, help="other queries (default 1)")
    given = parser.parse_args()
    total = sum(COUNTED.values())
    right = [sum(count for who, count in COUNTED.items() if who[model]) / total for model in (0, 1)]

    runs = {}
    for target, safe_success in ((0.75, 0.8), (0.85, 1.0)):
        selector, watch = route(target, safe_success, given.queries, given.seed)
        runs[f"target {target:.0%}"] = watch
        print(f"Target {target:.0%}, safe_success={safe_success}\n{selector.certificate()}")
        print(f"{watch.said()}; GPT-4 for everybody: {right[1]:.1%}, cost 1")
        try:
            print(f"The optimum costs {suffice.optimum(right, [CHEAP, 1.0], target).cost:.3f}.\n")
        except suffice.Infeasible as error:
            print(f"There is no optimum: {error}.\n")

    try:  # a team that knows beforehand is told at once
        suffice.Selector(suffice.Menu({"mixtral": CHEAP, "gpt-4": 1.0}, safe="gpt-4", safe_success=0.8), target=0.85)
    except suffice.SufficeError as error:
        print(f"And if GPT-4's 80% are declared: {error}.")
    best = suffice.optimum(right, [CHEAP, 1.0], 0.75).cost
    draw(given.figure, runs, Story(0.75, 1.0, [(0, best)], order=("mixtral", "safe option (gpt-4)"), unit="queries"))


if __name__ == "__main__":
    main()

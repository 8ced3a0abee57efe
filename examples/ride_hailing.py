"""How many drivers to ping for a ride, when the answer comes late, or never.

    python examples/ride_hailing.py

A request goes to the k drivers who are likeliest to take it, and works if one of them does; a car of the company's own comes
for sure, and is expensive. Whether it worked is known when the ride begins, one to five minutes later, while other requests go
out. One confirmation in fifty gets lost. After ten minutes without a word it counts as a failure (`expire_after`); half of the
lost ones turn up later, when the driver's phone is back in the net, and amend that. Some thirty requests are outstanding at
any time, of the 200 that may be (`in_flight`). In the rush hour drivers accept half as often.
"""

import heapq
import random

import numpy as np
from watch import Story, Watch, arguments, draw

import suffice
from suffice.lab.streams.rides import Pool

TARGET, REQUESTS, GAP = 0.9, 12_000, 6.0  # a request every six seconds, for twenty hours
PHASES = ("before", 0, 5000), ("rush hour", 5000, 7500), ("after", 7500, REQUESTS)
PINGS = {k: k / 40 for k in (2, 4, 6, 8, 12, 16, 24)}  # assumed: a ping costs a fortieth of the company's own car
SCORES = Pool.simulated(
    2000, seed=1
).score  # simulated: how likely each of 20 to 40 drivers accepts, the likeliest first


def optimum(willing: float) -> float:
    """The least cost that meets the target, where one word in a hundred is never heard and counts as a failure."""
    success = [0.99 * (1.0 - np.prod(1.0 - willing * SCORES[:, :k], axis=1)).mean() for k in PINGS]
    return suffice.optimum([*success, 1.0], [*PINGS.values(), 1.0], TARGET).cost


def main() -> None:
    """A day of requests, on a clock of its own."""
    parser = arguments(__doc__)
    parser.add_argument("--memory", default="auto", help="how much of the past counts, such as 'window 1000'")
    parser.add_argument("--seed", type=int, default=1, help="another day (default 1)")
    given = parser.parse_args()
    rng, watch, now = random.Random(given.seed), Watch(), 0.0
    words: list[tuple[float, suffice.Decision, bool]] = []  # on their way: when they come, and what they say

    menu = suffice.Menu(PINGS, safe="own car", safe_cost=1.0, order="chain")  # no skip: everybody gets a car
    learning = suffice.Learning(memory=given.memory)
    selector = suffice.Selector(menu, TARGET, expire_after=600.0, clock=lambda: now, learning=learning)
    for request in range(REQUESTS):
        now, willing = request * GAP, 0.5 if 5000 <= request < 7500 else 1.0
        while words and words[0][0] <= now:
            _, earlier, worked = heapq.heappop(words)
            selector.tell(earlier, worked)  # in whatever order; if it had expired, that is amended

        decision = selector.ask()
        accepts = [rng.random() < willing * score for score in SCORES[rng.randrange(2000)]]
        success = decision.is_safe or any(accepts[: decision.option])  # yours: ping them, and see
        lost = not decision.is_safe and rng.random() < 0.02  # the company knows about its own car
        if not lost or rng.random() < 0.5:
            heapq.heappush(words, (now + (1800.0 if lost else rng.uniform(60.0, 300.0)), decision, success))

        chosen = "safe option (own car)" if decision.is_safe else f"{decision.option} drivers"
        watch.note(chosen, success, PINGS.get(decision.option, 1.0), selector.debt)

    print(f"{selector.certificate()}\n\nWhat really happened, known or not:")
    best = [(begin, optimum(0.5 if name == "rush hour" else 1.0)) for name, begin, _ in PHASES]
    for (name, begin, end), (_, least) in zip(PHASES, best, strict=True):
        print(f"{name:10}{watch.said(begin, end)}; optimum {least:.3f}")
    print("The company's own car for everybody costs 1.")
    order = *(f"{k} drivers" for k in PINGS), "safe option (own car)"
    marks = {5000: "rush hour", 7500: "after it"}
    draw(given.figure, {"suffice": watch}, Story(TARGET, 1.0, best, marks=marks, order=order, unit="requests"))


if __name__ == "__main__":
    main()

"""Which of four speech APIs to call, while one of their vendors goes down: once with a notice, once without.

    python examples/prediction_apis.py

A spoken command is understood if one of the APIs that are called understands it; or else a person is asked. That must work for
nine of ten commands. Which APIs are enough is learned from the outcomes, and learned anew when IBM is down: the first time its
status page says so, and what needs it is not `available`; the second time it returns rubbish, at the usual price.
"""

import random

import numpy as np
from watch import Story, Watch, arguments, draw

import suffice
from suffice.lab.streams import PredictionApis

# 64,727 spoken commands, which APIs understood each, and dollars per 10,000 calls in 2020 (Chen, Zaharia and Zou, FrugalML,
# NeurIPS 2020, Apache-2.0). Assumed: a person costs three times all four APIs together.
STREAM = PredictionApis("COMMAND", unit="usd")
MENU, TASK = STREAM.menu, STREAM.task
TARGET, DOWN, PERSON = 0.9, "IBM", MENU.safe
PHASES = (
    ("all is well", 8000),
    ("down, announced", 4000),
    ("well again", 4000),
    ("down, silently", 4000),
    ("and again", 4000),
)


def understood(option: tuple[str, ...], pattern: int, phase: str) -> bool:
    """Whether it works, for a command that the APIs in the bits of a pattern understand."""
    able = [api for place, api in enumerate(TASK.apis) if pattern >> place & 1]
    return option == PERSON or any(api in able for api in option if api != DOWN or phase != "down, silently")


def optimum(phase: str) -> float:
    """The least cost that meets the target while a phase lasts."""
    arms = [arm for arm in range(MENU.n_arms) if phase != "down, announced" or DOWN not in MENU.option(arm)]
    works = [[understood(MENU.option(arm), pattern, phase) for pattern in range(16)] for arm in arms]
    success = np.array(works) @ np.array(TASK.counts) / sum(TASK.counts)
    return suffice.optimum(success, [MENU.known_cost(arm) or 0.0 for arm in arms], TARGET).cost


def name(option: tuple[str, ...]) -> str:
    """What a figure calls it."""
    return {PERSON: "safe option (a person)", (): "skip"}.get(option, "with IBM" if DOWN in option else "without it")


def main() -> None:
    """Through both outages."""
    given = arguments(__doc__).parse_args()
    rng, watch, best, marks = random.Random(1), Watch(), [], {}
    without = [option for option in (*MENU.options, MENU.safe) if DOWN not in option]

    selector = suffice.Selector(MENU, TARGET)
    for phase, length in PHASES:
        marks[len(watch.steps)] = phase
        best.append((len(watch.steps), optimum(phase)))
        for pattern in rng.choices(range(16), TASK.counts, k=length):
            decision = selector.ask(available=without if phase == "down, announced" else None)
            success = understood(decision.option, pattern, phase)  # yours: call them, and see whether one understood
            selector.tell(decision, success)
            watch.note(name(decision.option), success, MENU.known_cost(decision.arm) or 0.0, selector.debt)
        print(f"{phase:16}{watch.said(-length)}; optimum {best[-1][1]:.3f}")

    print(f"\n{selector.certificate()}\n\nMost often:")
    for row in sorted(selector.options(), key=lambda row: -row.plays)[:4]:
        print(f"{row.share:6.1%}  {row.option if row.option == PERSON else ' + '.join(row.option) or 'skip'}")
    print(f"\nOver all: {watch.said()}, in dollars per 10,000; a person for all of them costs {MENU.safe_cost:.3f}.")
    order = "skip", "without it", "with IBM", "safe option (a person)"
    draw(
        given.figure, {"suffice": watch}, Story(TARGET, MENU.safe_cost, best, marks=marks, order=order, unit="commands")
    )


if __name__ == "__main__":
    main()

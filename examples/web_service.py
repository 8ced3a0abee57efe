"""In a web service: ask in the handler, tell in the background, and expire what is never told.

    python examples/web_service.py       # calls itself four thousand times
    uvicorn web_service:app              # in this folder: the same, for real

A support service answers with a small model, a large one or a person. The answer goes out at once; a checker judges it in
the background, and fails to do so one time in fifty. Such a decision counts as a failure after five minutes (`expire_after`).
For more than one process there is `suffice serve`: then write `selector = await suffice.AsyncClient(url,
fallback="safe").selector("support", MENU, target=0.9)`, and await ask and tell.
"""

import asyncio
import random
import time
from contextlib import suppress
from functools import partial

import httpx
from fastapi import BackgroundTasks, FastAPI
from watch import Story, Watch, arguments, draw

import suffice

COSTS = {"small": 0.05, "large": 0.2, "a person": 1.0}  # assumed
ABLE = {"small": 0.7, "large": 0.94, "a person": 1.0}  # made up: how hard a question each of them answers well
MENU = suffice.Menu(COSTS, safe="a person")
CLOCK = [time.time]  # the trial below has a clock of its own

app = FastAPI()
selector = suffice.Selector(MENU, target=0.9, expire_after=300.0, clock=lambda: CLOCK[0]())


@app.post("/answer")
async def answer(hardness: float, background: BackgroundTasks) -> str:
    """Answer with the cheapest option that is good enough."""
    decision = selector.ask()
    if decision.is_safe:
        selector.tell(decision, success=True)  # what a person says is taken as good
    else:
        background.add_task(check, decision, hardness)  # runs when the answer has been sent
    return str(decision.option)  # yours: the answer


async def check(decision: suffice.Decision, hardness: float) -> None:
    """Find out how it went, and tell. If that cannot be, the decision expires; a later word amends that."""
    with suppress(ConnectionError):
        selector.tell(decision, await good(hardness, decision.option))


async def good(hardness: float, by: str) -> bool:
    """Yours: have the answer checked."""
    if int(hardness * 1e6) % 50 == 0:
        raise ConnectionError("the checker is away")
    await asyncio.sleep(0)
    return hardness <= ABLE[by]


async def trial(watch: Watch) -> None:
    """Questions from twenty-five customers at a time, every ten seconds."""
    rng = random.Random(1)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://support") as client:
        for turn in range(160):
            CLOCK[0] = partial(float, 10 * turn)
            questions = [rng.random() for _ in range(25)]
            replies = await asyncio.gather(*(client.post(f"/answer?hardness={one}") for one in questions))
            for hardness, by in zip(questions, [reply.json() for reply in replies], strict=True):
                chosen = "safe option (a person)" if by == MENU.safe else by
                watch.note(chosen, hardness <= ABLE[by], COSTS[by], selector.debt)


if __name__ == "__main__":
    given, watched = arguments(__doc__).parse_args(), Watch()
    asyncio.run(trial(watched))
    best = suffice.optimum([0.98 * 0.7, 0.98 * 0.94, 1.0], [0.05, 0.2, 1.0], target=0.9).cost  # untold: a failure
    print(
        f"{selector.certificate()}\n\nWhat really happened: {watched.said()}; optimum {best:.3f}, a person for all 1."
    )
    story = Story(0.9, 1.0, [(0, best)], order=("small", "large", "safe option (a person)"), unit="questions")
    draw(given.figure, {"suffice": watched}, story)

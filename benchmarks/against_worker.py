"""One version at work: `python -m benchmarks.against_worker`, with that version's sources first on PYTHONPATH.

Each line of its input is an order, each line of its output the answer, both JSON: make a case, time so many of its steps,
drop it.
"""

import gc
import json
import sys
from typing import Any

import suffice
from benchmarks.against_cases import Player, find
from benchmarks.measure import why


class Worker:
    """The cases that are set up."""

    def __init__(self) -> None:
        self._players: dict[str, Player] = {}

    def obey(self, order: dict[str, Any]) -> Any:
        """Do what an order says, and answer it."""
        key = order["case"]
        if order["do"] == "make":
            player = self._players[key] = find(key).make()
            gc.collect()
            gc.freeze()  # what one case has made must not be searched on another's time
            return player.unit
        if order["do"] == "time":
            return self._timed(key, order["steps"])
        self._drop(key)
        return None

    def _timed(self, key: str, steps: int) -> float:
        gc.disable()
        try:
            return self._players[key].timed(steps)
        finally:
            gc.enable()
            gc.collect()

    def _drop(self, key: str) -> None:
        player = self._players.pop(key, None)
        if player is not None:
            player.close()
        del player
        gc.unfreeze()
        gc.collect()

    def close(self) -> None:
        """Drop all that is left."""
        for key in list(self._players):
            self._drop(key)


def main() -> int:
    """Obey until there are no more orders."""
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing else may write between the answers
    suffice.warmup()
    worker = Worker()
    print(json.dumps({"answer": suffice.__file__}), file=answers, flush=True)
    try:
        for line in sys.stdin:
            try:
                said = {"answer": worker.obey(json.loads(line))}
            except Exception as error:
                said = {"error": why(error)}
            print(json.dumps(said), file=answers, flush=True)
    finally:
        worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

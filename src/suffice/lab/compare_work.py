"""One run of a comparison, as plain data in and out: it may be done in another process, or on another machine."""

import functools
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from suffice.best_mix import Optimum
from suffice.errors import SufficeError, SufficeWarning
from suffice.lab.compare_streams import Entry
from suffice.lab.method_specs import methods
from suffice.lab.run import benchmark
from suffice.lab.run_results import midpoint, outcome
from suffice.lab.run_stream import open_stream
from suffice.lab.sweep import blamed
from suffice.simulator import summarize

Task = dict[str, Any]
Line = dict[str, Any]  # a run and what it came to, or why it could not be
REFUSED: Final = "refused"


def tasks(entry: Entry, names: Iterable[str], seeds: Iterable[int], target: float, window: int) -> list[Task]:
    """The runs on a stream, all methods of one world before the next: what is there early is there for all."""
    common = {
        "key": entry.key, "stream": entry.label, "text": entry.text, "settings": entry.settings, "target": target,
        "horizon": entry.horizon, "window": min(window, entry.horizon),
    }  # fmt: skip
    listed = tuple(names)
    return [{**common, "method": name, "seed": seed} for seed in seeds for name in listed]


def work(task: Task) -> Line:
    """Do one run. One that fails says why instead of taking the others with it."""
    line = {name: value for name, value in task.items() if name not in ("text", "settings")}
    target, horizon, name, seed = (task[key] for key in ("target", "horizon", "method", "seed"))
    try:
        stream, best = _world(task["key"], task["text"], tuple(task["settings"]), target)
        method = methods(stream, target, horizon, [name])[name](seed)
        summary = summarize(method, stream, horizon, seed, window=task["window"], marks=[midpoint(horizon)])
        found = outcome(summary, best)
    except SufficeError as error:
        return {**line, REFUSED: str(error)}
    except Exception as error:  # whatever a stream of one's own may raise
        return {**line, REFUSED: blamed(error)}
    return {**line, **asdict(found)}


@functools.lru_cache(maxsize=8)
def _world(_key: str, text: str, settings: tuple[str, ...], target: float) -> tuple[Any, Optimum | None]:
    """A stream is opened once in a process, and again where what it is made from has changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # said once already, by who made the tasks
        stream = open_stream(text, settings).stream
    return stream, benchmark(stream, target)[0]

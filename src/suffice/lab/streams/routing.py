"""Routing: answer with a cheap language model, a dear one, or a person, knowing what kind of query it is (RouteLLM)."""

import os
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import Cases, Floats, Table, with_settings_of
from suffice.lab.streams.compiled_forms import ByFrequency, sure, table_of
from suffice.lab.streams.routing_files import COUNTED, Queries, read_queries
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction, flag, positive, positive_int

SUCCESSES = ("right", "not worse")


class Routing(ByFrequency):
    """Whom to give a query to: Mixtral-8x7B, GPT-4, or a person. The context is what is known of the query.

    The recordings hold no prices. Those here are assumed: US dollars per million tokens, in 2024, as if every query took as
    many tokens of either model, so that a model costs the same in each step. The safe option costs 1, the others their share.

    Args:
        queries: read by `Routing.load`; the counts of RouteLLM's recording if left out, where only the task is known.
        success: "right": the answer is, and a person's always is; or "not worse": than GPT-4's, which then is the safe option,
            and Mixtral fails only where it is wrong and GPT-4 is not.
        mixtral, gpt4: the prices of the models.
        person: what asking a person costs, in prices of both models together; at least 1.
        lengths: so many values, equally common, the lengths of prompts are rounded to. Of each value there are then
            enough queries for `cases` to mean something; None leaves lengths as they are.
        subject: whether the subject is known too, for those of MMLU one of 57.

    >>> import suffice
    >>> from suffice.best_mix import contextual_optimum
    >>> stream = Routing(success="not worse")
    >>> stream.context(0), stream.menu.options, stream.menu.safe
    ({'task': 'MMLU'}, ('mixtral',), 'gpt-4')
    >>> round(suffice.optimum(*stream.truth(), target=0.9).cost, 4)
    0.4718
    >>> round(contextual_optimum(*stream.cases(), target=0.9).cost, 4)
    0.4431
    """

    name = "routing"
    about = "answer by Mixtral, GPT-4 or a person, knowing the task (RouteLLM, or its file)"

    def __init__(
        self,
        queries: Queries | None = None,
        *,
        success: str = "right",
        mixtral: float = 0.24,
        gpt4: float = 24.7,
        person: float = 3.0,
        lengths: int | None = 16,
        subject: bool = False,
    ) -> None:
        if success not in SUCCESSES:
            raise InvalidArgument(f'success must be "right" or "not worse", got {quoted(success)}')
        prices = positive("mixtral", mixtral), positive("gpt4", gpt4)
        if prices[0] > prices[1]:
            raise InvalidArgument(f"mixtral must be at most gpt4, got {quoted(mixtral)} and {quoted(gpt4)}")
        times = as_fraction("person", person)
        if times < 1:
            raise InvalidArgument(f"person must be at least 1, the price of both models, got {quoted(person)}")
        self.queries = COUNTED if queries is None else queries
        if not isinstance(self.queries, Queries):
            raise InvalidArgument(f"queries must be Queries, as read by Routing.load, got {quoted(queries)}")
        self.menu = _menu(success, *prices, times)
        self._table = self._judged(success)
        self.frequency = self.queries.counts / self.queries.counts.sum()
        self._contexts = _contexts(self.queries, lengths, subject)

    def _judged(self, success: str) -> Table:
        weak, strong = self.queries.mixtral, self.queries.gpt4
        columns = [weak, strong] if success == "right" else [weak | ~strong]
        return table_of(self.menu, np.stack(columns, axis=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **settings: Any) -> "Routing":
        """The queries in a .csv or .csv.gz file with the columns task, weak_ok, strong_ok and prompt_chars.

        `task` is gsm8k or mmlu/SUBJECT; the settings are those of the class.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "queries.csv"
        >>> rows = "task,weak_ok,strong_ok,prompt_chars", "gsm8k,False,True,280", "mmlu/law,True,True,91"
        >>> _ = path.write_text("\\n".join(rows))
        >>> Routing.load(path, lengths=None, subject=True).context(1)
        {'task': 'MMLU', 'length': 91.0, 'subject': 'law'}
        """
        return cls(read_queries(path), **settings)

    @classmethod
    @with_settings_of(__init__)
    def named(cls, *, path: str | None = None, **settings: Any) -> "Routing":
        """The queries in a file, with the length of the prompt; RouteLLM's counts by task where there is none."""
        return cls(None if path is None else read_queries(path), **settings)

    def context(self, latent: Any) -> dict[str, Any]:
        """What is known of the query: its task, and from a file the length of its prompt."""
        return dict(self._contexts[latent])

    def cases(self) -> Cases:
        """A row per context that occurs. With many contexts there are few queries of each, and it flatters."""
        places: dict[tuple[Any, ...], int] = {}
        kinds = np.array([places.setdefault(tuple(known.values()), len(places)) for known in self._contexts])
        weights: Floats = np.bincount(kinds, self.frequency).astype(np.float64)
        columns = [np.bincount(kinds, self.frequency * column) / weights for column in self._table.successes.T]
        success = sure(np.stack(columns, axis=1))
        return Cases(weights, success, np.tile(self._table.costs[0], (weights.size, 1)))


def _menu(success: str, mixtral: Fraction, gpt4: Fraction, person: Fraction) -> Menu:
    if success == "not worse":
        return Menu({"mixtral": float(mixtral / gpt4)}, safe="gpt-4", skip="no answer")
    top = person * (mixtral + gpt4)
    priced = {"mixtral": float(mixtral / top), "gpt-4": float(gpt4 / top)}
    return Menu(priced, safe="a person", skip="no answer")


def _contexts(queries: Queries, lengths: int | None, subject: bool) -> list[dict[str, Any]]:
    """What is known of each kind of query."""
    fields: dict[str, Any] = {"task": queries.task}
    values = None if lengths is None else positive_int("lengths", lengths)
    if queries.length is not None:
        fields["length"] = (queries.length if values is None else _rounded(queries.length, values)).tolist()
    if flag("subject", subject):
        if queries.subject is None:
            raise InvalidArgument("subject must be False where no queries are given: only counts by task are known")
        fields["subject"] = queries.subject
    return [dict(zip(fields, known, strict=True)) for known in zip(*fields.values(), strict=True)]


def _rounded(lengths: Floats, values: int) -> Floats:
    """Each length as the middle one of its class; classes are equally full, as far as equal lengths allow."""
    ends = np.quantile(lengths, np.arange(1, values) / values)
    classes = np.searchsorted(ends, lengths)
    rounded = np.zeros_like(lengths)
    for kind in np.unique(classes):
        rounded[classes == kind] = np.floor(np.median(lengths[classes == kind]))
    return rounded

"""What was wrong with a body, in sentences: the field, the rule, and never the whole body back."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pydantic_core
from pydantic import ValidationError

from suffice.errors import InvalidArgument

MOST_FAULTS: Final = 20
# Several may be of one place. Of more no list is made: it would be larger than the body.
MOST_ERRORS: Final = 4 * MOST_FAULTS

SAID: Final = "said"  # the kind of a fault that says itself what must be

# What pydantic says, in the words of this project, with the bounds that it names.
_SAID: Final = {
    "missing": "must be given",
    "extra_forbidden": "is not known here",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number that is not so large",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "union_tag_not_found": 'must say its "kind"',
    "none_required": "must be null",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must hold at least {min_length}, got {actual_length}",
    "too_long": "must hold at most {max_length}",
}


def read_faults(error: ValidationError | Sequence[Any], *, values: bool = False) -> list[dict[str, str]]:
    """Where something was wrong and what, at most so many; one for each place. `values`: also what stood there."""
    if isinstance(error, ValidationError):
        if error.error_count() > MOST_ERRORS:
            return [{"where": "the body", "problem": f"must have fewer faults, got {error.error_count():,}"}]
        error = error.errors(include_url=False, include_input=values)
    found: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    for item in error[:MOST_ERRORS]:
        place = where_of(item["loc"])
        found.setdefault(place, []).append(_problem(item))
        given[place] = f", got {_value(item['input'])}" if values and item["type"] not in _WITHOUT else ""
    # Of the forms that were tried, the one that went furthest is meant.
    deepest = [place for place in found if not any(_inside(other, place) for other in found)]
    return [{"where": place, "problem": _joined(found[place]) + given[place]} for place in deepest[:MOST_FAULTS]]


# What speaks for itself, or has said it.
_WITHOUT: Final = frozenset(("missing", "extra_forbidden", "json_invalid", "value_error", "too_short", "too_long"))


def _value(value: Any) -> str:
    """A value as JSON has it, never long."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = pydantic_core.to_json(value, fallback=repr).decode()
    return text if len(text) <= 80 else text[:77] + "..."


def _inside(other: str, place: str) -> bool:
    return other.startswith((place + ".", place + "["))


def _joined(problems: list[str]) -> str:
    """One problem of several forms that were tried: must be a list or an object."""
    first, *others = dict.fromkeys(problems)
    return " or ".join([first, *(other.removeprefix("must be ").removeprefix("must ") for other in others)])


def sentence(found: Iterable[dict[str, str]]) -> str:
    """The first fault as one sentence, and how many more there are."""
    first, *more = list(found) or [{"where": "the request", "problem": "cannot be read"}]
    said = f"{first['where']} {first['problem']}"
    return said + (f" (and {len(more)} more: see errors)" if more else "")


def refuse(error: ValidationError) -> InvalidArgument:
    """The same as the library raises it."""
    return InvalidArgument(sentence(read_faults(error, values=True)))


def where_of(place: Iterable[Any]) -> str:
    """A place in a body: menu.options[2], without the names of the forms that were tried there."""
    parts = list(place)
    if parts[:1] == ["menu"]:
        del parts[1:2]  # the kind of menu
        if parts[1:2] == ["recipe"]:
            del parts[2:3]  # and that of the one that was written down
    if parts[0:1] in (["query"], ["path"]):
        del parts[0]
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not (_FORM.search(part) or part in _TYPES):
            text += f".{part}" if text else part
    return text[:200] or "the body"


# How pydantic lists, among the places, which of several types was tried.
_FORM: Final = re.compile(r"[(\[]|^constrained-")
_TYPES: Final = frozenset(("float", "str", "int", "bool"))


def _problem(item: Any) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind in _SAID:
        return _SAID[kind].format_map({name: _short(value) for name, value in context.items()})
    if kind == "json_invalid":
        return f"must be JSON: {context.get('error', 'it cannot be read')}"
    if kind == "value_error":
        return str(context.get("error", item["msg"]))
    if kind in ("literal_error", "union_tag_invalid"):
        expected = context.get("expected") or context.get("expected_tags", "")
        return f"must be one of {expected}".replace("'", '"')
    if kind == "string_pattern_mismatch":
        return f"must match {context.get('pattern')}"
    if kind == SAID:
        return str(item["msg"])
    message: str = item["msg"]
    return message.removeprefix("Value error, ").replace("Input should", "must").replace("valid ", "")


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)

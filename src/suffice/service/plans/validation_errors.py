"""Validation errors in plain sentences: the field, the rule and the value, in bounded space."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pydantic_core
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from suffice.errors import InvalidArgument

MOST_FAULTS: Final = 20
# Several errors may concern one place. A list of more errors than this would be larger than the body.
MOST_ERRORS: Final = 4 * MOST_FAULTS

RULE: Final = "rule"  # the type of an error whose message is already a rule

# Pydantic's types of errors, and the rule in this project's words.
_RULES: Final = {
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


def read_faults(error: ValidationError | Sequence[ErrorDetails], *, values: bool = False) -> list[dict[str, str]]:
    """The places with errors and the rule of each, at most 20. `values`: the rule is followed by the value."""
    if isinstance(error, ValidationError):
        if error.error_count() > MOST_ERRORS:
            return [{"where": "the body", "problem": f"must have fewer faults, got {error.error_count():,}"}]
        error = error.errors(include_url=False, include_input=values)
    problems: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    for item in error[:MOST_ERRORS]:
        place = where_of(item["loc"])
        problems.setdefault(place, []).append(_problem(item))
        given[place] = f", got {_value(item['input'])}" if values and item["type"] not in _WITHOUT_VALUE else ""
    # Pydantic reports every member of a union; the error deepest in the body is the relevant one.
    deepest = [place for place in problems if not any(_inside(other, place) for other in problems)]
    return [{"where": place, "problem": _joined(problems[place]) + given[place]} for place in deepest[:MOST_FAULTS]]


# Errors whose message needs no value, or has it.
_WITHOUT_VALUE: Final = frozenset(
    ("missing", "extra_forbidden", "json_invalid", "value_error", "too_short", "too_long")
)


def _value(value: object) -> str:
    """A value as JSON, shortened."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = pydantic_core.to_json(value, fallback=repr).decode()
    return text if len(text) <= 80 else text[:77] + "..."


def _inside(other: str, place: str) -> bool:
    return other.startswith((place + ".", place + "["))


def _joined(problems: list[str]) -> str:
    """One rule from those of a union: "must be a list or an object"."""
    first, *others = dict.fromkeys(problems)
    return " or ".join([first, *(other.removeprefix("must be ").removeprefix("must ") for other in others)])


def sentence(faults: Iterable[dict[str, str]]) -> str:
    """The first fault as one sentence, and the number of others."""
    first, *more = list(faults) or [{"where": "the request", "problem": "cannot be read"}]
    return f"{first['where']} {first['problem']}" + (f" (and {len(more)} more: see errors)" if more else "")


def refuse(error: ValidationError) -> InvalidArgument:
    """The error that the library raises for a bad argument."""
    return InvalidArgument(sentence(read_faults(error, values=True)))


def where_of(place: Iterable[int | str]) -> str:
    """A place in a body, such as menu.options[2], without the names that pydantic gives to members of unions."""
    parts = list(place)
    if parts[:1] == ["menu"]:
        del parts[1:2]  # the kind of menu
        if parts[1:2] == ["recipe"]:
            del parts[2:3]  # the kind of recipe
    if parts[0:1] in (["query"], ["path"]):
        del parts[0]
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not (_FORM.search(part) or part in _TYPES):
            text += f".{part}" if text else part
    return text[:200] or "the body"


# Pydantic's names of the members of unions.
_FORM: Final = re.compile(r"[(\[]|^constrained-")
_TYPES: Final = frozenset(("float", "str", "int", "bool"))


def _problem(item: ErrorDetails) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind in _RULES:
        return _RULES[kind].format_map({name: _short(value) for name, value in context.items()})
    if kind == "json_invalid":
        return f"must be JSON: {context.get('error', 'it cannot be read')}"
    if kind == "value_error":
        return str(context.get("error", item["msg"]))
    if kind in ("literal_error", "union_tag_invalid"):
        expected = context.get("expected") or context.get("expected_tags", "")
        return f"must be one of {expected}".replace("'", '"')
    if kind == "string_pattern_mismatch":
        return f"must match {context.get('pattern')}"
    if kind == RULE:
        return str(item["msg"])
    return item["msg"].removeprefix("Value error, ").replace("Input should", "must").replace("valid ", "")


def _short(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)

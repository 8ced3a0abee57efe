"""Types of values in JSON bodies: numbers, shares, texts, options and contexts, with their checks and descriptions."""

from typing import Annotated, Final, TypeGuard, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from suffice.errors import quoted
from suffice.service.plans.validation_errors import RULE

MOST_WHOLE: Final = 1 << 53  # some readers of JSON round larger whole numbers
MOST_NUMBER: Final = 1e100
MOST_DEBT: Final = 1e8
LONGEST_TEXT: Final = 1_000  # characters of a text in an option or a context
LONGEST_NAME: Final = 200  # of a group, an axis, an item or a field
MOST_FIELDS: Final = 200  # of a context
DEEPEST: Final = 8  # levels of lists and objects in an option
LARGEST_OPTION: Final = 10_000  # approximate number of characters of an option as JSON
MOST_LISTED: Final = 100_000  # values of a list or an object in a body, on every server

CALLED: Final = "x-called"  # in a JSON schema: the word for such a value
NO_NUL: Final = "must hold no NUL character"


STRICT: Final = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class Body(BaseModel):
    """Base of bodies: no other fields, no conversion of types, finite numbers, immutable."""

    model_config = STRICT


def examples(*bodies: dict[str, JsonValue]) -> ConfigDict:
    """The configuration of a body whose JSON schema has these examples."""
    return ConfigDict(json_schema_extra={"examples": [*bodies]})


class SaysWhy:
    """Replaces every error of a type by one sentence. Valid values cost no Python call."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(handler(source), RULE, custom_error_message=self.sentence)


class AtMost:
    """A list or an object of at most so many values. Validation of a list stops at its first error.

    Otherwise the errors of a bad body would take far more memory than the body. JSON schemas leave the number out: most
    bodies exceed the limit of bytes first, which has a status of its own.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if schema["type"] == "list":
            return {**schema, "max_length": self.most, "fail_fast": True}
        if schema["type"] == "dict":
            return {**schema, "max_length": self.most}
        raise TypeError(f"source must be a list or a dict, got {source}")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        return {name: value for name, value in described.items() if name not in ("maxItems", "maxProperties")}


def _no_float(value: object) -> object:
    """A whole number written as a float, such as 1e3, as an int."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= MOST_WHOLE else value


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError(NO_NUL)
    return value


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a finite number of reasonable size; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST_NUMBER <= value <= MOST_NUMBER


Whole = Annotated[int, Field(ge=0, le=MOST_WHOLE), BeforeValidator(_no_float)]
Counting = Annotated[int, Field(ge=1, le=MOST_WHOLE), BeforeValidator(_no_float)]
Several = Annotated[int, Field(ge=2, le=MOST_WHOLE), BeforeValidator(_no_float)]
Number = Annotated[float, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
Positive = Annotated[float, Field(gt=0, le=MOST_NUMBER)]
Cost = Annotated[float, Field(ge=0, le=MOST_NUMBER)]
Debt = Annotated[float, Field(ge=0, le=MOST_DEBT)]
Share = Annotated[float, Field(gt=0, le=1), SaysWhy("must be a number above 0 and at most 1")]
Target = Annotated[float, Field(gt=0, lt=1), SaysWhy("must be a number strictly between 0 and 1")]
Success = Annotated[bool | Annotated[float, Field(ge=0, le=1)], SaysWhy("must be true, false or a number from 0 to 1")]
Item = TypeVar("Item")
Listed = Annotated[list[Item], AtMost(MOST_LISTED)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_text)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_text)]

_SCALAR: Final[dict[str, list[JsonValue]]] = {
    "anyOf": [
        {"type": "string", "maxLength": LONGEST_TEXT},
        {"type": "number", "minimum": -MOST_WHOLE, "maximum": MOST_WHOLE},
        {"type": "boolean"},
        {"type": "null"},
    ]
}


def check_scalar(value: object) -> int:
    """Refuse what is not a text, number, bool or null, or cannot be stored; returns its approximate size in characters."""
    if value is None or isinstance(value, bool):
        return 5
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise ValueError(f"must hold texts of at most {LONGEST_TEXT:,} characters, got {len(value):,}")
        return len(_text(value)) + 2
    if is_number(value) and (isinstance(value, float) or abs(value) <= MOST_WHOLE):
        return 8
    if isinstance(value, int | float):
        raise ValueError(f"must hold finite numbers, whole ones up to 2^53 and others up to 1e100, got {quoted(value)}")
    raise ValueError(f"must hold texts, numbers, true, false and null, got {quoted(value)}")


def check_option(value: object, depth: int = DEEPEST) -> int:
    """Refuse what cannot be an option; returns its approximate size in characters as JSON."""
    if not isinstance(value, dict | list):
        return check_scalar(value)
    if depth == 0:
        raise ValueError("must be fewer lists and objects deep")
    size = 2
    for item in value:
        if isinstance(value, dict):
            size += check_scalar(item) + check_option(value[item], depth - 1)
        else:
            size += check_option(item, depth - 1)
        if size > LARGEST_OPTION + 2:
            raise ValueError(f"must be at most {LARGEST_OPTION:,} characters as JSON")
    return size


def _option(value: object) -> object:
    check_option(value)
    return value


Option = Annotated[
    object,
    AfterValidator(_option),
    WithJsonSchema(
        {
            CALLED: "option",
            "description": "An option: any text, number, true, false, null, list or object.",
            "anyOf": [*_SCALAR["anyOf"], {"type": "array", "items": {}}, {"type": "object"}],
        }
    ),
]


def _context(value: dict[str, object]) -> dict[str, object]:
    for name, item in value.items():
        if not name or len(name) > LONGEST_NAME or "\0" in name:
            raise ValueError(f"must have fields named with 1 to {LONGEST_NAME} characters, got {quoted(name)}")
        check_scalar(item)
    return value


Context = Annotated[
    dict[str, object],
    Field(max_length=MOST_FIELDS),
    AfterValidator(_context),
    WithJsonSchema(
        {
            CALLED: "context",
            "type": "object",
            "description": f"Known before deciding: at most {MOST_FIELDS} fields of text, numbers, true, false or null.",
            "maxProperties": MOST_FIELDS,
            "propertyNames": {"minLength": 1, "maxLength": LONGEST_NAME},
            "additionalProperties": _SCALAR,
        }
    ),
]

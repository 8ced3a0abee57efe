"""`suffice serve`: the decision service over HTTP. Its flags are made from the model of the settings."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from cyclopts import App, Parameter

from suffice.cli.commands import Flag, command, require
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


SUMMARY = "Serve selectors over HTTP, kept in SQLite or PostgreSQL."
EXAMPLES = (
    "suffice serve",
    "suffice serve --store sqlite:////var/lib/suffice/suffice.db --port 8080",
    "suffice serve --show-config",
    "suffice serve --store postgresql://suffice@db/suffice --workers 4",
)


def __getattr__(name: str) -> App:
    """Make `app` when it is read: with a flag for each setting or, without the extra, a command that names what is missing."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        require("serve", "service")
    except SufficeError:
        return command(_serve_without, *EXAMPLES, name="serve")
    return command(_with_flags(), *EXAMPLES, name="serve")


def _serve_without(*tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    require("serve", "service")


_serve_without.__doc__ = SUMMARY


def _with_flags() -> Callable[..., None]:
    """A function with a parameter for each setting."""
    from suffice.service.http.configuration import FILE
    from suffice.service.http.settings import PREFIX, Settings

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=None, annotation=_annotated(field))
        for name, field in Settings.model_fields.items()
    ]
    parameters += [
        inspect.Parameter(
            "config", keyword, default=None,
            annotation=Annotated[Path | None, Parameter(
                metavar="FILE", help=f"A TOML file of settings; {FILE} in this folder if left out.")],
        ),
        inspect.Parameter(
            "show_config", keyword, default=False,
            annotation=Annotated[Flag, Parameter(help="Print the settings and where each comes from, and end.")],
        ),
    ]  # fmt: skip

    def serve(**given: Any) -> None:
        require("serve", "service")
        _run(**given)

    serve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    serve.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    serve.__doc__ = (
        f"{SUMMARY}\n\n"
        f"Ask and tell from any language. Each setting is a flag, a variable in the environment ({PREFIX}PORT for --port) or "
        "a line of a TOML file, in this order. On loopback it runs open; elsewhere it requires keys: `suffice keys create`."
    )
    return serve


METAVARS = {int: "INT", float: "SECONDS"}


def _annotated(field: "FieldInfo") -> object:
    """Text, as in the environment: the model reads it. Only switches, lists and a choice of words are more than that."""
    default = field.default
    kind: Any = bool if isinstance(default, bool) else tuple[str, ...] if isinstance(default, tuple) else str
    kind = field.annotation if get_origin(field.annotation) is Literal else kind
    # The default is the model's: that of the flag is None for "not given".
    shown = str(default).lower() if kind is bool else f"{default:g}" if isinstance(default, float) else str(default)
    more: dict[str, Any] = {
        "show_default": False if default in (None, (), "") else shown,
        "negative": None if kind is bool else "",
        "metavar": METAVARS.get(type(default), "TEXT") if kind in (str, tuple[str, ...]) else None,
    }
    repeat = " Once for each, or with commas." if isinstance(default, tuple) else ""
    return Annotated[kind | None, Parameter(help=f"{field.description}{repeat}", **more)]


def _run(*, config: Path | None = None, show_config: bool = False, **given: object) -> None:
    from suffice.service.http.configuration import load, shown_as_toml

    loaded = load({name: value for name, value in given.items() if value is not None}, config)
    if show_config:
        sys.stdout.write(shown_as_toml(loaded))
        return
    from suffice.service.http.server import serve as run

    run(loaded.settings)

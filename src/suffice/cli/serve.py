"""`suffice serve`: the decision service over HTTP. Its flags are the settings' own model, so they cannot differ from it."""

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from cyclopts import Parameter

from suffice.cli.commands import AsJson, Flag, command, require_service
from suffice.cli.terminal import write_json
from suffice.errors import InvalidArgument, SufficeError

if TYPE_CHECKING:
    from suffice.service.http.configuration import Loaded

SUMMARY = "Serve selectors over HTTP, kept in SQLite or PostgreSQL."
EXAMPLES = (
    "suffice serve",
    "suffice serve --store sqlite:////var/lib/suffice/suffice.db --port 8080",
    "suffice serve --show-config",
    "suffice serve --store postgresql://suffice@db/suffice --workers 4",
)


def __getattr__(name: str) -> Any:
    """`app` is made when it is asked for: with a flag for each setting or, without the extra, one that says what it needs."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        require_service("serve")
    except SufficeError:
        return command(_serve_without, *EXAMPLES, name="serve")
    return command(_with_flags(), *EXAMPLES, name="serve")


def _serve_without(*tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    require_service("serve")


_serve_without.__doc__ = SUMMARY


def _with_flags() -> Any:
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
        inspect.Parameter(
            "as_json", keyword, default=False,
            annotation=Annotated[AsJson, Parameter(help="With --show-config: print JSON and nothing else.")],
        ),
    ]  # fmt: skip

    def serve(**given: Any) -> None:
        require_service("serve")
        _run(**given)

    serve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    serve.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    serve.__doc__ = (
        f"{SUMMARY}\n\n"
        f"Ask and tell from any language. Each setting is a flag, a variable in the environment ({PREFIX}PORT for --port) or "
        "a line of a TOML file, in this order. On loopback it runs open; elsewhere it wants keys: see `suffice keys create`."
    )
    return serve


METAVARS = {int: "INT", float: "SECONDS"}


def _annotated(field: Any) -> Any:
    """Text, as in the environment: the model reads it. Only switches, lists and a choice of words are more than that."""
    default = field.default
    kind: Any = bool if isinstance(default, bool) else tuple[str, ...] if isinstance(default, tuple) else str
    kind = field.annotation if get_origin(field.annotation) is Literal else kind
    # The default is the model's, not the flag's, which is None for "not given".
    said = str(default).lower() if kind is bool else f"{default:g}" if isinstance(default, float) else str(default)
    more: dict[str, Any] = {
        "show_default": False if default in (None, (), "") else said,
        "negative": None if kind is bool else "",
        "metavar": METAVARS.get(type(default), "TEXT") if kind in (str, tuple[str, ...]) else None,
    }
    again = " Once for each, or with commas." if isinstance(default, tuple) else ""
    return Annotated[kind | None, Parameter(help=field.description + again, **more)]


def _run(*, config: Path | None = None, show_config: bool = False, as_json: bool = False, **given: Any) -> None:
    from suffice.service.http.configuration import load, shown_as_toml

    loaded = load({name: value for name, value in given.items() if value is not None}, config)
    if show_config and as_json:
        write_json(_as_json(loaded))
        return
    if show_config:
        sys.stdout.write(shown_as_toml(loaded))
        return
    if as_json:
        raise InvalidArgument(
            "json must go with --show-config: what the service does is said in its log (--log-format json)"
        )
    from suffice.service.http.server import serve as run

    run(loaded.settings)


def _as_json(loaded: "Loaded") -> dict[str, Any]:
    """The settings in effect and where each comes from, without passwords."""
    from suffice.service.http.logs import masked

    return {
        name: {
            "value": masked(str(value)) if isinstance(value, str | Path) else value,
            "from": loaded.origins.get(name, "default"),
        }
        for name, value in loaded.settings
    }

"""`suffice serve`: the decision service over HTTP. Its flags are the settings' own model, so they cannot differ from it."""

import inspect
import sys
from typing import Annotated, Any

from cyclopts import App, Parameter

from suffice.errors import SufficeError

NEEDED = ("pydantic_settings", "fastapi", "uvicorn", "prometheus_client")


def service_or_say(what: str, *packages: str) -> None:
    """Make sure that the packages of the extra `service` are there before any work is done."""
    for package in packages or NEEDED:
        try:
            __import__(package)
        except ImportError:
            raise SufficeError(f"{what} needs {package}: pip install 'suffice[service]'") from None


def serve(*tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    """Serve selectors over HTTP: ask and tell from any language, kept in SQLite or PostgreSQL."""
    service_or_say("serve")
    _flags()(tokens)  # the settings are read only here: `suffice --help` stays quick


def _flags() -> App:
    """A command with a flag for each setting."""
    from suffice.service.http.configuration import FILE
    from suffice.service.http.settings import PREFIX, Settings

    app = App(name="suffice serve", help_flags=["--help", "-h"], version_flags=[], help_format="plaintext")
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=None, annotation=_annotated(field))
        for name, field in Settings.model_fields.items()
    ]
    parameters += [
        inspect.Parameter(
            "config", keyword, default=None,
            annotation=Annotated[str | None, Parameter(help=f"A TOML file of settings; {FILE} in this folder if left out.")],
        ),
        inspect.Parameter(
            "show_config", keyword, default=False,
            annotation=Annotated[bool, Parameter(
                negative="", show_default=False, help="Print the settings and where each comes from, and end.")],
        ),
    ]  # fmt: skip

    def command(**given: Any) -> None:
        _run(**given)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = (
        "Serve selectors over HTTP: ask and tell from any language, kept in SQLite or PostgreSQL.\n\n"
        f"Each setting is a flag, a variable in the environment ({PREFIX}PORT for --port) or a line of a TOML file, in this "
        "order. On loopback it runs open; elsewhere it wants keys: see `suffice keys create`."
    )
    app.default(command)
    return app


def _annotated(field: Any) -> Any:
    """Text, as in the environment: the model reads it. Only switches and lists are more than that."""
    default = field.default
    kind: Any = bool if isinstance(default, bool) else tuple[str, ...] if isinstance(default, tuple) else str
    # The default is the model's, not the flag's, which is None for "not given".
    text = str(default).lower() if kind is bool else f"{default:g}" if isinstance(default, float) else default
    said = "" if default in (None, (), "") else f" Default: {text}."
    again = " Once for each, or with commas." if isinstance(default, tuple) else ""
    negative = None if kind is bool else ""
    return Annotated[
        kind | None, Parameter(help=field.description + again + said, show_default=False, negative=negative)
    ]


def _run(*, config: str | None = None, show_config: bool = False, **given: Any) -> None:
    from suffice.service.http.configuration import load, shown_as_toml

    loaded = load({name: value for name, value in given.items() if value is not None}, config)
    if show_config:
        sys.stdout.write(shown_as_toml(loaded))
        return
    from suffice.service.http.server import serve as run

    run(loaded.settings)

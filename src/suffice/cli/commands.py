"""How a command is made from a function, with examples below its help, and the parameters that several commands share."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Group, Parameter, Token

from suffice.errors import SufficeError

OPTIONS: Final = Group("Options", sort_key=4)  # below the commands, where there are some
SERVICE: Final = ("pydantic_settings", "fastapi", "uvicorn", "prometheus_client")
EXTRAS: Final = {"lab": ("joblib", "matplotlib"), "service": SERVICE, "live": (*SERVICE, "httpx")}


def _whole(_: type[object], tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    try:
        number = float(text)  # 1e6 is a common way to write a million
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise ValueError(f"it must be a whole number, got {text!r}")
    return int(number) if "e" in text.lower() or "." in text else int(text)


def _thousands(value: int) -> str:
    return f"{value:,}"


# A flag that is not given is off: its help does not show that default.
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
AsJson = Annotated[bool, Parameter(
    name="--json", negative="", show_default=False, help="Print JSON and nothing else.")]  # fmt: skip
Whole = Annotated[int, Parameter(converter=_whole, show_default=_thousands)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]

# What several commands share.
Target = Annotated[float, Parameter(help="The success rate to hold.")]
Horizon = Annotated[MaybeWhole, Parameter(help="How many steps: 20,000 if left out, or as many as a log has rows.")]
Jobs = Annotated[Whole, Parameter(help="How many processes; -1 for all cores.")]
Settings = Annotated[tuple[str, ...], Parameter(
    name="--set", negative="", metavar="KEY=VALUE", show_default=False,
    help="A setting of the stream, once for each: key=value, ks=5,10 for several numbers.",
)]  # fmt: skip
Folder = Annotated[Path, Parameter(metavar="FOLDER", help="The folder to write.")]


def command(function: Callable[..., None], *examples: str, name: str | None = None) -> App:
    """The command that calls a function, with examples below its help."""
    app = App(name=name or function.__name__, help_epilogue=example(*examples))
    function.__doc__ = unwrapped(function.__doc__ or "")
    app.default(function)
    return app


def example(*lines: str) -> str:
    """Examples as they stand below the help."""
    return "\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def unwrapped(text: str) -> str:
    """A docstring with one line per paragraph: the terminal breaks lines where it must.

    >>> unwrapped('''How many
    ... there are.
    ...
    ...     All of them.
    ...     ''')
    'How many there are.\\n\\nAll of them.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def require(what: str, extra: str) -> None:
    """Check that the packages of an extra are installed before any work is done."""
    for package in EXTRAS[extra]:
        try:
            __import__(package)
        except ImportError:
            raise SufficeError(f"{what} needs {package}: pip install 'suffice[{extra}]'") from None

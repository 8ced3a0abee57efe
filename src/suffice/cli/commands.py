"""How a command is made from a function: its help from the docstring, examples below it, and the flags that many share."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclopts import App, Group, Parameter

from suffice.errors import SufficeError

OPTIONS = Group("Options", sort_key=4)  # below the commands, where there are some
SERVICE = ("pydantic_settings", "fastapi", "uvicorn", "prometheus_client")

# A flag that is not given is off: that need not be said.
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
AsJson = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        number = float(text)  # 1e6 is how people write a million
        if not number.is_integer():
            raise ValueError(f"{text} is no whole number") from None
        return int(number)


def _thousands(value: int) -> str:
    return f"{value:,}"


Whole = Annotated[int, Parameter(converter=_whole, show_default=_thousands)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]


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
    """A docstring whose paragraphs are one line each: the terminal knows where to break them.

    >>> unwrapped('''How many
    ... there are.
    ...
    ...     Parameters
    ...     ----------
    ...     seed
    ...         Which
    ...         world.
    ...     ''')
    'How many there are.\\n\\n    Parameters\\n    ----------\\n    seed\\n        Which world.'
    """
    lines: list[str] = []
    for line in text.rstrip().split("\n"):
        before = lines[-1] if lines else ""
        goes_on = before.strip() and line.strip() and (_indent(line) == _indent(before) or len(lines) == 1)
        if goes_on and not {before.strip("- "), line.strip("- ")} & {""}:
            lines[-1] = f"{before} {line.strip()}"
        else:
            lines.append(line.rstrip())
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- what a command needs


def require_lab(what: str, *packages: str) -> None:
    """Make sure that the packages of the extra `lab` are there before any work is done."""
    _there_or_say(what, packages, "lab")


def require_service(what: str) -> None:
    """Make sure that the packages of the extra `service` are there before any work is done."""
    _there_or_say(what, SERVICE, "service")


def require_live(what: str) -> None:
    """The same for the extra `live`: the service, and a client of it."""
    _there_or_say(what, (*SERVICE, "httpx"), "live")


def _there_or_say(what: str, packages: Sequence[str], extra: str) -> None:
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            raise SufficeError(f"{what} needs {package}: pip install 'suffice[{extra}]'") from None

"""Settings as they are read, from flags, environment, file and defaults, and as they are shown: where each comes from."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource

from suffice.errors import InvalidArgument, quoted
from suffice.service.http.logs import masked
from suffice.service.http.settings import PREFIX, Settings
from suffice.service.plans.validation_errors import read_faults

FILE: Final = "suffice.toml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and where each one comes from that is not a default."""

    settings: Settings
    origins: Mapping[str, str]


def load(flags: Mapping[str, Any] | None = None, config: str | Path | None = None) -> Loaded:
    """Read the settings: flags, before the environment, before a TOML file, before the defaults."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = Path(FILE) if config is None else Path(config)
    for found, origin in (
        (_file(path, wanted=config is not None), lambda name: str(path)),
        (_environment(), lambda name: PREFIX + name.upper()),
        (flags or {}, lambda name: flag(name)),
    ):
        values.update(found)
        origins.update({name: origin(name) for name in found})
    try:
        return Loaded(Settings(**values), origins)
    except ValidationError as error:
        raise InvalidArgument(_sentence(error, values, origins)) from None


def flag(name: str) -> str:
    """A setting as a flag."""
    return "--" + name.replace("_", "-")


def _file(path: Path, *, wanted: bool) -> dict[str, Any]:
    if not wanted and not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidArgument(
            f"config must name a TOML file that can be read, got {quoted(str(path))}: {reason}"
        ) from None


def _environment() -> dict[str, Any]:
    found = EnvSettingsSource(Settings)()
    # Kubernetes tells its containers where a service named "suffice" is, in a variable that looks like our port.
    if str(found.get("port", "")).startswith("tcp://"):
        del found["port"]
    return found


_SAID: Final = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "extra_forbidden": "is not a setting",
}


def _sentence(error: ValidationError, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    fault, kind = read_faults(error)[0], error.errors()[0]["type"]
    name, problem = fault["where"], _SAID.get(kind, fault["problem"])
    top = re.split(r"[.\[]", name)[0]
    if top not in values:
        return problem  # of several settings together: it names them
    said = f"{name} {problem}"
    if top not in Settings.model_fields:
        near = difflib.get_close_matches(top, Settings.model_fields, 1)
        said += f", did you mean {near[0]}?" if near else ""
    elif ", got " not in said:
        said += f", got {quoted(masked(values[top]) if isinstance(values[top], str) else values[top])}"
    return f"{said} ({origins[top]})"


# --- as TOML


def shown_as_toml(loaded: Loaded) -> str:
    """The settings in effect and where each comes from; a TOML file that can be used, but for the masked passwords."""
    lines = []
    for name in Settings.model_fields:
        value = getattr(loaded.settings, name)
        text = f"{name} = {_toml(value)}" if value is not None else f"# {name} is not set"
        lines.append(f"{text}  # {loaded.origins.get(name, 'default')}")
    return "\n".join(lines) + "\n"


def sample() -> str:
    """A TOML file that says what can be set, and sets nothing."""
    lines = [
        "# Settings of `suffice serve`: all of them, with what holds where nothing is said.",
        f"# Found as {FILE} in the working directory, or with --config.",
        f"# The environment comes before this file ({PREFIX}PORT before port), and a flag (--port) before both.",
    ]
    for name, field in Settings.model_fields.items():
        lines += ["", f"# {field.description}", f"# {name} = {_default(field)}"]
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    return '"/run/suffice/suffice.sock"' if field.default is None else _toml(field.default)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    text = masked(os.fspath(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'

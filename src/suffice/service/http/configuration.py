"""Reading the settings from flags, environment, file and defaults; and showing them with the origin of each."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    """Settings, and the origin of each one that is not a default."""

    settings: Settings
    origins: Mapping[str, str]


def load(flags: Mapping[str, object] | None = None, config: str | Path | None = None) -> Loaded:
    """Read the settings. Flags win over the environment, which wins over a TOML file, which wins over the defaults."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    path = Path(FILE) if config is None else Path(config)
    for source, origin in (
        (_file(path, required=config is not None), lambda name: str(path)),
        (_environment(), lambda name: PREFIX + name.upper()),
        (flags or {}, flag),
    ):
        values.update(source)
        origins.update({name: origin(name) for name in source})
    try:
        return Loaded(Settings.model_validate(values), origins)
    except ValidationError as error:
        raise InvalidArgument(_sentence(error, values, origins)) from None


def flag(name: str) -> str:
    """The flag of a setting."""
    return "--" + name.replace("_", "-")


def _file(path: Path, *, required: bool) -> dict[str, object]:
    if not required and not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidArgument(
            f"config must name a TOML file that can be read, got {quoted(str(path))}: {reason}"
        ) from None


def _environment() -> dict[str, object]:
    values = EnvSettingsSource(Settings)()
    # Kubernetes sets SUFFICE_PORT to the address of a service named "suffice".
    if str(values.get("port", "")).startswith("tcp://"):
        del values["port"]
    return values


_PROBLEMS: Final = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "extra_forbidden": "is not a setting",
}


def _sentence(error: ValidationError, values: Mapping[str, object], origins: Mapping[str, str]) -> str:
    fault, kind = read_faults(error)[0], error.errors()[0]["type"]
    name, problem = fault["where"], _PROBLEMS.get(kind, fault["problem"])
    top = re.split(r"[.\[]", name)[0]
    if top not in values:
        return problem  # a rule about several settings, which it names
    message = f"{name} {problem}"
    if top not in Settings.model_fields:
        near = difflib.get_close_matches(top, Settings.model_fields, 1)
        message += f", did you mean {near[0]}?" if near else ""
    elif ", got " not in message:
        value = values[top]
        message += f", got {quoted(masked(value) if isinstance(value, str) else value)}"
    return f"{message} ({origins[top]})"


# --- as TOML


def shown_as_toml(loaded: Loaded) -> str:
    """The settings in effect and the origin of each, as a TOML file whose passwords are masked."""
    lines = []
    for name in Settings.model_fields:
        value = getattr(loaded.settings, name)
        text = f"{name} = {_toml(value)}" if value is not None else f"# {name} is not set"
        lines.append(f"{text}  # {loaded.origins.get(name, 'default')}")
    return "\n".join(lines) + "\n"


def sample() -> str:
    """A TOML file that describes all settings, and sets none."""
    lines = [
        "# All settings of `suffice serve`, with their defaults.",
        f"# `suffice serve` reads {FILE} in the working directory, or the file that --config names.",
        f"# A variable in the environment ({PREFIX}PORT for port) wins over this file, and a flag (--port) over both.",
    ]
    for name, field in Settings.model_fields.items():
        lines += ["", f"# {field.description}", f"# {name} = {default_text(field)}"]
    return "\n".join(lines) + "\n"


def default_text(field: FieldInfo) -> str:
    """The default of a setting in TOML."""
    return '"/run/suffice/suffice.sock"' if field.default is None else _toml(field.default)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    text = masked(str(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'

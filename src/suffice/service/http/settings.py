"""The settings of a server: one model for flags, environment, TOML file and defaults. `configuration` reads them."""

import ipaddress
import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from suffice.errors import quoted
from suffice.service.http.logs import masked
from suffice.service.records import Limits

PREFIX: Final = "SUFFICE_"
UNIX: Final = "unix"

_HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9_.-]+|\[?[0-9A-Fa-f:]+\]?")
_ROOT: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")

Names = tuple[str, ...]
Seconds = float


class Settings(BaseSettings):
    """The settings of `suffice serve`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="forbid",
        frozen=True,
        enable_decoding=False,
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    store: str = Field(
        default="sqlite:///suffice.db",
        description="The store: sqlite:///file.db, sqlite:////absolute/file.db, postgresql://user@host/name, "
        "or memory:, which keeps nothing beyond a restart.",
    )
    host: str = Field(
        default="127.0.0.1", description="The address to listen on. Beyond this machine, keys are required."
    )
    port: int = Field(default=8470, ge=0, le=65535, description="The port to listen on; 0 for any free one.")
    uds: Path | None = Field(default=None, description="A unix socket to listen on, instead of host and port.")
    workers: int = Field(default=1, ge=1, le=256, description="How many processes; more than one only with PostgreSQL.")

    keys: Literal["auto", "required"] = Field(
        default="auto", description="auto: keys are required, except on loopback without a proxy; required: always."
    )
    trusted_proxies: Names = Field(
        default=(),
        description="Addresses or networks of proxies whose header X-Forwarded-For is trusted; unix for a proxy on the unix "
        "socket. Keys are then required.",
    )
    allowed_hosts: Names = Field(
        default=(),
        description="Host names that requests may be sent to, such as api.example.com or *.example.com; any if empty.",
    )
    root_path: str = Field(default="", description="The path under which a proxy shows this server, such as /suffice.")

    max_selectors: int = Field(default=10_000, ge=1, description="The most selectors.")
    max_arms: int = Field(default=20_000, ge=2, description="The most arms of a selector.")
    max_list: int = Field(
        default=1_000,
        ge=1,
        description="The most decisions or outcomes in one request. The Python client sends up to 1,000.",
    )
    max_groups: int = Field(default=10_000, ge=0, description="The most groups of a selector.")
    max_outstanding: int = Field(
        default=1_000_000, ge=1, description="The most decisions of a selector without an outcome; beyond, 429."
    )
    max_body: int = Field(default=1 << 20, ge=1024, description="The largest body of a request, in bytes.")
    max_queue: int = Field(default=10_000, ge=1, description="The most requests that wait to be written; beyond, 503.")
    max_connections: int = Field(default=1000, ge=1, description="The most connections of a process; beyond, 503.")
    max_streams: int = Field(default=100, ge=0, description="The most streams of events of a process; beyond, 503.")
    max_measured: int = Field(default=1_000, ge=0, description="The most selectors in /metrics.")

    header_timeout: Seconds = Field(
        default=10.0, gt=0, le=3600, description="Seconds within which the header of a request must arrive."
    )
    body_timeout: Seconds = Field(
        default=30.0, gt=0, le=3600, description="Seconds within which the body of a request must arrive."
    )
    send_timeout: Seconds = Field(
        default=60.0, gt=0, le=3600, description="Seconds for which a client may stop reading a response."
    )
    idle_timeout: Seconds = Field(
        default=75.0, gt=0, le=3600, description="Seconds for which an idle connection is kept open."
    )
    shutdown_timeout: Seconds = Field(
        default=30.0, gt=0, le=3600, description="Seconds for which a server that stops waits for running requests."
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level that is logged: debug, info, warning or error."
    )
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto",
        description="json: an object in each line; text: for people; auto: text on a terminal, else json.",
    )
    access_log: bool = Field(default=True, description="Log each request.")
    metrics: bool = Field(default=True, description="Show /metrics.")
    page: bool = Field(default=True, description="Show the page at /: every selector, updated live.")
    docs: bool = Field(default=True, description="Show /docs and /openapi.json.")

    @field_validator("trusted_proxies", "allowed_hosts", mode="before")
    @classmethod
    def _several(cls, value: object) -> Names:
        """A list, or text with commas, as in the environment and after a flag."""
        texts = [value] if isinstance(value, str) else value
        parts: list[str] = []
        for text in texts if isinstance(texts, list | tuple) else [None]:
            if not isinstance(text, str):
                raise ValueError("must be a list of texts")
            parts += text.split(",")
        return tuple(part.strip() for part in parts if part.strip())

    @field_validator("trusted_proxies")
    @classmethod
    def _proxies(cls, value: Names) -> Names:
        for text in value:
            try:
                _ = text == UNIX or ipaddress.ip_network(text)
            except ValueError:
                raise ValueError(
                    f"must be addresses or networks such as 10.0.0.0/8, or unix, got {quoted(text)}"
                ) from None
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, value: Names) -> Names:
        for text in value:
            if not _HOST.fullmatch(text):
                raise ValueError(f"must be host names without a port, such as api.example.com, got {quoted(text)}")
        return tuple(text.lower() for text in value)

    @field_validator("root_path")
    @classmethod
    def _root(cls, value: str) -> str:
        if not _ROOT.fullmatch(value.rstrip("/")):
            raise ValueError(f"must be a path such as /suffice, got {quoted(value)}")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _together(self) -> "Settings":
        if self.workers > 1 and not self.postgres:
            raise ValueError(
                f"workers must be 1 with the store {quoted(masked(self.store))}, got {self.workers}: "
                "only PostgreSQL can be shared by several processes"
            )
        return self

    @property
    def postgres(self) -> bool:
        """Whether several processes can share the store."""
        return self.store.startswith(("postgresql:", "postgres:"))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.uds is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False  # a name, which may mean any address

    @property
    def open(self) -> bool:
        """Whether requests need no key."""
        return self.keys == "auto" and self.loopback and not self.trusted_proxies

    @property
    def limits(self) -> Limits:
        """The limits in the terms of the service."""
        return Limits(
            selectors=self.max_selectors, arms=self.max_arms, list_length=self.max_list, groups=self.max_groups,
            body=self.max_body, queue=self.max_queue, outstanding=self.max_outstanding,
        )  # fmt: skip

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the arguments: `configuration.load` reads the other sources, and notes where each setting comes from."""
        return (init_settings,)

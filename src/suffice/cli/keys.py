"""`suffice keys`: make, list and revoke the keys of a service. They work on its store, also while it runs."""

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from cyclopts import App, Parameter
from rich.text import Text

from suffice.cli.commands import OPTIONS, AsJson, command, example, require
from suffice.cli.tables import plain_table
from suffice.cli.terminal import console, write_json
from suffice.errors import InvalidArgument, SufficeError, quoted

if TYPE_CHECKING:
    from suffice.service.records import Key
    from suffice.service.stores.base import Store

Result = TypeVar("Result")
UNITS: Final = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365 * 86400.0}

Config = Annotated[Path | None, Parameter(metavar="FILE", help="A TOML file of settings to take the store from.")]
Address = Annotated[str | None, Parameter(
    metavar="ADDRESS", help="The address of the store, as in `suffice serve`; also from SUFFICE_STORE or suffice.toml."
)]  # fmt: skip


def create(
    name: Annotated[str, Parameter(help="Whose key it is, for people.")],
    /,
    *,
    scope: Annotated[tuple[str, ...], Parameter(negative="", metavar="SCOPE", show_default=False, help=(
        "What it may do, once for each: use (ask and tell), manage (create and archive selectors), read (everything)."))] = (),
    expires: Annotated[str | None, Parameter(metavar="WHEN", help=(
        "After how long it expires, such as 90d or 12h, or on which day, such as 2030-12-31; never if left out."))] = None,
    store: Address = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a key. It is shown once: only a hash of it is stored."""
    require("keys", "service")
    from suffice.service.http.keys import NewKey, new_key

    def key(taken: Collection[str] = ()) -> NewKey:
        now = time.time()
        return new_key(name, scope, now, moment(expires, now), taken)

    async def make(opened: "Store") -> NewKey:
        made = key({known.id for known in await opened.keys()})
        await opened.add_key(made.key)
        return made

    key()  # checks the arguments before a store is made
    made = _on(store, config, make, new=True)
    if as_json:
        write_json({"key": made.text, **_shown(made.key)})
        return
    console(True).print(Text(f"The key {made.key.id}, for {name}. It is shown only now: keep it safe.", style="dim"))
    sys.stdout.write(made.text + "\n")


def listing(*, store: Address = None, config: Config = None, as_json: AsJson = False) -> None:
    """List the keys: whose they are, what they may do, and whether they are still valid."""
    require("keys", "service")

    async def read(opened: "Store") -> "list[Key]":
        return sorted(await opened.keys(), key=lambda key: key.created)

    keys = _on(store, config, read)
    if as_json:
        write_json([_shown(key) for key in keys])
        return
    if not keys:
        console(False).print("There are no keys yet: make one with `suffice keys create`.")
        return
    table = plain_table("id", "name", "scopes", "created", "state", left=5)
    for key in keys:
        state = _state(key)
        cells = (key.id, key.name, " ".join(key.scopes), _day(key.created))
        table.add_row(*map(Text, cells), Text(state, style="green" if state.startswith("good") else "red"))
    console(False).print(table)


def revoke(
    identity: Annotated[str, Parameter(help="The id of the key, as `suffice keys list` shows it, or the key itself.")],
    /,
    *,
    store: Address = None,
    config: Config = None,
) -> None:
    """Revoke a key: within two seconds, no server accepts it any more."""
    require("keys", "service")
    form = re.fullmatch(r"(?:suffice_)?([0-9a-f]{8})(?:_.*)?", identity)
    if form is None:
        raise InvalidArgument("identity must be the id of a key, eight digits as in 1a2b3c4d")

    async def end(opened: "Store") -> bool:
        return await opened.revoke_key(form[1], time.time())

    if not _on(store, config, end):
        raise SufficeError(f"there is no key {form[1]} that could be revoked: see `suffice keys list`")
    console(True).print(Text(f"The key {form[1]} is revoked.", style="dim"))


def moment(text: str | None, now: float) -> float | None:
    """When a key expires: after so long, or when this day begins (UTC).

    >>> moment("90d", 0.0), moment("1970-01-02", 0.0), moment(None, 0.0)
    (7776000.0, 86400.0, None)
    """
    if text is None:
        return None
    if (form := re.fullmatch(r"(\d{1,6})([mhdwy])", text)) is not None:
        return now + int(form[1]) * UNITS[form[2]]
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(
            f"expires must be a time such as 30m, 12h, 90d, 4w or 1y, or a day such as 2030-12-31, got {quoted(text)}"
        ) from None
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()


def _on(
    url: str | None, config: Path | None, do: "Callable[[Store], Awaitable[Result]]", *, new: bool = False
) -> Result:
    """Do something with the keys of a store; with `new`, the store may be made first."""
    from suffice.service.http.configuration import load
    from suffice.service.stores import open_store

    address = load({} if url is None else {"store": url}, config).settings.store
    if address == "memory:":
        raise InvalidArgument(
            "store must not be memory: such a store and its keys end with the process; use sqlite:///FILE"
        )

    async def run() -> Result:
        store = open_store(address)
        path = getattr(store, "path", None)
        if path is not None and not new and not path.is_file():
            raise SufficeError(f"there is no store {path}: see --store")
        await store.open(keys_only=True)
        try:
            return await do(store)
        finally:
            await store.close()

    return asyncio.run(run())


def _shown(key: "Key") -> dict[str, object]:
    """All but the hash."""
    return {
        "id": key.id, "name": key.name, "scopes": list(key.scopes), "created": _stamp(key.created),
        "expires": _stamp(key.expires), "revoked": _stamp(key.revoked),
    }  # fmt: skip


def _stamp(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _state(key: "Key") -> str:
    if key.revoked is not None:
        return f"revoked {_day(key.revoked)}"
    if key.expires is None:
        return "good"
    return f"expired {_day(key.expires)}" if key.expires <= time.time() else f"good until {_day(key.expires)}"


app = App(
    name="keys",
    group_parameters=OPTIONS,  # commands of a command do not inherit groups
    help="Make, list and revoke the keys that let clients in.\n\nIt works on the store of `suffice serve`, running or not.",
    help_epilogue=example(
        "suffice keys create alice --scope use --scope read --expires 90d",
        "suffice keys list",
        "suffice keys revoke 1a2b3c4d",
    ),
)
app.command(command(create, "suffice keys create alice --scope use --scope read --expires 90d"))
app.command(command(listing, "suffice keys list --store sqlite:///suffice.db", name="list"))
app.command(command(revoke, "suffice keys revoke 1a2b3c4d"))

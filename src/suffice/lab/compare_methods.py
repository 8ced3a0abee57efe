"""Which methods a comparison has: suffice, the paper's at three steps, and the rivals that are named."""

from collections.abc import Iterable
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.lab.method_specs import LOOKING, rivals, scale_of
from suffice.lab.rivals.base import NONE, SUCCESS, SUCCESS_AND_COST
from suffice.lab.run_stream import meant

SUFFICE: Final = "suffice"
PAPER: Final = ("paper-1", "paper-5", "paper-20")  # a in the step a/√T: those that the paper tries
DEFAULT: Final = "projected,conservative_path,scalar_aci,always_safe"
SAME: Final = (NONE, SUCCESS, SUCCESS_AND_COST)  # no more than suffice itself is shown


def chosen(wanted: str | Iterable[str] = DEFAULT, *, paper: bool = True) -> tuple[str, ...]:
    """The names of all methods; `wanted` are rivals, or "all", "same" or "none".

    >>> chosen("scalar_aci,projected-5", paper=False)
    ('suffice', 'scalar_aci', 'projected-5')
    """
    pieces = wanted.split(",") if isinstance(wanted, str) else wanted
    names = [name for piece in pieces for name in _named(piece.strip())]
    return tuple(dict.fromkeys([SUFFICE, *(PAPER * paper), *names]))


def _named(name: str) -> list[str]:
    known = rivals()
    same = [rival for rival, kind in known.items() if kind.feedback in SAME]
    groups: dict[str, list[str]] = {"all": list(known), "same": same, "paper": list(PAPER), "none": [], "": []}
    plain = name.replace("-", "_")
    if name in groups:
        return groups[name]
    if plain in known:
        return [plain]
    if name in (SUFFICE, LOOKING) or scale_of(name) is not None:
        return [name]
    raise InvalidArgument(
        f"rivals must be all, same, none, or some of {', '.join(known)}, with commas, got {quoted(name)}"
        f"{meant(plain, known)}"
    )

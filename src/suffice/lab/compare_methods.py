"""Which methods a comparison is about: ours, the paper's at three scales of its step, and the rivals that are asked for."""

from collections.abc import Iterable
from typing import Final

from suffice.errors import InvalidArgument, quoted
from suffice.lab.method_specs import parts_of, rivals, scale_of
from suffice.lab.rivals.base import NONE, SUCCESS, SUCCESS_AND_COST
from suffice.lab.run_stream import meant

SUFFICE: Final = "suffice"
PAPER: Final = ("paper-1", "paper-5", "paper-20")  # a in the step a/√T: those that the paper tries
DEFAULT: Final = "projected,conservative_path,knapsack,scalar_aci,always_safe"
SAME: Final = (NONE, SUCCESS, SUCCESS_AND_COST)  # no more than suffice itself is shown


def chosen(wanted: str | Iterable[str] = DEFAULT, *, suffice: bool = True, paper: bool = True) -> tuple[str, ...]:
    """The names of all methods; `wanted` are rivals, or "all", "same" or "none".

    >>> chosen("exp3,projected-5", paper=False)
    ('suffice', 'exp3', 'projected-5')
    """
    pieces = wanted.split(",") if isinstance(wanted, str) else wanted
    names = [name for piece in pieces for name in _named(piece.strip())]
    found = tuple(dict.fromkeys([*([SUFFICE] * suffice), *(PAPER * paper), *names]))
    if not found:
        raise InvalidArgument("rivals must name at least one where suffice and the paper are left out, got none")
    return found


def _named(name: str) -> list[str]:
    known = rivals()
    groups = {"all": list(known), "same": [n for n, kind in known.items() if kind.feedback in SAME], "none": [], "": []}
    if name in groups:
        return groups[name]
    if name == "paper":
        return list(PAPER)
    plain = name.replace("-", "_")
    if plain in known:
        return [plain]
    if name.startswith(f"{SUFFICE}:"):
        parts_of(name)
    if name.split(":")[0] == SUFFICE or name == "threshold" or scale_of(name) is not None:
        return [name]
    raise InvalidArgument(
        f"rivals must be all, same, none, or some of {', '.join(known)}, with commas, got {quoted(name)}"
        f"{meant(plain, known)}"
    )

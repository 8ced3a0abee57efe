"""Record, compare and write out."""

import sys
from typing import Final

from .configurations import ALL, chosen, run
from .records import Configuration
from .traces import difference, read, text_of, trace_of, write

SHOWN: Final = 40  # differences that are printed one by one


def check(part: str, engine: str) -> int:
    """Compare; 1 if anything differs."""
    some = chosen(part)
    wrong = [f"  {one.name}: {said}" for one, said in compare(some) if said]
    print(f"{engine}: {len(some) - len(wrong)} of {len(some)} configurations are as recorded")
    for line in wrong[:SHOWN]:
        print(line)
    if len(wrong) > SHOWN:
        print(f"  and {len(wrong) - SHOWN} more")
    if not some:
        print(f"  no configuration has {part!r} in its name")
    return int(bool(wrong) or not some)


def compare(some: list[Configuration]) -> list[tuple[Configuration, str | None]]:
    """Each configuration, and its first difference."""
    recorded, found = read(), []
    for one in some:
        said: str | None = "not recorded"
        if one.name in recorded:
            try:
                said = difference(recorded[one.name], trace_of(run(one)))
            except Exception as error:  # one that fails must not hide the others
                said = f"fails: {type(error).__name__}: {error}"
        found.append((one, said))
    return found


def record(part: str) -> int:
    """Record what happens now, in the order of the configurations; what has no configuration any more is left out."""
    traces = read()
    for one in chosen(part):
        traces[one.name] = trace_of(run(one))
    write({one.name: traces[one.name] for one in ALL if one.name in traces})
    print(f"{len(chosen(part))} of {len(ALL)} configurations recorded")
    return 0


def dump(name: str) -> int:
    """Write the arms of one configuration."""
    some = [one for one in ALL if one.name == name] or chosen(name)
    if len(some) != 1:
        print(f"--dump must name one configuration, got {name!r}, of which there are {len(some)}", file=sys.stderr)
        return 2
    sys.stdout.write(text_of(run(some[0])))
    return 0

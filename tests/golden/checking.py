"""Record and compare."""

from .configurations import ALL, chosen, run
from .records import Configuration
from .traces import difference, read, trace_of, write


def check(part: str, engine: str) -> int:
    """Compare; 1 if anything differs."""
    some = chosen(part)
    wrong = [f"  {one.name}: {problem}" for one, problem in compare(some) if problem]
    print(f"{engine}: {len(some) - len(wrong)} of {len(some)} configurations are as recorded")
    for line in wrong:
        print(line)
    if not some:
        print(f"  no configuration has {part!r} in its name")
    return int(bool(wrong) or not some)


def compare(some: list[Configuration]) -> list[tuple[Configuration, str | None]]:
    """Each configuration, and its first difference."""
    recorded, results = read(), []
    for one in some:
        problem: str | None = "not recorded"
        if one.name in recorded:
            try:
                problem = difference(recorded[one.name], trace_of(run(one)))
            except Exception as error:  # one that fails must not hide the others
                problem = f"fails: {type(error).__name__}: {error}"
        results.append((one, problem))
    return results


def record(part: str) -> int:
    """Record what happens now, in the order of the configurations; traces without a configuration are dropped."""
    traces = read()
    for one in chosen(part):
        traces[one.name] = trace_of(run(one))
    write({one.name: traces[one.name] for one in ALL if one.name in traces})
    print(f"{len(chosen(part))} of {len(ALL)} configurations recorded")
    return 0

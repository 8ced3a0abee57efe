"""Compare every configuration with what was recorded, in both engines: `python -m tests.golden`.

Each engine has a process of its own, because what has been compiled once is used from then on.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

PLAIN, COMPILED = "plain", "compiled"
ROOT: Final = Path(__file__).parents[2]
NO_COMPILER: Final = 3


def main() -> int:
    """The exit code: 0 if all traces are as recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--record", action="store_true", help="record what happens now, without a compiler")
    parser.add_argument("--only", default="", metavar="NAME-part", help="only configurations with this in their names")
    parser.add_argument("--engine", choices=(PLAIN, COMPILED, "both"), default="both")
    given = parser.parse_args()
    if given.record:
        return _in_this(PLAIN if given.engine == "both" else given.engine, given)
    if given.engine != "both":
        return _in_this(given.engine, given)
    command = [sys.executable, "-m", "tests.golden", "--only", given.only, "--engine"]
    codes = [subprocess.run([*command, engine], cwd=ROOT, check=False).returncode for engine in (PLAIN, COMPILED)]
    return next((code for code in codes if code), 0)  # one that a signal has killed has a code below 0


def _in_this(engine: str, given: argparse.Namespace) -> int:
    """Compare or record in this process, with one engine."""
    os.environ.pop("SUFFICE_NO_COMPILE", None)
    if engine == PLAIN:
        os.environ["SUFFICE_NO_COMPILE"] = "1"
    import suffice

    from . import checking

    if engine == COMPILED and not suffice.warmup():  # so that small menus are compiled, too
        print("compiled: NOT CHECKED, there is no compiler here (pip install numba)")
        return NO_COMPILER
    began = time.perf_counter()
    code = checking.record(given.only) if given.record else checking.check(given.only, engine)
    print(f"{engine}: {time.perf_counter() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Two versions side by side: the sources of a commit beside the working tree's, and a process for each."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

ROOT: Final = Path(__file__).parent.parent
KEPT: Final = ROOT / "build" / "against"
# Threads of a library beneath NumPy spin while they wait, on the CPU time of the process that started them: a block in which
# a model is fitted anew took twenty times as long as the next, or not, by chance.
ALONE: Final = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}


class Failed(Exception):
    """A version could not do what was ordered."""


@dataclass(frozen=True, slots=True)
class Version:
    """Where the sources of a version are, and what it is called."""

    name: str
    sources: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What a process of this version is started with. The hashes of strings are the same in all of them."""
        here = {"PYTHONPATH": os.pathsep.join((str(self.sources), str(ROOT))), "PYTHONHASHSEED": "0"}
        return {**os.environ, **ALONE, **here, **more}


def versions(commit: str) -> tuple[Version, Version]:
    """The commit's, and that of the working tree."""
    full = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if not full:
        raise Failed(f"there is no commit {commit!r} here")
    changed = " with changes" if _git("status", "--porcelain", "--", "src") else ""
    now = f"the working tree ({_git('rev-parse', '--short', 'HEAD')}{changed})"
    return Version(_git("rev-parse", "--short", full), _sources(full)), Version(now, ROOT / "src")


def _sources(commit: str) -> Path:
    """The sources of a commit. They stay where they are: Numba keeps what it compiled by path and time of change."""
    folder = KEPT / commit
    if folder.exists():
        return folder / "src"
    part = folder.with_suffix(f".{os.getpid()}")
    archive = subprocess.Popen(["git", "archive", commit, "src"], cwd=ROOT, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=archive.stdout, mode="r|") as files:
        files.extractall(part, filter="data")
    if archive.wait():
        shutil.rmtree(part)
        raise Failed(f"git archive {commit} ended with {archive.returncode}")
    part.rename(folder)
    return folder / "src"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


class Worker:
    """A process of a version that obeys orders."""

    def __init__(self, version: Version, *, plain: bool) -> None:
        self._version = version
        switch: Mapping[str, str] = {"SUFFICE_NO_COMPILE": "1" if plain else ""}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.against_worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=ROOT, env=version.environment(**switch),
        )  # fmt: skip

    def ready(self) -> None:
        """Wait until it is, and see that it is of the version that it should be."""
        found = Path(self.answer()).resolve()
        if not found.is_relative_to(self._version.sources.resolve()):
            raise Failed(f"{self._version.name} was to be measured, but another suffice was imported")

    def order(self, do: str, case: str, steps: int = 0) -> None:
        """Say what to do; the answer comes later."""
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(json.dumps({"do": do, "case": case, "steps": steps}) + "\n")
        pipe.flush()

    def answer(self) -> Any:
        """What came of the last order."""
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise Failed(f"a process of {self._version.name} ended with {self._process.wait()}")
        said = json.loads(line)
        if "error" in said:
            raise Failed(f"{self._version.name}: {said['error']}")
        return said["answer"]

    def time(self, case: str, steps: int) -> float:
        """Seconds of CPU that so many steps of a case take."""
        self.order("time", case, steps)
        return float(self.answer())

    def stop(self) -> None:
        """End it: it stops what it has started once there are no more orders."""
        cast(IO[str], self._process.stdin).close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        cast(IO[str], self._process.stdout).close()

"""The package: what importing it pulls in, its public names, and that each is documented."""

import importlib
import inspect
import os
import pkgutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import suffice


def test_import_needs_numpy_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import suffice, suffice.lab.streams, suffice.lab.rivals; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    seen = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    third_party = {name for name in seen.split() if not name.startswith("_")}
    assert third_party <= {"numpy", "suffice", "cython_runtime"}  # the last is part of NumPy


FIRST_ASK = "s = suffice.Selector(suffice.Menu({'a': 0.1, 'b': 1.0}, safe='b'), 0.9); s.tell(s.ask(), True); s.ask()"
HEAVY = {
    "numba", "scipy", "matplotlib", "joblib", "httpx", "fastapi", "pytest", "secrets", "suffice.context.learner",
    "suffice.lab", "suffice.service", "suffice.client", "suffice.testing", "suffice.fleet", "suffice.simulator",
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        ("import suffice", HEAVY | {"numpy", "suffice.selector"}),
        ("import suffice.promise.certificate, suffice.promise.group_certificate", HEAVY | {"numpy", "suffice.kernels"}),
        (f"import suffice; {FIRST_ASK}", HEAVY),
        ("import suffice.context.models", {"sklearn", "river", "pandas", "polars", "scipy"}),
    ],
)
def test_what_is_loaded_only_when_it_is_needed(code: str, left_out: set[str]) -> None:
    """An import and a first ask take little more than NumPy does."""
    code = f"import sys; {code}; print(*sys.modules)"
    environment = {**os.environ, "SUFFICE_NO_COMPILE": "1"}  # else machine code in the cache loads Numba
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert not left_out & set(done.stdout.split())


def cpu_of(code: str, **environment: str) -> float:
    """Seconds of CPU, user and system, of a fresh process."""
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **environment})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not tell the CPU time of one process")
def test_a_first_ask_takes_little_more_than_numpy(tmp_path: Path) -> None:
    """Without compiled code, as after `pip install suffice`. Bytecode is cached, as it is from the second start on."""
    # One thread of BLAS: its others spin for as long as the process lives, which would count twice what Python does.
    environment = {
        "SUFFICE_NO_COMPILE": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    codes = ("import numpy", f"import suffice; {FIRST_ASK}")
    for code in codes:
        cpu_of(code, **environment)
    times = [[cpu_of(code, **environment) for code in codes] for _ in range(15)]
    numpy, first_ask = (statistics.median(column) for column in zip(*times, strict=True))
    assert first_ask <= 1.5 * numpy, (first_ask, numpy)


def test_public_names_exist_and_are_documented() -> None:
    for name in suffice.__all__:
        thing = getattr(suffice, name)
        assert inspect.getdoc(thing), name


def test_every_module_says_what_lives_there() -> None:
    for module in pkgutil.walk_packages(suffice.__path__, "suffice."):
        if module.name != "suffice.__main__":
            assert importlib.import_module(module.name).__doc__, module.name


def test_the_public_methods_are_documented() -> None:
    for kind in (suffice.Selector, suffice.ThresholdSelector, suffice.Menu, suffice.Certificate, suffice.Trace):
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"

"""The package: what importing it pulls in, its public names, and that each is documented."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys

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


FIRST_ASK = "s = suffice.Selector(suffice.Menu({'a': 0.1}, safe='b'), 0.9); s.tell(s.ask(), True); s.ask()"
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

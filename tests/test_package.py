"""The package: what importing it pulls in, its public names, and that each is documented."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import suffice


def test_import_needs_numpy_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import suffice, suffice.lab.streams, suffice.lab.rivals; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    seen = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    third_party = {name for name in seen.split() if not name.startswith("_")}
    assert third_party <= {"numpy", "suffice", "cython_runtime"}  # the last is part of NumPy


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

"""The reference lists every public name, every name in it exists, and the help of every command is shown."""

import importlib
import importlib.util
import inspect
import re
from typing import Any

import pytest

import suffice
import suffice.client
import suffice.learning.bounds
import suffice.learning.choosers
from tests.support.paths import DOCS

PAGES = {path.stem: path.read_text("utf-8") for path in sorted((DOCS / "reference").glob("*.md"))}
NAMED = re.compile(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", re.MULTILINE)
LISTED = {name for text in PAGES.values() for name in NAMED.findall(text)}
LEFT_OUT = re.compile(r"^\.\. autoclass:: ([\w.]+)(?:\(\))?\n(?:   :[^e].*\n)*   :exclude-members: (.*)$", re.MULTILINE)
PACKAGES = [
    suffice.learning.bounds,
    suffice.learning.choosers,
    suffice.client,
    suffice.models,
    suffice.lab.rivals,
    suffice.lab.streams,
]


def loaded(name: str) -> Any:
    """One of the extensions of the site."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def thing(name: str) -> Any:
    """What a dotted name stands for."""
    module, _, last = name.rpartition(".")
    if module == "suffice.models":
        return getattr(suffice.models, last)
    try:
        return getattr(importlib.import_module(module), last)
    except AttributeError:
        return importlib.import_module(name)


@pytest.mark.parametrize("name", suffice.__all__)
def test_every_public_name_is_there(name: str) -> None:
    if inspect.ismodule(getattr(suffice, name)):
        assert any(f".. module:: suffice.{name}\n" in text for text in PAGES.values())
    else:
        assert f"suffice.{name}" in LISTED


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: str(one.__name__))
def test_every_public_name_of_a_package_is_there(package: Any) -> None:
    public = "suffice.models" if package is suffice.models else package.__name__  # how users write it
    missing = {f"{public}.{name}" for name in package.__all__} - LISTED
    assert not missing


def test_what_is_listed_exists_and_says_what_it_is() -> None:
    assert len(LISTED) > 90
    for name in sorted(LISTED):
        listed = thing(name)
        if inspect.isclass(listed) or inspect.isfunction(listed):
            assert inspect.getdoc(listed), name


def test_what_is_left_out_exists() -> None:
    """A name that is gone would hide nothing, and nobody would notice."""
    left_out = [
        (name, member)
        for text in PAGES.values()
        for name, members in LEFT_OUT.findall(text)
        for member in members.split(", ")
    ]
    assert len(left_out) > 20
    assert [(name, member) for name, member in left_out if not hasattr(thing(name), member)] == []


def test_pages_are_all_in_the_contents() -> None:
    contents = PAGES["index"].split("```{toctree}")[1].split("```")[0].split()
    assert {name for name in contents if not name.startswith(":")} == set(PAGES) - {"index"}


def test_the_help_of_every_command_is_shown() -> None:
    helps = loaded("commands").helps()
    assert {("compare",), ("serve",), ("keys", "create"), ("copy",)} < set(helps)
    for path, text in helps.items():
        assert text.startswith(" ".join(("Usage: suffice", *path))), path
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= loaded("commands").WIDTH
    for word in (path[0] for path in helps if path):
        assert re.search(rf"\b{word}\b", helps[()])
    assert "```{suffice-commands}" in PAGES["commands"]

"""The figures that the source is held to: sizes, types, private access, inheritance, words.

Each check takes the files of a tree and returns its problems, one line each: file, line, what is wrong and the remedy. Small
trees below show that each check can fail. The rules on imports are in pyproject.toml.
"""

import ast
import builtins
import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MEDIAN_LINES, TENTH_LINES, FILE_LINES = 7, 20, 400
ANY_PER_1000 = 12
CLASS_DEPTH = 2
SHOWN = 10  # places named in a failure that is about the whole tree

PUBLIC_BY_CONVENTION = {"_asdict", "_fields", "_make", "_replace", "_exit", "_getvalue"}  # of named tuples, os, Numba
RETIRED = re.compile(
    r"\b(?:faith|sow|sitting|(?<!help )desks?|BREATH|seats?|seated|fences?|hearsay|insight|slack|dearer|rails?|however dear)\b"
    r"|\b(?:Minds?|max_cost|everything_cost|everything_success|is_everything|is_nothing)\b"
    r"|(?<![.\w])eye\b|\bplay(?:s|ed)? the middle\b|\bfree middle\b|\bthe middle options?\b"
    r"|(?<![\w-])standing\b|\b(?:everything|nothing)="
)
TEXTS = (".py", ".md", ".js", ".html", ".toml", ".txt")

Trees = dict[Path, ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Class = tuple[str, str]  # its module and its name


def parsed(folder: Path) -> Trees:
    """The syntax trees of all modules of a folder."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py"))}


# --- sizes


def long_functions(trees: Trees) -> list[str]:
    """The longest functions, if half of all have more than 7 lines or a tenth have more than 20."""
    sizes = [
        ((node.end_lineno or 0) - node.lineno + 1, f"{path}:{node.lineno}", node.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    lines = [size for size, _, _ in sizes]
    if len(lines) < 2:
        return []
    median, tenth = statistics.median(lines), statistics.quantiles(lines, n=10)[8]
    if median <= MEDIAN_LINES and tenth <= TENTH_LINES:
        return []
    figures = f"median {median:.0f} (at most {MEDIAN_LINES}), 90th percentile {tenth:.0f} (at most {TENTH_LINES})"
    longest = sorted(sizes, key=lambda one: -one[0])[:SHOWN]
    return [f"{place}: {name} has {size} lines; {figures}: split it" for size, place, name in longest]


def long_files(trees: Trees) -> list[str]:
    """Files of more than 400 lines."""
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in trees}
    return [
        f"{path}:{FILE_LINES + 1}: the file has {size} lines, at most {FILE_LINES}: move one idea to a module of its own"
        for path, size in sizes.items()
        if size > FILE_LINES
    ]


# --- types


def names_for_any(trees: Trees) -> set[str]:
    """Any, and every alias that stands for it."""
    found = {"Any"}
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Name) or value.id != "Any":
            continue
        targets = (
            node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", getattr(node, "name", None))]
        )
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def too_much_any(trees: Trees) -> list[str]:
    """The files with the most uses of Any, if there are more than 12 per 1,000 lines in the whole tree."""
    names = names_for_any(trees)
    places = {
        path: [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
        for path, tree in trees.items()
    }
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in trees)
    uses = sum(map(len, places.values()))
    if uses * 1000 <= ANY_PER_1000 * lines:
        return []
    rate = f"{1000 * uses / lines:.1f} per 1,000 lines in the tree (at most {ANY_PER_1000})"
    most = sorted((path for path in places if places[path]), key=lambda path: -len(places[path]))[:SHOWN]
    return [
        f"{path}:{min(places[path])}: {len(places[path])} uses of Any; {rate}: name the type, or write object"
        for path in most
    ]


# --- private access


def private_access(trees: Trees) -> list[str]:
    """Attributes with a leading underscore that are read from another module's object."""
    return [
        f"{path}:{node.lineno}: {ast.unparse(node)} reads a private attribute that this module does not define: "
        "give it a public name, or move the code to its module"
        for path, tree in trees.items()
        for node in sorted(foreign_attributes(tree), key=lambda node: node.lineno)
    ]


def foreign_attributes(tree: ast.Module) -> Iterator[ast.Attribute]:
    defined = set(defined_names(tree)) | PUBLIC_BY_CONVENTION
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in defined:
            owner = node.value
            itself = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            parent = isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
            if not itself and not parent:
                yield node


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def defined_names(tree: ast.Module) -> Iterator[str]:
    """The functions, classes, variables and attributes of self that a module defines, and the slots of its classes."""
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Assign) and any(getattr(one, "id", "") == "__slots__" for one in node.targets):
            yield from (str(one.value) for one in ast.walk(node.value) if isinstance(one, ast.Constant))


# --- inheritance


def deep_classes(trees: Trees) -> list[str]:
    """Classes with more than one ancestor of the project above each other. Exceptions may be deeper."""
    parents: dict[Class, list[Class]] = {}
    places: dict[Class, str] = {}
    for path, tree in trees.items():
        origin = imported_from(tree)
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            key = (path.stem, node.name)
            places[key] = f"{path}:{node.lineno}"
            parents[key] = [origin.get(name, (path.stem, name)) for name in map(base_name, node.bases)]
    known = {key: [resolve(parent, parents) for parent in above] for key, above in parents.items()}
    found = []
    for key in known:
        chain = longest_chain(key, known)
        if len(chain) > CLASS_DEPTH and not is_exception(key, known):
            names = " < ".join(name for _, name in chain)
            found.append(
                f"{places[key]}: {names} is {len(chain)} deep, at most {CLASS_DEPTH}: hold a part, do not inherit"
            )
    return found


def imported_from(tree: ast.Module) -> dict[str, Class]:
    """The module (its last name) and the name there of each imported name."""
    return {
        alias.asname or alias.name: ((node.module or "").rpartition(".")[2], alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def base_name(base: ast.expr) -> str:
    """The name of a base class: of `Base`, `module.Base` and `Base[T]`."""
    base = base.value if isinstance(base, ast.Subscript) else base
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def resolve(parent: Class, classes: Iterable[Class]) -> Class:
    """The class itself; where a package exports it under its own name, the one class of that name in the tree."""
    same = [one for one in classes if one[1] == parent[1]]
    return same[0] if parent not in same and len(same) == 1 else parent


def longest_chain(key: Class, parents: dict[Class, list[Class]], below: tuple[Class, ...] = ()) -> list[Class]:
    above = [parent for parent in parents.get(key, []) if parent in parents and parent not in (*below, key)]
    chains = [longest_chain(parent, parents, (*below, key)) for parent in above]
    return [key, *max(chains, key=len, default=[])]


def is_exception(key: Class, parents: dict[Class, list[Class]], below: tuple[Class, ...] = ()) -> bool:
    if key in below:
        return False
    if key not in parents:
        kind = getattr(builtins, key[1], None)
        return isinstance(kind, type) and issubclass(kind, BaseException)
    return any(is_exception(parent, parents, (*below, key)) for parent in parents[key])


# --- words


def retired_words(paths: Iterable[Path]) -> list[str]:
    """Words that the glossary has replaced."""
    return [
        f"{path}:{number}: the retired word {found[0]!r}: use the word of docs/glossary.md"
        for path in sorted(paths)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for found in RETIRED.finditer(line)
    ]


def texts(root: Path) -> Iterator[Path]:
    """What people read: the source, the documentation and the examples."""
    yield root / "README.md"
    for folder in ("src", "docs", "examples"):
        yield from (path for path in (root / folder).rglob("*") if path.suffix in TEXTS)


# --- the real tree

Check = Callable[[Trees], list[str]]
CHECKS: list[Check] = [long_functions, long_files, too_much_any, private_access, deep_classes]


@pytest.fixture(scope="module")
def trees() -> Trees:
    return parsed(ROOT / "src" / "suffice")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_source(check: Check, trees: Trees) -> None:
    problems = check(trees)
    assert not problems, report(problems)


def test_words() -> None:
    problems = retired_words(texts(ROOT))
    assert not problems, report(problems)


def report(problems: list[str]) -> str:
    return f"{len(problems)} problems\n" + "\n".join(problems).replace(f"{ROOT}/", "")


# --- each check can fail


def tree_of(folder: Path, **modules: str) -> Trees:
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return parsed(folder)


@pytest.mark.parametrize(
    ("sizes", "first"),
    [
        ([7] * 20 + [60], None),
        ([8] * 20, "a.py:1: function_0 has 8 lines; median 8 (at most 7)"),
        (
            [5] * 10 + [21] * 3,
            "a.py:51: function_10 has 21 lines; median 5 (at most 7), 90th percentile 21 (at most 20)",
        ),
    ],
)
def test_long_functions_are_named(sizes: list[int], first: str | None, tmp_path: Path) -> None:
    text = "".join(f"def function_{number}():\n" + "    pass\n" * (size - 1) for number, size in enumerate(sizes))
    problems = long_functions(tree_of(tmp_path, a=text))
    assert len(problems) == (SHOWN if first else 0)
    assert first is None or problems[0].startswith(f"{tmp_path}/{first}")


def test_long_files_are_named(tmp_path: Path) -> None:
    trees = tree_of(tmp_path, fits="x = 1\n" * 400, grown="x = 1\n" * 401)
    assert [problem.split(": ")[0] for problem in long_files(trees)] == [f"{tmp_path / 'grown.py'}:401"]


def test_any_and_its_aliases_count(tmp_path: Path) -> None:
    lines = "x = 1\n" * 100
    assert too_much_any(tree_of(tmp_path, few=f"from typing import Any\na: Any = 1\n{lines}")) == []
    aliases = "from typing import Any, TypeAlias\nArray = Any\nRow: TypeAlias = Any\na: Array = 1\nb: Row = 2\n"
    (problem,) = too_much_any(tree_of(tmp_path, few=lines, many=aliases))
    assert problem.startswith(f"{tmp_path / 'many.py'}:2: 6 uses of Any")


@pytest.mark.parametrize(
    "access", ["other._hidden", "a.b._hidden", "self.part._hidden", "parts[0]._hidden", "f()._hidden"]
)
def test_private_access_is_named(access: str, tmp_path: Path) -> None:
    (problem,) = private_access(tree_of(tmp_path, a=f"import os\n\nx = {access}\n"))
    assert problem.startswith(f"{tmp_path / 'a.py'}:3: {access} reads a private attribute")


@pytest.mark.parametrize(
    "text",
    [
        "self._own", "cls._own", "super()._own", "other.__name__", "row._replace(x=1)",
        "other._own\nclass A:\n    def _own(self): ...", "other._own\nclass A:\n    def f(self): self._own = 1",
        "other._own\nclass A:\n    __slots__ = ('_own',)", "module._own\n_own = 1",
    ],
)  # fmt: skip
def test_access_inside_one_module_is_allowed(text: str, tmp_path: Path) -> None:
    assert private_access(tree_of(tmp_path, a=text)) == []


def test_deep_classes_are_named(tmp_path: Path) -> None:
    trees = tree_of(
        tmp_path,
        base="class Base(Protocol): ...\nclass Bad(ValueError): ...\nclass Worse(Bad): ...\nclass Worst(Worse): ...\n",
        child="from base import Base as Root\nclass Child(Root): ...\nclass Other(base.Base[int]): ...\n",
        grandchild="from child import Child\n\nclass Grandchild(Child): ...\n",
    )
    (problem,) = deep_classes(trees)
    assert problem.startswith(f"{tmp_path / 'grandchild.py'}:3: Grandchild < Child < Base is 3 deep")


@pytest.mark.parametrize(
    "line",
    ["a desk", "faith in it", "Minds meet", "however dear", "a dearer one", "the rails", "slack=3", "BREATH = 1",
     "everything='x'", "Menu(nothing=0)", "its standing", "play the middle", "an eye on", "is_nothing"],
)  # fmt: skip
def test_retired_words_are_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"fine\n{line}\n", "utf-8")
    (problem,) = retired_words([path])
    assert problem.startswith(f"{path}:2: the retired word")


@pytest.mark.parametrize("line", ["outstanding", "never mind", "a crash in the middle", "np.eye(3)", "long-standing"])
def test_ordinary_words_are_allowed(line: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(line, "utf-8")
    assert retired_words([path]) == []


def test_all_folders_are_read() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in texts(ROOT)}
    assert found == {"README.md", "src", "docs", "examples"}

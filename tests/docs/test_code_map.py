"""The map of the code, held to the tree: every module has a row, and every row a module."""

import ast
import re
from pathlib import Path

from tests.support.paths import DOCS, ROOT

PAGE = (DOCS / "code.md").read_text("utf-8")
SOURCE = ROOT / "src" / "suffice"


def listed() -> set[str]:
    """The modules that the tables name, as paths below src/suffice; those of the first table are at the top."""
    parts = re.split(r"^### `([\w/]+/)`$", PAGE, flags=re.MULTILINE)
    tables = [("", parts[0].split("## ")[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    cells = [
        (folder, line.split("|")[1]) for folder, text in tables for line in text.splitlines() if line.startswith("|")
    ]
    return {folder + name for folder, cell in cells for name in re.findall(r"`(\w+\.py)`", cell)}


def modules() -> dict[str, Path]:
    paths = [path for path in SOURCE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    return {path.relative_to(SOURCE).as_posix(): path for path in paths}


def row(name: str, path: Path) -> str:
    """The row to add: the module's own first sentence is a start."""
    section = f"### `{name.rpartition('/')[0]}/`" if "/" in name else "the first table"
    about = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]
    return f"docs/code.md, {section}: add a row | `{path.name}` | {about} |"


def test_every_module_has_a_row() -> None:
    missing = [row(name, path) for name, path in sorted(modules().items()) if name not in listed()]
    assert not missing, "\n" + "\n".join(missing)


def test_every_row_is_of_a_module() -> None:
    gone = sorted(listed() - set(modules()))
    assert not gone, "\n" + "\n".join(
        f"docs/code.md: remove the row of {name}, there is no such module" for name in gone
    )


def test_every_room_is_in_the_first_table() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    linked = set(re.findall(r"\[`(\w+)/`\]\(#", PAGE))
    assert linked == rooms, f"docs/code.md, the first table: add {rooms - linked}, remove {linked - rooms}"


def test_every_path_in_the_text_exists() -> None:
    prose = PAGE.split("## Every module")[0]
    for name in re.findall(r"`((?:tests/)?[a-z_]+/[\w/]+\.py)`", prose):
        place = ROOT / name if name.startswith("tests/") else SOURCE / name
        assert place.exists(), f"docs/code.md names {name}, which does not exist"

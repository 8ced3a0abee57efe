"""Pages are written for a reader of the repository; on the site a few of their links lead elsewhere.

Links to files outside this folder lead to their page on the site, where there is one (an example: its page in the gallery).
All other files are offered for download, which MyST does by itself. A link that has the name of a file for its text gets the
title of that page. A picture that has a twin NAME-dark.svg is shown with it.
"""

import importlib
import os
import re
from pathlib import Path
from typing import Any

PAGES = {
    "benchmarks/RESULTS.md": "results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
CODE_BLOCK = re.compile(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\.svg\)(?!\{)")
NAMED = re.compile(r"(?<!!)\[[\w./-]+\.md\](?=\()")
LINK = re.compile(r"(?<!!)\]\(((?:\.\./)+[\w./-]+)(#[\w-]+)?\)")


def page_of(path: str, docs: Path) -> str | None:
    """The page of this site, as a path in `docs`, that stands for a file of the repository; None if there is none."""
    if path.startswith("examples/") and path.endswith(".py"):
        page = f"gallery/{Path(path).stem}.md"
        return page if (docs / page).exists() else None
    return PAGES.get(path)


def for_the_site(text: str, page: Path, docs: Path) -> str:
    """A page's Markdown as the site wants it. What stands in code blocks stays as it is."""
    folder, root = page.parent, docs.parent

    def link(found: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / found[1]))
        place = page_of(path.relative_to(root).as_posix(), docs) if path.is_relative_to(root) else None
        itself = place is not None and docs / place == page  # a page offers its own script for download
        return found[0] if place is None or itself else f"]({os.path.relpath(docs / place, folder)})"

    def picture(found: re.Match[str]) -> str:
        alt, name = found[1], found[2]
        if not (folder / f"{name}-dark.svg").exists():
            return found[0]
        return f"![{alt}]({name}.svg){{.only-light}}\n![{alt}]({name}-dark.svg){{.only-dark}}"

    done, end = [], 0
    for block in [*CODE_BLOCK.finditer(text), None]:
        prose = text[end : block.start() if block else len(text)]
        done.append(PICTURE.sub(picture, NAMED.sub("[]", LINK.sub(link, prose))))
        if block:
            done.append(
                re.sub(r"\n\n+(`+)$", r"\n\1", block[0])
            )  # a doctest ends in an empty line, a picture of it need not
            end = block.end()
    return "".join(done)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""

    def read(app: Any, docname: str, content: list[str]) -> None:
        content[0] = for_the_site(content[0], Path(app.env.doc2path(docname)), Path(app.srcdir))

    app.connect("source-read", read)
    # JSON in which ... stands for what does not matter is none; as JavaScript it passes.
    app.add_lexer("json", importlib.import_module("pygments.lexers.javascript").JavascriptLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Pieces of HTML that the page /docs is made of."""

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any, Final

WIDE: Final = 98  # characters of a line of code


def anchor(method: str, path: str) -> str:
    """Where a route stands on the page."""
    return slug(f"{method} {path}")


def slug(text: str) -> str:
    """A name for a place on the page."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def title(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]


def path_of(path: str) -> str:
    """A path that may be broken at its slashes."""
    return escape(path).replace("/", "/<wbr>").replace("{name}", "<i>{name}</i>")


def inline(text: str) -> str:
    """A text, with code where it has backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def prose(text: str) -> str:
    """Paragraphs."""
    return "".join(f"<p>{inline(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def code(text: str) -> str:
    """Lines of code."""
    return f"<pre><code>{escape(text, quote=False)}</code></pre>"


def frame(examples: Iterable[Any]) -> str:
    """Examples in one frame."""
    texts = [pretty(one) for one in examples]
    between = "\n\n" if any("\n" in text for text in texts) else "\n"
    return code(between.join(texts)) if texts else ""


def pretty(value: Any, depth: int = 0, before: int = 0) -> str:
    """JSON that is wide where it fits; else its parts fill lines, as words do."""
    text = json.dumps(value, ensure_ascii=False)
    if before + len(text) + 2 * depth <= WIDE or not isinstance(value, dict | list) or not value:
        return text
    if isinstance(value, list):
        parts = [pretty(one, depth + 1) for one in value]
    else:
        named = ((json.dumps(name) + ": ", one) for name, one in value.items())
        parts = [name + pretty(one, depth + 1, len(name)) for name, one in named]
    lines: list[str] = []
    for part in parts:
        if lines and "\n" not in lines[-1] + part and len(lines[-1]) + len(part) + 2 * depth + 4 <= WIDE:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    pad = "  " * (depth + 1)
    inside = ",\n".join(pad + line for line in lines)
    first, last = "[]" if isinstance(value, list) else "{}"
    return f"{first}\n{inside}\n{pad[2:]}{last}"


def rule(schema: dict[str, Any]) -> str:
    """The limits of a number or a text."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    said = []
    if low is not None and abs(low) < 1e15:
        said.append(f"at least {low:g}")
    if above is not None:
        said.append(f"above {above:g}")
    if high is not None and high < 1e15:
        said.append(f"at most {high:g}")
    if below is not None:
        said.append(f"below {below:g}")
    if "maxLength" in schema:
        said.append(f"{schema.get('minLength', 0) or 'up'} to {schema['maxLength']:,} characters")
    return small(", ".join(said)) if said else ""


def small(text: str) -> str:
    """An aside."""
    return f" <small>{text}</small>"


def default(schema: dict[str, Any]) -> str:
    """What holds where nothing is said."""
    if schema.get("default") is None:
        return ""
    return small(f"Default <code>{escape(json.dumps(schema['default']))}</code>.")


def table(heading: str, rows: list[Any]) -> str:
    """Rows of cells that are HTML."""
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = f"<h4>{heading}</h4>" if heading else ""
    return f'{head}<div class="wide"><table><tbody>{cells}</tbody></table></div>' if rows else ""

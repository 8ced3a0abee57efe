"""The picture of docs/code.md: the way of a decision through the rooms, written as SVG without a drawing library."""

from pathlib import Path

Box = tuple[str, str, str, str]  # what kind of step, the room, and two lines on what happens there

YOURS, PROMISE, OTHER = "yours", "promise", "other"
ASK: tuple[Box, ...] = (
    (YOURS, "your code", "selector.ask()", ""),
    (OTHER, "selector/", "checks the", "arguments"),
    (PROMISE, "promise/", "limit: safe, skip", "or any option"),
    (OTHER, "learning/, context/", "propose an option", "at this price"),
    (PROMISE, "promise/", "counts it as", "outstanding"),
)
TELL: tuple[Box, ...] = (
    (YOURS, "your code", "selector.tell(…)", ""),
    (OTHER, "selector/", "checks the", "outcome"),
    (PROMISE, "promise/", "counts the outcome:", "the debt moves"),
    (OTHER, "learning/, context/", "update bounds,", "prices, the model"),
)
NOTE = ("The guarantee depends on the green steps alone.", "The grey steps decide what it costs.")
WIDTH, HEIGHT, WIDE, HIGH, GAP, LEFT, TOP, BELOW = 860, 316, 140, 92, 28, 24, 42, 180

# Per style: ink and page, and the fill and the border of each kind of step.
INK = {"": "#333333", "-dark": "#e6e6e6"}
PAGE = {"": "#ffffff", "-dark": "#16181c"}
FILL = {
    "": {YOURS: "#ffffff", PROMISE: "#d5f0e6", OTHER: "#f0f0f0"},
    "-dark": {YOURS: "#16181c", PROMISE: "#0d3b2e", OTHER: "#2a2d32"},
}
BORDER = {YOURS: "#888888", PROMISE: "#009e73", OTHER: "#999999"}


def write(folder: Path) -> list[Path]:
    """Write decision_path.svg and decision_path-dark.svg; their paths."""
    paths = []
    for ending in INK:
        path = folder / f"decision_path{ending}.svg"
        path.write_text(picture(ending), "utf-8")
        paths.append(path)
    return paths


def picture(ending: str) -> str:
    """The whole picture in one of the two styles."""
    ink, page = INK[ending], PAGE[ending]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" style="fill: {page}"/>',
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" style="fill: {ink}"/></marker></defs>',
        *row("ask: which option now?", ASK, TOP, ending),
        *row("tell: did it work?", TELL, BELOW, ending),
    ]
    last = LEFT + 4 * (WIDE + GAP)
    parts += [arrow(last + WIDE / 2, TOP + HIGH, last + WIDE / 2, BELOW + 14, ink)]
    parts += [text(last + WIDE / 2, BELOW + 32, "decision.option", ink, "600")]
    parts += [
        text(last + WIDE / 2, BELOW + 52 + 18 * place, line, ink)
        for place, line in enumerate(("your code", "carries it out"))
    ]
    parts += [text(LEFT, HEIGHT - 16, " ".join(NOTE), ink, anchor="start"), "</svg>"]
    return "\n".join(parts) + "\n"


def row(title: str, boxes: tuple[Box, ...], top: float, ending: str) -> list[str]:
    """A row of boxes with arrows between them."""
    ink = INK[ending]
    parts = [text(LEFT, top - 10, title, ink, "600", "start")]
    for place, (kind, room, first, second) in enumerate(boxes):
        x, style = LEFT + place * (WIDE + GAP), f"fill: {FILL[ending][kind]}; stroke: {BORDER[kind]}; stroke-width: 1.5"
        parts.append(f'<rect x="{x}" y="{top}" width="{WIDE}" height="{HIGH}" rx="8" style="{style}"/>')
        lines = [(room, "600"), (first, "400"), (second, "400")]
        parts += [
            text(x + WIDE / 2, top + 30 + 22 * number, line, ink, weight)
            for number, (line, weight) in enumerate(lines)
            if line
        ]
        if place:
            parts.append(arrow(x - GAP + 3, top + HIGH / 2, x - 3, top + HIGH / 2, ink))
    return parts


def text(x: float, y: float, line: str, ink: str, weight: str = "400", anchor: str = "middle") -> str:
    return f'<text style="fill: {ink}; font-weight: {weight}; text-anchor: {anchor}" x="{x:g}" y="{y:g}">{line}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float, ink: str) -> str:
    style = f"fill: none; stroke: {ink}; stroke-width: 1.5"
    return f'<path d="M{x:g} {y:g} {to_x:g} {to_y:g}" marker-end="url(#head)" style="{style}"/>'

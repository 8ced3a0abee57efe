"""Run every example, and keep what it prints and draws where the gallery shows it: `python examples/render.py [NAME ...]`."""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
GALLERY = HERE.parent / "docs" / "gallery"
NAMES = (
    "llm_routing",
    "llm_correctness",
    "router_score",
    "prediction_apis",
    "top_k",
    "ride_hailing",
    "intervals",
    "web_service",
    "own_model",
)


def render(name: str) -> None:
    """The text and both figures of one example."""
    (GALLERY / "output").mkdir(parents=True, exist_ok=True)
    (GALLERY / "figures").mkdir(exist_ok=True)
    figure = GALLERY / "figures" / f"{name}.svg"
    command = [sys.executable, str(HERE / f"{name}.py"), "--figure", str(figure)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    (GALLERY / "output" / f"{name}.txt").write_text(said, encoding="utf-8")


def main() -> None:
    """Render all examples, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all if left out")
    names = parser.parse_args().names
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"NAME must be one of {', '.join(NAMES)}, got {', '.join(unknown)}")
    for name in names or NAMES:
        render(name)
        print(f"docs/gallery: {name}")


if __name__ == "__main__":
    main()

"""Where the files of the repository lie that tests read."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
DATA: Final = ROOT / "tests" / "data"

"""The version of this package, apart from everything else: every room may read it."""

from typing import Final

VERSION: Final = "0.1.0"

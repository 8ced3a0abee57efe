"""Many selectors of one menu, stepped together."""

from suffice.fleet.fleet import Fleet

__all__ = ["Fleet"]

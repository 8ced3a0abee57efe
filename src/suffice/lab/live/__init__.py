"""The live demo: three simulated users ask a running service what to do, slowly enough to watch. Needs the extra `live`."""

from typing import Final

PACE: Final = 40.0  # decisions per second in each scenario: each shifts within a minute
FIRST: Final = 2000  # decisions of each scenario that run at full speed at the start, so that the page shows a history

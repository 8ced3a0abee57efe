"""The live demo: three worlds that ask a running service what to do, at a pace one can watch. Needs the extra `live`."""

PACE = 40.0  # decisions per second of each world: each has shifted within a minute
FIRST = 2000  # decisions of each world at the beginning, so that there is something to see

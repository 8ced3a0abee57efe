"""The live demo: three worlds that ask a running service what to do, at a pace one can watch. Needs the extra `live`."""

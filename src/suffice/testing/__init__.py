"""Contract tests for parts of your own: bounds, choosers, streams and stores must pass what those of this package pass."""

"""Tests, in the order of the rooms of src/suffice; helpers are in tests.support."""

"""Only so that pytest tells the conftest of this folder from that of tests."""

"""The decision service: ask and tell over HTTP, durable, exactly once, for one machine or many."""

"""The service over HTTP: routes and what they answer, the edge that guards them, settings, keys, logs, and the server."""

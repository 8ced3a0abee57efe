"""Every function that is compiled: the envelope, the step, and the loops that drive it."""

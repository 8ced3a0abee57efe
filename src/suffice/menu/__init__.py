"""What may be chosen: options, their costs and their order of containment."""

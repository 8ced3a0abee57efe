"""What may be chosen: options, their costs and which of them contain which."""

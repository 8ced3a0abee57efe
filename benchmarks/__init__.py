"""How long a decision takes: suffice beside a plain NumPy version of itself and beside its peers."""

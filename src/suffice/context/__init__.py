"""Contexts: models that use what is known before a decision, and the trust in them."""

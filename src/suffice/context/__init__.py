"""Contexts: models that look at what is known before a decision, and how far they are trusted."""

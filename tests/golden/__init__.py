"""Golden traces: what the package decided, and what it certified, in some two hundred configurations.

A change that is meant to leave behaviour alone must leave every trace alone, in plain Python and compiled: `make golden`. A
change that is meant to alter behaviour records those that it alters: `python -m tests.golden --record --only NAME-part`.

Nothing here depends on how the package calls things, but for `making` (what goes in: constructors and their arguments),
`reading` (what comes back: decisions, certificates) and `own` (parts that a user might write). Values are stored without
names, in the order that `reading` documents.
"""

"""The two engines. Each keeps accounts, prices and what is outstanding, and takes the steps of a decision.

Both have the same methods. `ask_quickly` and `tell_quickly` are the quick ways: one call each, which happens whole or not at
all. They decline what is not usual; then the selector goes the careful way, under its lock, by the other methods. Each of
these changes what it changes at once, so that an interrupt between any two lines leaves nothing half done.
"""

from suffice.selector.compiled import CompiledEngine
from suffice.selector.plain import PlainEngine

Engine = PlainEngine | CompiledEngine

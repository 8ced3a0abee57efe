"""The selector: accounts, an engine that takes the steps of a decision, and the slow path around it."""

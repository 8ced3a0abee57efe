"""The experiments, one per file; see `suffice.lab.experiment`. Their places are the order in which they run."""

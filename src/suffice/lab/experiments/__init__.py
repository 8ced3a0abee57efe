"""The experiments, one per file; see `suffice.lab.experiment`. The numbers at the front are the order of the report."""

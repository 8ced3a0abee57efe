"""Thompson sampling over cell masses: at every decision, what would be cheapest in a world drawn from what is known.

Options that contain one another are unions of cells of one partition, so every outcome says something of all of them. The
work is done in `kernels.cells`; this is its name. No theorem speaks for it: the guard gives it one.
"""


class Thompson:
    """The cheapest arm at this price in a sample from the posterior over cells; guarded, so that it is proven."""

    name = "thompson"

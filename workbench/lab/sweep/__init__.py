"""Many settings of one system on the same questions: grids, the best setting, and how far to trust it."""

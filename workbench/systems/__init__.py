"""Real systems as data: the release of the bug report, the tutorial, and a registry that features add to."""

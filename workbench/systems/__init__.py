"""Real systems as data: the release of the bug report, the tutorial, and the registry that guests add to."""

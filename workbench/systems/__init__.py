"""Real systems as data: one folder for each, and the registry of all of them."""

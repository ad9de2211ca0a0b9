"""Checks of the installation, of the model and of the indexes, and the list of all indexes."""

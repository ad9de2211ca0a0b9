"""Small extensions of the workbench: each is one file of at most 40 lines."""

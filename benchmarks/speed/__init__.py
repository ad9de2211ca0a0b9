"""How fast this workbench and other systems search the same chunks, side by side in one process."""

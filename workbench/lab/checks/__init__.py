"""Checks: what an evaluation does not show, and settings that cannot work."""

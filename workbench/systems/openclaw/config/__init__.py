"""An openclaw.json as a system."""

"""OpenClaw's own memory files: searched in place, never written."""

"""OpenClaw's own memory files, searched where they are and never written."""

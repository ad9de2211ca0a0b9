"""OpenClaw: its later releases, its openclaw.json, and its own index files, which are never written."""

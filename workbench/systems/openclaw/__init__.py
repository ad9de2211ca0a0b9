"""OpenClaw's memory search: its releases, its configuration file, and its own index files."""

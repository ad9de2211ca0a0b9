"""How other search engines fuse two lists."""

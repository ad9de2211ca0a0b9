"""How other search engines fuse two lists, products as people run them, and the museum of public bugs."""

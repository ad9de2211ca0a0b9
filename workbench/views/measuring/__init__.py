"""What the instruments that measure a system found, in words and tables."""

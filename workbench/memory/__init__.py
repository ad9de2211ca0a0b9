"""From a folder of notes to an index in one of the stores, and how it stays up to date."""

"""Ways into a case file: a Markdown issue, an address that the user allowed, and whole sets of failures."""

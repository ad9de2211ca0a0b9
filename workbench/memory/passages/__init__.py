"""Short passages of a memory that know where they stand: windows, and the vectors of their words."""

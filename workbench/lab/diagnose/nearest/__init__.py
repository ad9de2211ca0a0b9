"""Which value of a parameter is the nearest one, told ahead for many values at once."""

"""The bug museum: public bugs of hybrid search, each in the smallest memory that shows it."""

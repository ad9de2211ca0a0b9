"""A symptom in words leads somewhere."""

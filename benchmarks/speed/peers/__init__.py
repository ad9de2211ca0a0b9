"""Other systems as subjects, one file each. They are imported when they are timed."""

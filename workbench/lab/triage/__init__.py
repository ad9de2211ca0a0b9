"""A symptom in words leads to the specimens, the check and the lesson that fit."""

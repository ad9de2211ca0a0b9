"""Runs of cases in words and tables, and reports of cases."""

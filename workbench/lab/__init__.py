"""Analyses of many traces: evaluation, thresholds, benchmarks, and a museum of bugs."""

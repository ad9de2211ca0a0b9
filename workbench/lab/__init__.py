"""Questions asked of many traces: measures, thresholds, benchmarks, and a museum of bugs."""

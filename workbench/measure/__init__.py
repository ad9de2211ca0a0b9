"""Questions about many traces: evaluation, paired statistics, thresholds, blame."""

"""Speed and quality, printed as ratios, because absolute times differ between machines."""

"""Speed and quality, printed as ratios: absolute times do not travel between machines."""

"""Thresholds that keep a promise: how often a system answers what its memory does not know."""

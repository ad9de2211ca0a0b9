"""Benchmarks: any system on LoCoMo, and the benchmarks that AutoMem and Basic Memory publish."""

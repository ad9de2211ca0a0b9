"""A released OpenClaw or Basic Memory as the judge of a case: installed into a cache, run, and compared.

The release runs unmodified in a home of its own, with vectors served on this machine. OpenClaw brings its
Node, Basic Memory needs Python 3.12 or newer. `benchmarks/recording` records folders with the same code.
"""

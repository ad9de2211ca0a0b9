"""The released OpenClaw or Basic Memory as the judge of a case: installed into a cache, run, and compared.

    python -m benchmarks.confirm confirm CASE --release 2026.9.6
    python -m benchmarks.confirm bisect CASE

The release runs unmodified in a home of its own, with vectors served on this machine. OpenClaw needs Node,
Basic Memory needs Python 3.12 or newer. `benchmarks/recording` records whole folders with the same code.
"""

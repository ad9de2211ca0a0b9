"""The released system as the judge of a case: installed into a cache, run, and compared with ours."""

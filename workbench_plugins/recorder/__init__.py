"""The two legs of any other engine: recorded, fused as the engine does it, and explained like our own."""

"""A widget of one's own: the scores of a search as bars of text."""

import workbench as wb


class Bars:
    def __init__(self, trace):
        self.trace = trace

    def __repr__(self):
        found = self.trace.results
        return "\n".join(f"{'#' * round(20 * one.score)} {one.chunk.path}" for one in found)


wb.register(Bars)

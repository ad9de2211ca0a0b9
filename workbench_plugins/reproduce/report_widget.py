"""A pasted report as a widget of a notebook."""

from __future__ import annotations

from workbench.views.living.notebook import Widget
from workbench_plugins.reproduce.report_state import ReportState


class ReportReader(ReportState, Widget):
    """A pasted report: select text to make a fact of it, click a mark to take it away, or use the form.

    The settings are `question`, `target`, `system`, `happened`, `parameters` ("NAME=VALUE, NAME=VALUE") and
    `notes` (a line `=== PATH` begins each): what was read, without secrets, and what is put in its place.
    `report` has the facts, `result` is the verdict that follows from them. Raises InputError for a text
    without a word.
    """

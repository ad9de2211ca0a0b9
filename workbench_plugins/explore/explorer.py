"""The question explorer as a widget of a notebook."""

from __future__ import annotations

from workbench.views.living.notebook import Widget
from workbench_plugins.explore.explorer_state import ExplorerState


class QuestionExplorer(ExplorerState, Widget):
    """Two systems' answers to one question side by side, and why a file is among them or not.

    The settings are the question, the systems `left` and `right`, and the file `target`, which may be empty.
    `moved` sets parameters of a side: `{"left": {"floor.floor": 0.2}}`; another system there forgets them.
    `searched` are the two pipelines, and `traces` their searches; `explanations` state the fate of the file
    in each (None without a file).
    `pipelines` are the systems to choose from, by name; by default all. Raises InputError for a question
    that cannot be searched, and for a system that is not among them.
    """

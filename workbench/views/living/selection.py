"""What is selected on a page: a value in Python that the widgets of the page share."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from workbench.errors import InputError
from workbench.records import Chunk


class Selection(traitlets.HasTraits):
    """What is selected: `question`, `chunk`, `file` and `system`. An empty text, and None, select nothing.

    All widgets of a page share `workbench.selection`. A click on a mark in one of them selects the mark's
    chunk, question or system; so do a question that is typed, and a file or a system that is chosen. The
    other widgets then show what is selected, as far as they have it. From Python:

        wb.selection.chunk.text                        # read it
        wb.selection.question = "rooibos tea"          # all linked widgets ask this question
        wb.selection.choose(question="tea", system="bm-head")
        wb.selection.observe(print, "chunk")           # call a function at every change
        wb.selection.clear()
        QuestionExplorer(index, question, link=False)  # this widget takes no part
        explorer.link = Selection()                    # a group of its own; True joins the page again

    `chunk` is a `Chunk`, such as `trace.candidates[0].chunk`, and `file` is a path of the index. A chunk
    selects its file, and a file that is not the chunk's selects no chunk. A widget that joins takes part in
    later changes. A setting that you assign in Python (`lab.min_score = 0.2`) changes that widget alone.
    Raises InputError for another name, and for a value of another type.
    """

    question = traitlets.Unicode("")
    chunk = traitlets.Instance(Chunk, allow_none=True)
    file = traitlets.Unicode("")
    system = traitlets.Unicode("")

    NAMES: ClassVar[tuple[str, ...]] = ("question", "chunk", "file", "system")

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name) and not name.startswith("_"):
            raise InputError(f"A selection has no {name!r}.", f"It has {', '.join(self.NAMES)}.")
        try:
            super().__setattr__(name, value)
        except traitlets.TraitError:
            expected = "a Chunk, such as trace.candidates[0].chunk" if name == "chunk" else "a text"
            raise InputError(f"The selected {name} cannot be {value!r}.", f"Give {expected}.") from None

    def choose(self, **values: Any) -> None:
        """Selects several things at once; an observer then finds all of them. If one is wrong, none is."""
        tried = Selection()
        for name, value in values.items():
            setattr(tried, name, value)
        with self.hold_trait_notifications():
            for name, value in values.items():
                setattr(self, name, value)
            self._agree(values)

    def clear(self) -> None:
        """Selects nothing."""
        self.choose(question="", chunk=None, file="", system="")

    @traitlets.observe("chunk", "file")
    def _changed(self, change: Any) -> None:
        self._agree({change["name"]: change["new"]})

    def _agree(self, value: dict[str, Any]) -> None:
        """Keeps the chunk and the file in agreement; the chunk decides if both are given."""
        if isinstance(chunk := value.get("chunk"), Chunk):
            self.file = chunk.path
        elif "file" in value and self.chunk is not None and self.chunk.path != self.file:
            self.chunk = None

    @property
    def values(self) -> tuple[object, ...]:
        """What is selected: the question, the chunk, the file and the system."""
        return self.question, self.chunk, self.file, self.system

    def covers(self, chunk: Chunk) -> bool:
        """Whether this chunk is selected; a whole note and the chunks of its file select each other."""
        if self.chunk is None:
            return False
        whole = any(one.id == one.path for one in (chunk, self.chunk))
        return chunk.path == self.chunk.path if whole else chunk.id == self.chunk.id

    def __repr__(self) -> str:
        """One line that names what is selected."""
        location = self.chunk.location if self.chunk else ""
        named = {"question": self.question, "chunk": location, "file": self.file, "system": self.system}
        parts = ", ".join(f"{name} {value!r}" for name, value in named.items() if value)
        return f"<Selection: {parts or 'nothing'}>"


selection = Selection()
"""What is selected on the page: the widgets share it, unless they are told otherwise."""

Link = bool | Selection
"""How a widget is linked: True with the page's selection, False with none, or with a selection of its own."""

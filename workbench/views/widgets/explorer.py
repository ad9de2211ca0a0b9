"""The question explorer: one question, two systems, all candidates, and why a file is among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as w

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError, unknown_name
from workbench.lab.cases.intake.found import case_of_trace
from workbench.lab.cases.intake.naming import save_beside
from workbench.records import Candidate, Trace
from workbench.retrieval.explain import Explanation, Fate, explain, fate_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question
from workbench.systems.registry import SYSTEMS
from workbench.views.figures.explorer import (
    LOOKS,
    MOST_DRAWN,
    SIDES,
    axis_updates,
    beside,
    drawn,
    explorer_figure,
    scored,
    trace_updates,
)
from workbench.views.figures.style import live, restyle
from workbench.views.text import ABSENT, explanation_text, formula_lines
from workbench.views.widgets.panel import Table, put, status_html
from workbench.views.widgets.question_panel import BOX, GIVEN, Asking, question_box
from workbench.views.widgets.selection import Link, Selection

SHIPPED_AND_FIXED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax")
SCORE = "score = "
WHY = (
    "flex:1 1 380px;max-height:26em;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "word-break:normal;margin:0;padding:8px;line-height:1.4;border:1px solid rgba(128,128,128,0.4)"
)


class QuestionExplorer(Asking):
    """Two systems' answers to one question side by side, and why a file is among them or not.

    `settings` are the question, the systems `left` and `right`, and the file `target`, which may be empty.
    `traces` are the two searches; `explanations` state the fate of the file in each (None without a file).
    `pipelines` are the systems to choose from, by name; by default all. Raises InputError for a question
    that cannot be searched, and for a system that is not among them.
    """

    name = "question-explorer"
    selects: Mapping[str, str] = {
        "question": "question",
        "target": "file",
        "left": "system",
        "right": "system",
    }
    traces: tuple[Trace, Trace]
    explanations: tuple[Explanation, Explanation] | None

    def __init__(
        self,
        index: Index,
        question: str,
        target: str = "",
        systems: Sequence[str] = SHIPPED_AND_FIXED,
        pipelines: Mapping[str, Pipeline] = SYSTEMS,
        link: Link = True,
    ) -> None:
        self.index = index
        self.pipelines = pipelines
        self._documents = index.documents() or ()
        self.question = question_box(question)
        self.left, self.right = (
            w.Dropdown(options=list(pipelines), description=side, layout=dict(BOX))
            for side in ("left", "right")
        )
        self.target = w.Combobox(
            value=target, options=[one.path for one in self._documents], description="explain file",
            placeholder="a file of the memory", continuous_update=False, layout=dict(BOX),
        )  # fmt: skip
        self.controls = {
            "question": self.question, "target": self.target, "left": self.left, "right": self.right,
        }  # fmt: skip
        for side, name in zip(("left", "right"), systems, strict=True):
            put(side, self.controls[side], name)
        self.look()
        self.figure = live(explorer_figure(*self.traces, self.asked_for))
        self.watch()
        self.why = w.HTML()
        self.save = w.Button(description="save as case", layout={"width": "auto"})
        self.save.on_click(self._save_clicked)
        self.saved = w.HTML()
        below = w.HBox([self.save, self.saved])
        self.lay_out(list(self.controls.values()), w.VBox([self.figure, self.why, below]), link)

    @property
    def asked_for(self) -> str:
        """The file to explain; empty for none."""
        return str(self.target.value).strip()

    def save_case(self, folder: Path | None = None) -> Path:
        """Saves a search as a case: that of the first system that misses the file, or else the left one.

        `folder` is where the notebook runs, if it is None. Raises InputError without a file to explain.
        """
        if self.explanations is None:
            raise InputError("A case needs the file that you expect.", "Name it as the file to explain.")
        missed = [one.trace for one in self.explanations if one.fate is not Fate.RETURNED]
        trace = next(iter([*missed, *self.traces]))
        return save_beside(case_of_trace(trace, self.index, self.asked_for), folder or Path.cwd())

    def _save_clicked(self, _: Any) -> None:
        try:
            said = f"Saved: {self.save_case()}"
        except WorkbenchError as error:
            said = f"{error.problem} {error.remedy}"
        self.saved.value = status_html(said)

    def look(self) -> None:
        """Searches with both systems, and explains the file's fate in each."""
        question = check_question(self.question.value)
        left, right = (
            search(question, self.pipelines[side.value], self.index) for side in (self.left, self.right)
        )
        self.traces, self.explanations = (left, right), None
        if self.asked_for:
            self.explanations = (
                explain(left, self.index, self.asked_for),
                explain(right, self.index, self.asked_for),
            )

    def draw(self) -> None:
        """Updates the figure's traces and axes to the current searches."""
        marked = self.selection.covers
        restyle(self.figure, trace_updates(*self.traces, self.asked_for, marked), axis_updates(*self.traces))

    def follow(self, chosen: Selection) -> None:
        """Asks the selected question, explains the selected file, and marks the selected chunk.

        The selected system goes to the left, unless it is already shown on one side.
        """
        shown = (self.left.value, self.right.value)
        new_system = chosen.system in self.pipelines and chosen.system not in shown
        wanted = {
            "question": chosen.question, "target": chosen.file, "left": chosen.system * new_system,
        }  # fmt: skip
        if not self.take({name: value for name, value in wanted.items() if value}):
            self.draw()

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """A candidate's mark selects its chunk, its question and its system."""
        for side, trace in zip(SIDES, self.traces, strict=True):
            for fate in LOOKS:
                if name == f"{fate} ({side})":
                    chunk = drawn(trace, fate)[point].chunk
                    return {"question": trace.question, "chunk": chunk, "system": self.controls[side].value}
        return {}

    def tell(self) -> None:
        """Updates the texts, including the explanations."""
        super().tell()
        self.why.value = _why_html(self.explanations or ())

    @property
    def finding(self) -> str:
        """What each system returns, the fate of the file, and what the figure leaves out."""
        said = [_outcome(trace) for trace in self.traces]
        if self.explanations:
            said.append(_fates_sentence(*self.explanations, [one.path for one in self._documents]))
        for trace in self.traces:
            if early := sum(not scored(trace, one) for one in trace.candidates):
                said.append(
                    f"{trace.system} drops {early} before they have a score: they are in the table only."
                )
        if any(len(trace.chunks) > MOST_DRAWN for trace in self.traces):
            said.append(f"The figure shows the first {MOST_DRAWN} positions of each.")
        return " ".join(said)

    @property
    def table(self) -> Table:
        """Every candidate of the two searches: its position, how its score was computed, and its fate."""
        left, right = self.traces
        return Table(
            f"Every candidate for “{left.question}”: position, score and fate",
            ("chunk", left.system, "fate", right.system, "fate"),
            tuple(
                (_place(one, other), *_cells(left, one), *_cells(right, other))
                for one, other in beside(left, right)
            ),
        )

    @property
    def code(self) -> str:
        left, right = self.left.value, self.right.value
        given = (
            "" if self.pipelines is SYSTEMS else "# `pipelines` are the systems that the widget was given.\n"
        )
        pipelines = "wb.SYSTEMS" if self.pipelines is SYSTEMS else "pipelines"
        lines = [
            f"{GIVEN}{given}import workbench as wb",
            "from workbench.retrieval.explain import fate_of",
            "",
            f"systems = [{pipelines}[name] for name in ({left!r}, {right!r})]",
            f"traces = [wb.search({self.traces[0].question!r}, system, index) for system in systems]",
            "fates = [{one.chunk.id: fate_of(one) for one in trace.candidates} for trace in traces]",
            "for trace in traces:",
            "    wb.show(trace)",
        ]
        if self.asked_for:
            lines += [
                f"explanations = [wb.explain(trace, index, {self.asked_for!r}) for trace in traces]",
                "for explanation in explanations:",
                "    wb.show(explanation)",
            ]
        return "\n".join(lines)


def _outcome(trace: Trace) -> str:
    if not trace.chunks:
        return f"{trace.system}: no leg brought a candidate."
    counts = Counter(fate_of(one) for one in trace.candidates)
    dropped = [f"{counts[fate]} {fate}" for fate in Fate if counts[fate] and fate is not Fate.RETURNED]
    rest = f" ({', '.join(dropped)})" if dropped else ""
    return f"{trace.system} returns {counts[Fate.RETURNED]} of {len(trace.chunks)} candidates{rest}."


def _fates_sentence(left: Explanation, right: Explanation, files: Sequence[str]) -> str:
    if left.fate is Fate.NEVER_INDEXED:
        near = unknown_name("file", left.target, files, "").problem if files else "There is no such file."
        return f"{near} Choose a file from the list, or index this one."
    if left.fate is right.fate:
        return f"{left.target} is {left.fate} in both."
    return f"{left.target} is {left.fate} on the left, {right.fate} on the right."


def _place(one: Candidate | None, other: Candidate | None) -> str:
    there = one or other
    return there.chunk.place if there else ABSENT


def _cells(trace: Trace, one: Candidate | None) -> tuple[str, str]:
    if one is None:
        return ABSENT, "no candidate"
    formulas = (line.removeprefix(SCORE) for line in formula_lines(trace, one) if line.startswith(SCORE))
    score = next(formulas, f"{one.score:.4g}") if scored(trace, one) else f"{ABSENT} (dropped before)"
    return f"{one.position}. {score}", fate_of(one).value


def _why_html(explanations: Sequence[Explanation]) -> str:
    blocks = (
        f'<pre tabindex="0" role="region" aria-label="explanation, {escape(one.trace.system)}" '
        f'style="{WHY}">{escape(explanation_text(one))}</pre>'
        for one in explanations
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{"".join(blocks)}</div>'

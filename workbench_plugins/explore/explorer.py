"""The question explorer: one question, two systems, all candidates, and why a file is among them.

Its figure shows two systems' candidates by position and score, and who moved where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import ipywidgets as w
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError, unknown_name
from workbench.records import Candidate, Chunk, Trace
from workbench.registry import part_of
from workbench.retrieval.explain import Explanation, Fate, explain, fate_of, floor_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question
from workbench.systems.registry import SYSTEMS
from workbench.views.figures.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    dress,
    live,
    whole_ticks,
)
from workbench.views.text import ABSENT, Table, explanation_text, formula_lines
from workbench.views.widgets.panel import BOX, GIVEN, Link, Selection, put, status_html
from workbench_plugins.asking import Asking, question_box

MOST_DRAWN = 48
"""The number of positions drawn for each system: two legs of 24 candidates."""

SIDES = ("left", "right")
LOOKS: dict[Fate, dict[str, Any]] = {
    Fate.RETURNED: {"color": GREEN, "symbol": "circle"},
    Fate.BEYOND_LIMIT: {"color": ORANGE, "symbol": "triangle-down"},
    Fate.BELOW_FLOOR: {"color": VERMILION, "symbol": "x"},
    Fate.BELOW_LEG_FLOOR: {"color": SKY, "symbol": "x-open"},
    Fate.FILTERED: {"color": INK, "symbol": "square-open"},
    Fate.FOLDED: {"color": GREY, "symbol": "circle-open"},
}
"""How a candidate is drawn, by its fate."""

MOVED, MOVED_TARGET = "in both", "in both, in the chosen file"


RING = {"size": 15, "symbol": "circle-open", "line": {"color": BLUE, "width": 2}, "color": BLUE}
CHOSEN = {"size": 21, "symbol": "square-open", "line": {"color": INK, "width": 2}, "color": INK}
FLOOR_LINE = {"color": INK, "width": 1.5, "dash": "dash"}
"""The marks of the chosen file and of the selected chunk, and the line of the floor."""


def explorer_figure(
    left: Trace, right: Trace, target: str = "", marked: Callable[[Chunk], bool] = lambda _: False
) -> go.Figure:
    """The candidates of two searches for one question, first position on top, and their fates.

    The outer plots show each candidate's score and the floor. The symbol of a candidate shows its fate; a
    ring marks chunks of the file `target`, and a square `marked` chunks. In the middle, a line joins a
    chunk's positions in both searches.
    """
    figure = make_subplots(rows=1, cols=3, column_widths=[0.38, 0.24, 0.38], horizontal_spacing=0.03)
    ends = _ends(left, right)
    for column, side, trace in ((1, SIDES[0], left), (3, SIDES[1], right)):
        shown, floor = _shown(trace), floor_of(trace)
        # The floor is a trace and not a layout shape: Voila loses shapes that move.
        there = [floor] * 2 if floor is not None and isfinite(floor) else []
        line = go.Scatter(
            name=f"floor ({side})", mode="lines", x=there, y=ends, line=FLOOR_LINE,
            hovertemplate="floor %{x:.3g}<extra></extra>", showlegend=False,
        )  # fmt: skip
        traces = [
            line,
            _marks(f"file ({side})", RING, [one for one in shown if one.chunk.path == target]),
            _marks(f"selected ({side})", CHOSEN, [one for one in shown if marked(one.chunk)]),
            *(_marks(f"{fate} ({side})", look, drawn(trace, fate)) for fate, look in LOOKS.items()),
        ]
        figure.add_traces(traces, rows=[1] * len(traces), cols=[column] * len(traces))
    both = [
        (one, other)
        for one, other in beside(left, right)
        if one and other and max(one.position, other.position) <= MOST_DRAWN
        if scored(left, one) and scored(right, other)
    ]
    for name, colour, width in ((MOVED, GREY, 1), (MOVED_TARGET, BLUE, 3)):
        some = [pair for pair in both if (pair[0].chunk.path == target) == (name == MOVED_TARGET)]
        figure.add_scatter(
            name=name, mode="lines", line={"color": colour, "width": width}, **_lines(some),
            hoverinfo="skip", showlegend=False, row=1, col=2,
        )  # fmt: skip
    # plotly leaves empty traces out of the legend.
    keys = {fate.value: look for fate, look in LOOKS.items()}
    keys |= {"in the chosen file": RING, "selected": CHOSEN}
    for name, look in keys.items():
        figure.add_scatter(name=name, mode="markers", marker={"size": 8, **look}, x=[None], y=[None])
    figure.add_scatter(name="floor", mode="lines", line=FLOOR_LINE, x=[None], y=[None])
    _dress(figure, left, right)
    return figure


def _marks(name: str, look: Mapping[str, Any], some: Sequence[Candidate]) -> go.Scatter:
    """Candidates as marks. A ring and a square lie around other marks, and leave the mouse to these."""
    told = [f"{one.position}. {one.chunk.place}<br>score {one.score:.4g}, {fate_of(one)}" for one in some]
    around = {"hoverinfo": "skip", "cliponaxis": False}
    hover = {"customdata": told, "hovertemplate": "%{customdata}<extra></extra>"}
    return go.Scatter(
        name=name, mode="markers", marker={"size": 8, **look}, showlegend=False,
        x=[one.score for one in some], y=[one.position for one in some],
        **(around if look in (RING, CHOSEN) else hover),
    )  # fmt: skip


def beside(left: Trace, right: Trace) -> list[tuple[Candidate | None, Candidate | None]]:
    """Pairs of the same chunk's candidates in two searches (None if absent); the left search comes first.

    If one search returns whole notes and the other chunks, a note is paired with its best chunk.
    """
    of_notes = any(chunk.id == chunk.path for chunk in (*left.chunks, *right.chunks))

    def key(one: Candidate) -> str:
        return one.chunk.path if of_notes else one.chunk.id

    theirs = {key(one): one for one in reversed(right.candidates)}
    pairs = [(one, theirs.pop(key(one), None)) for one in left.candidates]
    taken = {other.position for _, other in pairs if other}
    return [*pairs, *((None, one) for one in right.candidates if one.position not in taken)]


def drawn(trace: Trace, fate: Fate) -> list[Candidate]:
    """The candidates of a fate that the figure draws, in the order of its points."""
    return [one for one in _shown(trace) if fate_of(one) is fate]


def _ends(left: Trace, right: Trace) -> list[float]:
    """The ends of the position axis; position 1 is at the top."""
    return [max([1, len(_shown(left)), len(_shown(right))]) + 0.5, 0.5]


def scored(trace: Trace, one: Candidate) -> bool:
    """Whether the candidate got the score that the trace is ranked by: it was not dropped before."""
    if not isfinite(one.score):
        return False
    writer = next((n for n, stage in enumerate(trace.stages) if trace.ranked_by in stage.writes()), -1)
    return one.drop is None or trace.place_of(one.drop.stage) > writer


def _shown(trace: Trace) -> list[Candidate]:
    return [one for one in trace.candidates[:MOST_DRAWN] if scored(trace, one)]


def _lines(pairs: Sequence[tuple[Candidate, Candidate]]) -> dict[str, Any]:
    return {
        "x": [x for _ in pairs for x in (0, 1, None)],
        "y": [y for one, other in pairs for y in (one.position, other.position, None)],
    }


def _span(trace: Trace) -> list[float]:
    """The range of the score axis: it covers zero, every drawn score, and the floor."""
    floor = floor_of(trace)
    ends = [0.0, *(one.score for one in _shown(trace)), *([floor] if floor and isfinite(floor) else [])]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low or 1.0)
    return [low - room, high + room]


def _dress(figure: go.Figure, left: Trace, right: Trace) -> None:
    dress(figure, height=510)
    ends = _ends(left, right)
    figure.update_yaxes(showticklabels=False, range=ends, **whole_ticks(ends[0]))
    figure.update_yaxes(title_text="position (1 is best)", showticklabels=True, col=1)
    figure.update_yaxes(showticklabels=True, side="right", col=3)
    for column, trace in ((1, left), (3, right)):
        figure.update_xaxes(title_text=f"score: {trace.system}", range=_span(trace), col=column)
    figure.update_xaxes(
        title_text="the same chunk", range=[0, 1], showgrid=False, showticklabels=False, col=2
    )
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 64, "r": 60},
    )  # fmt: skip


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
            w.Dropdown(options=list(pipelines), description=side, layout=dict(BOX)) for side in SIDES
        )
        self.target = w.Combobox(
            value=target, options=[one.path for one in self._documents], description="explain file",
            placeholder="a file of the memory", continuous_update=False, layout=dict(BOX),
        )  # fmt: skip
        self.controls = {
            "question": self.question, "target": self.target, "left": self.left, "right": self.right,
        }  # fmt: skip
        for side, name in zip(SIDES, systems, strict=True):
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
        saved: Path = part_of("save", "case").save_trace_beside(
            folder or Path.cwd(), trace, self.index, self.asked_for
        )
        return saved

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
            one, other = (explain(trace, self.index, self.asked_for) for trace in self.traces)
            self.explanations = one, other

    def draw(self) -> None:
        """Draws the current searches."""
        self.figure.show(explorer_figure(*self.traces, self.asked_for, self.selection.covers))

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

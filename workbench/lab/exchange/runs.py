"""A run: what an engine returned for each question, with its scores, its ranks and its sub-scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.errors import InputError
from workbench.records import Floats, Rows, Shown
from workbench.safe_text import counted


@dataclass(frozen=True, eq=False)
class RunRanking:
    """What one question got, in the order of the file; row i of every array belongs to `ids[i]`.

    `scores` and `ranks` are as stated, NaN where absent; `parts` are sub-scores by name. `lines` are the
    lines of the file, 0 without one.
    """

    ids: tuple[str, ...]
    scores: Floats
    ranks: Floats
    lines: Rows
    parts: Mapping[str, Floats]


@dataclass(frozen=True, eq=False, repr=False)
class Run(Shown):
    """The results of one engine for many questions, in columns: `rows[id]` are the rows of a question.

    With `by_score` the answer is ordered as TREC's tools do it: by falling score, ties by id. Without it, the
    order is the one in which the engine returned the results. `texts` holds the questions by id, as far as
    the file has them. `file` is where the run was read, or empty.
    """

    name: str
    ids: Sequence[str]
    scores: Floats
    ranks: Floats
    lines: Rows
    rows: Mapping[str, Rows]
    parts: Mapping[str, Floats] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    by_score: bool = False
    file: str = ""

    def __repr__(self) -> str:
        """One line; `workbench.show` prints it, too."""
        return (
            f"<Run: {self.name}, {counted(len(self.rows), 'question')}, {counted(len(self.ids), 'result')}>"
        )

    def __str__(self) -> str:
        """The number of questions and results, and the sub-scores."""
        parts = f", sub-scores {', '.join(self.parts)}" if self.parts else ""
        return (
            f"{self.name}: {counted(len(self.rows), 'question')}, {counted(len(self.ids), 'result')}{parts}"
        )

    def ranking(self, question: str) -> RunRanking:
        """What the question of this id got; an empty ranking if the run does not have it."""
        rows = self.rows.get(question, np.empty(0, np.int64))
        return RunRanking(
            tuple(self.ids[row] for row in rows.tolist()),
            self.scores[rows],
            self.ranks[rows],
            self.lines[rows],
            {name: column[rows] for name, column in self.parts.items()},
        )

    def answer(self, question: str, limit: int | None = None) -> list[tuple[str, float]]:
        """The first `limit` documents of a question with their scores, best first, each document once."""
        rows = self.rows.get(question, np.empty(0, np.int64))
        if self.by_score and rows.size:
            ids = np.array([self.ids[row] for row in rows.tolist()], np.str_)
            rows = rows[np.lexsort((ids, -self.scores[rows]))]
        found: dict[str, float] = {}
        for row in rows.tolist():
            found.setdefault(self.ids[row], float(self.scores[row]))
        return list(found.items())[:limit]

    def returned(self, question: str, limit: int | None = None) -> list[str]:
        """The ids of `answer`."""
        return [id_ for id_, _ in self.answer(question, limit)]

    @property
    def depth(self) -> int:
        """The largest number of results of a question."""
        return max((rows.size for rows in self.rows.values()), default=0)


@dataclass
class Collector:
    """Collects results one by one, and makes a run of them."""

    name: str
    by_score: bool = False
    file: str = ""
    _ids: list[str] = field(default_factory=list)
    _numbers: list[tuple[float, float, int]] = field(default_factory=list)
    _rows: dict[str, list[int]] = field(default_factory=dict)
    _parts: dict[str, dict[int, float]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def question(self, id_: str, text: str = "", line: int = 0) -> None:
        """Begins a question, which may get no result. Raises InputError for a second one of this id."""
        if id_ in self._rows:
            raise InputError(
                f"{self.file}, line {line}: the question {id_!r} is there twice.", "Give each question once."
            )
        self._rows[id_] = []
        if text:
            self._texts[id_] = text

    def add(
        self, question: str, id_: str, score: float, rank: float = np.nan, line: int = 0,
        parts: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Adds a result to a question that has begun."""
        row = len(self._ids)
        self._ids.append(id_)
        self._numbers.append((score, rank, line))
        self._rows[question].append(row)
        for name, value in (parts or {}).items():
            self._parts.setdefault(name, {})[row] = value

    def run(self) -> Run:
        """The run of what was collected."""
        numbers = np.array(self._numbers, float).reshape(-1, 3)
        return Run(
            self.name,
            self._ids,
            numbers[:, 0],
            numbers[:, 1],
            numbers[:, 2].astype(np.int64),
            {id_: np.array(rows, np.int64) for id_, rows in self._rows.items()},
            {name: _column(values, len(self._ids)) for name, values in sorted(self._parts.items())},
            self._texts,
            self.by_score,
            self.file,
        )


def _column(values: Mapping[int, float], size: int) -> Floats:
    column = np.full(size, np.nan)
    column[list(values)] = list(values.values())
    return column


def named_apart(runs: Iterable[Run]) -> list[Run]:
    """The runs, with a number behind the name where two have the same."""
    from dataclasses import replace

    seen: dict[str, int] = {}
    made = []
    for run in runs:
        seen[run.name] = seen.get(run.name, 0) + 1
        made.append(run if seen[run.name] == 1 else replace(run, name=f"{run.name} ({seen[run.name]})"))
    return made

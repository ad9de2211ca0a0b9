"""Records of Basic Memory's search_notes: results[mode][question] = rows of permalink and score.

With several workspaces it is results[workspace][mode][question].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.replaying import Answer, Asked, Row, Rows, Unreadable, chosen
from workbench.lab.bench.basic_memory import as_benched, session_index
from workbench.lab.bench.locomo import Locomo, load
from workbench.records import Trace
from workbench.retrieval.pipeline import search
from workbench.systems.basic_memory.pipelines import VECTOR_ONLY
from workbench.systems.registry import system as named

MODES = ("text", "vector", "hybrid")
LEAST = 0.3
"""The min similarity of the recording."""
PAGE = 10


@dataclass(frozen=True)
class BasicMemoryForm:
    """A workspace's folder is a LoCoMo file, with `#N` behind it for its conversation N; a session is a note.

    The one workspace of a record that names none may be given under any name.
    """

    def fits(self, record: Mapping[str, Any]) -> bool:
        results = record["results"]
        return _modes(results) or all(isinstance(one, Mapping) and _modes(one) for one in results.values())

    def lists(self, results: Mapping[str, Any], folders: Mapping[str, Path]) -> list[Asked]:
        known = dict.fromkeys(list(folders)[:1], results) if _modes(results) else results
        return [
            Asked(workspace, mode, question, [Row(permalink, float(score)) for permalink, score in rows])
            for workspace in chosen(known, folders)
            for mode, questions in known[workspace].items()
            for question, rows in questions.items()
        ]

    @contextmanager
    def opened(
        self, record: Mapping[str, Any], system: str, folder: Path, scratch: Path, today: str
    ) -> Iterator[Answer]:
        hybrid = as_benched(named(system), LEAST)
        vector = replace(as_benched(VECTOR_ONLY, LEAST), view=hybrid.view)
        with session_index(_conversation(folder), path=scratch / "index.sqlite") as index:

            def answer(asked: Asked) -> Rows:
                if asked.arguments == "text":
                    return _keyword_rows(search(asked.question, hybrid, index))
                trace = search(asked.question, hybrid if asked.arguments == "hybrid" else vector, index)
                return [Row(_permalink(one.chunk.path), one.score) for one in trace.results]

            yield answer


def _modes(results: Mapping[str, Any]) -> bool:
    return bool(results) and results.keys() <= set(MODES)


def _conversation(folder: Path) -> Locomo:
    file, _, number = str(folder).partition("#")
    if not Path(file).is_file():
        raise Unreadable(f"{folder} is no LoCoMo file")
    every = load(file)
    wanted = int(number or 0)
    return Locomo(
        tuple(one for one in every.documents if one.conversation == wanted),
        tuple(one for one in every.turns if one.conversation == wanted),
        (),
        0,
    )


def _keyword_rows(trace: Trace) -> list[Row]:
    """What the keyword leg alone returns: the first page of its hits, with FTS5's own numbers."""
    ranks = trace.columns["keyword_rank"]
    first = sorted((rank, row) for row, rank in enumerate(ranks.tolist()) if rank <= PAGE)
    raw = trace.columns["keyword_raw"]
    return [Row(_permalink(trace.chunks[row].path), float(raw[row])) for _, row in first]


def _permalink(path: str) -> str:
    return path.removesuffix(".md")

"""What a second look at the first list adds to `recommended`: Rocchio's expansion, own vectors, neighbours.

    python -m benchmarks.expansion FOLDER QUESTIONS.yaml

Each is a number of every candidate that is added to its score with a weight. The weight is chosen on the
questions of two thirds of the files, and measured once on the others. The candidates stay the same.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import workbench as wb
from workbench.measure.paired import paired_values
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.records import Floats
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.pipelines import RECOMMENDED

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
FIRST = 3
"""The chunks whose mean vector expands the question."""
SHARE = 0.25
"""How much of that mean is added to the question's vector."""
FILES = 6


class Brought(NamedTuple):
    """The candidates of a question: their files, scores, own vectors, and the places of their neighbours."""

    target: str
    question: Floats
    paths: list[str]
    scores: Floats
    vectors: Floats
    neighbours: list[list[int]]


def expanded(one: Brought) -> Floats:
    """The cosine with the question and a share of the first chunks' mean (Rocchio, 1971)."""
    first = np.argsort(-one.scores, kind="stable")[:FIRST]
    asked = one.question + SHARE * one.vectors[first].mean(axis=0)
    return one.vectors @ (asked / np.linalg.norm(asked))


def own_vector(one: Brought) -> Floats:
    """The cosine of the whole chunk's vector, beside that of its passages."""
    return one.vectors @ one.question


def beside(one: Brought) -> Floats:
    """The best score of the chunks before and after, of those that are candidates."""
    return np.array([max((one.scores[place] for place in some), default=0.0) for some in one.neighbours])


PARTS: dict[str, Callable[[Brought], Floats]] = {
    "Rocchio's expansion": expanded,
    "the chunk's own vector": own_vector,
    "neighbours": beside,
}


def brought(index: MemoryIndex, questions: list[tuple[str, str]]) -> Iterator[Brought]:
    """What each question brings."""
    rows, vectors = index.vectors()
    place = {int(row): number for number, row in enumerate(rows)}
    row_of, near = dict[str, int](), dict[int, list[int]]()
    for path in index.paths():
        of_file = index.rows_of(path)
        row_of |= {one.id: int(row) for one, row in zip(index.chunks(of_file), of_file, strict=True)}
        for first, second in zip(of_file.tolist(), of_file.tolist()[1:], strict=False):
            near.setdefault(first, []).append(second)
            near.setdefault(second, []).append(first)
    for question, target in questions:
        trace = search(question, RECOMMENDED, index)
        some = [one for one in trace.candidates if np.isfinite(one.score)]
        found = [row_of[one.chunk.id] for one in some]
        at = {row: number for number, row in enumerate(found)}
        yield Brought(
            target=target,
            question=index.embed(question),
            paths=[one.chunk.path for one in some],
            scores=np.array([one.score for one in some]),
            vectors=vectors[[place[row] for row in found]],
            neighbours=[[at[other] for other in near.get(row, []) if other in at] for row in found],
        )


def reciprocal_rank(one: Brought, scores: Floats) -> float:
    """1 / rank of the right file among the first FILES; 0 where it is not among them."""
    order = np.argsort(-scores, kind="stable")
    files = list(dict.fromkeys(one.paths[place] for place in order))[:FILES]
    return 1 / (files.index(one.target) + 1) if one.target in files else 0.0


def main() -> None:
    """Prints a line for each part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    given = parser.parse_args()
    wb.index_folder(given.folder)
    asked = [(one.question, one.target) for one in wb.load_questions(given.questions).questions]
    with open_index(given.folder) as index:
        assert isinstance(index, MemoryIndex)
        every = list(brought(index, asked))
    apart = np.array([zlib.crc32(one.target.encode()) % 3 == 0 for one in every])
    units = [one.target for one, held in zip(every, apart, strict=True) if held]
    print(f"{len(every)} questions, {len({one.target for one in every})} files, {len(set(units))} held apart")
    for name, part in PARTS.items():
        added = [part(one) for one in every]
        ranks = {
            weight: np.array(
                [
                    reciprocal_rank(one, one.scores + weight * more)
                    for one, more in zip(every, added, strict=True)
                ]
            )
            for weight in WEIGHTS
        }
        best = max(WEIGHTS, key=lambda weight: (ranks[weight][~apart].mean(), -weight))
        found = paired_values(ranks[0.0][apart], ranks[best][apart], units=units)
        chosen = (ranks[best] - ranks[0.0])[~apart].mean()
        print(f"{name}, weight {best:g}: {chosen:+.3f} where it was chosen; held apart {found}", flush=True)


if __name__ == "__main__":
    main()

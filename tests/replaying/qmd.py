"""Records of QMD's searchFTS: results[workspace]["search"][question] = rows of path and score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.replaying import Answer, Asked, Row, Rows, chosen
from workbench.retrieval.legs import no_hits
from workbench.retrieval.pipeline import search
from workbench.retrieval.scoring import relevance
from workbench.systems.catalogue import system as named
from workbench_plugins.engines.museum import small_memory

MODE = "search"


@dataclass(frozen=True)
class QmdForm:
    """A workspace is a folder of notes, every Markdown file of which is indexed. Only keywords are asked."""

    def fits(self, record: Mapping[str, Any]) -> bool:
        return all(isinstance(one, Mapping) and one.keys() == {MODE} for one in record["results"].values())

    def lists(self, results: Mapping[str, Any], folders: Mapping[str, Path]) -> list[Asked]:
        return [
            Asked(workspace, MODE, question, [Row(path, float(score)) for path, score in rows])
            for workspace in chosen(results, folders)
            for question, rows in results[workspace][MODE].items()
        ]

    @contextmanager
    def opened(
        self, record: Mapping[str, Any], system: str, folder: Path, scratch: Path, today: str
    ) -> Iterator[Answer]:
        files = sorted(folder.rglob("*.md"))
        notes = {one.relative_to(folder).as_posix(): one.read_bytes().decode() for one in files}
        pipeline = named(system)
        assert pipeline.layout is not None
        with small_memory(notes, {"any": ("any",)}) as index:
            files_of = pipeline.layout.of(index)

            def answer(asked: Asked) -> Rows:
                leg = search(asked.question, pipeline, index).legs.get("keyword")
                hits = leg.hits if leg else no_hits()
                paths = [one.path for one in files_of.chunks(hits.rows)]
                return [
                    Row(path, score) for path, score in zip(paths, relevance(hits.raw).tolist(), strict=True)
                ]

            yield answer

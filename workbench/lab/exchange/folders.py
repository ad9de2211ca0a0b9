"""Writes a test collection as a BEIR folder, so that other engines and tools can run on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.lab.bench.collections import TestCollection, beir, longmemeval, of_locomo, trec
from workbench.lab.bench.locomo import load

FORMS = ("beir", "trec", "longmemeval", "locomo")


def read_collection(path: Path, form: str) -> TestCollection:
    """The collection in a file or folder of one of FORMS. Raises InputError for an unknown form."""
    if form == "locomo":
        return of_locomo(load(path), path.stem)
    readers = {"beir": beir, "trec": trec, "longmemeval": longmemeval}
    if form not in readers:
        raise InputError(f"There is no form {form!r}.", f"Use one of {', '.join(FORMS)}.")
    return readers[form](path)


def write_beir(collection: TestCollection, folder: str | os.PathLike[str]) -> None:
    """Writes corpus.jsonl, queries.jsonl and qrels/test.tsv into a new or an empty folder.

    Raises InputError for a folder that holds something, and for one that cannot be written.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise InputError(f"The folder {root} is not empty.", "Give a new folder.")
        _lines(root / "corpus.jsonl", ({"_id": one.id, "text": one.text} for one in collection.documents))
        _lines(root / "queries.jsonl", ({"_id": one.id, "text": one.text} for one in collection.questions))
        (root / "qrels").mkdir()
        rows = [f"{one.id}\t{id_}\t1\n" for one in collection.questions for id_ in sorted(one.truth)]
        text = "".join(["query-id\tcorpus-id\tscore\n", *rows])
        (root / "qrels" / "test.tsv").write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{root} cannot be written: {error.strerror}.", "Check the path.") from None


def _lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")

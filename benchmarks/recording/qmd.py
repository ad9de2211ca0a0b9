"""Record what a release of QMD finds by keywords in folders of notes.

    npm install --ignore-scripts @tobilu/qmd@2.8.3 bun
    python -m benchmarks.recording.qmd FOLDER/node_modules OUT.json --workspace sample=sample_memory \\
        --questions RECORD.json

The release runs unmodified under bun: it indexes a folder into a database of its own, and its function
searchFTS is asked. The questions are those of another record, and the words of the folder's headings. The
result is results[workspace]["search"][question] = rows of path and score.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.recording import arguments_of, workspaces, write

LIMIT = 20
COLLECTION = "notes"
SCRIPT = """
import { createStore, reindexCollection, searchFTS } from "QMD/dist/store.js";
const { folder, database, questions, limit, collection } = JSON.parse(await Bun.stdin.text());
const store = createStore(database);
await reindexCollection(store, folder, "**/*.md", collection);
const asked = questions.map((one) => [one, searchFTS(store.db, one, limit, collection)]);
const row = (hit) => [hit.filepath.slice(`qmd://${collection}/`.length), hit.score];
process.stdout.write(JSON.stringify(Object.fromEntries(asked.map(([one, hits]) => [one, hits.map(row)]))));
"""


def recorded(modules: Path, folder: Path, questions: Iterable[str]) -> Mapping[str, Any]:
    """What the release in `modules` (a node_modules folder) answers about a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "record.mjs"
        script.write_text(SCRIPT.replace("QMD", str(modules.resolve() / "@tobilu" / "qmd")))
        asked = {
            "folder": str(folder.resolve()),
            "database": f"{scratch}/qmd.sqlite",
            "questions": list(questions),
            "limit": LIMIT,
            "collection": COLLECTION,
        }
        bun = next(modules.resolve().glob("@oven/bun-*/bin/bun"))
        command = [bun, "run", script]
        ran = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found: Mapping[str, Any] = json.loads(ran.stdout)
    return found


def heading_words(folder: Path) -> list[str]:
    """The words of the headings of all notes, each once; a word is what stands between blanks."""
    lines = (line for file in sorted(folder.rglob("*.md")) for line in file.read_text().splitlines())
    return list(dict.fromkeys(word for line in lines if line.startswith("#") for word in line.split()[1:]))


def main(arguments: Sequence[str] | None = None) -> None:
    given = arguments_of("qmd", "the folder node_modules that has the release and bun").parse_args(arguments)
    modules = Path(given.release)
    release = json.loads((modules / "@tobilu" / "qmd" / "package.json").read_text())["version"]
    results = {
        name: {"search": recorded(modules, folder, [*questions, *heading_words(folder)])}
        for name, folder, questions in workspaces(given)
    }
    about = (
        f"searchFTS(db, question, {LIMIT}, {COLLECTION!r}) after reindexCollection; rows are (path, score)"
    )
    write(given.out, {"release": f"qmd {release}", "about": about, "results": results})


if __name__ == "__main__":
    main()

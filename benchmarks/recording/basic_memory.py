"""Record what a release of Basic Memory answers about folders of notes.

    python3.12 -m venv RELEASE && RELEASE/bin/pip install basic-memory==0.23.2 pysqlite3-binary
    python -m benchmarks.recording.basic_memory RELEASE/bin/python OUT.json --release 0.23.2 \\
        --workspace sample=sample_memory --questions RECORD.json

The release runs unmodified, in a process and a home of its own, and is asked over MCP, through its tool
search_notes. Only two things are given to it: the address of a server of vectors on this machine, and
pysqlite3 in place of a sqlite3 that cannot load extensions. The questions are those of another record. The
result is results[workspace][mode][question] = rows of permalink and score.

With `--postgres URL` (postgresql+asyncpg://…) the notes are indexed in that database, which must be empty and
have the extensions vector and pg_trgm. `forms` of the record are then the searchable forms of each title,
permalink and path, in the order in which the release wrote them: that of a set, which follows Python's hash
seed. `--seed` fixes the seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.recording import questions_of, write
from workbench_plugins.basic_memory.notes import variants
from workbench_plugins.cases.released.basic_memory import LEAST, recorded
from workbench_plugins.cases.released.embeddings import served

ABOUT = (
    "search_notes of the real server, ten results a page; files without front matter in the project main; "
    f"packaged all-MiniLM-L6-v2, truncated, min similarity {LEAST:g}; rows are (permalink, score)"
)


def forms_written(url: str) -> dict[str, list[str]]:
    """The forms of each title, permalink and path, in the order in which a database has them.

    Those behind the 6,000th character of a note are not there.
    """
    import psycopg

    found: dict[str, list[str]] = {}
    statement = (
        "SELECT content_stems, content_snippet, title, permalink, file_path FROM search_index "
        "WHERE type = 'entity'"
    )
    with psycopg.connect(url.replace("+asyncpg", "")) as database:
        for stems, body, *texts in database.execute(statement):
            rest = stems
            for place, text in enumerate(texts):
                forms = rest.split("\n")[: len(variants(text))]
                if sorted(forms) == sorted(variants(text)):
                    found[text] = forms
                rest = rest[len("\n".join(forms)) :].lstrip("\n")
                rest = rest.removeprefix(body or "").lstrip("\n") if place == 0 else rest
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording.basic_memory")
    parser.add_argument("python", help="the interpreter of the environment that has the release")
    parser.add_argument("out", type=Path, help="the record to write, .json or .json.gz")
    parser.add_argument("--release", required=True, help="what the record says of the release")
    parser.add_argument("--workspace", required=True, action="append", metavar="NAME=FOLDER")
    parser.add_argument(
        "--questions", required=True, type=Path, help="a record that asks the same workspaces"
    )
    parser.add_argument("--postgres", metavar="URL", help="an empty database for the one workspace")
    parser.add_argument("--seed", help="Python's hash seed in the release's process")
    given = parser.parse_args(arguments)
    more = {"PYTHONHASHSEED": given.seed} if given.seed else {}
    if given.postgres:
        more |= {"BASIC_MEMORY_DATABASE_BACKEND": "postgres", "BASIC_MEMORY_DATABASE_URL": given.postgres}
    results = {}
    with served() as server:
        for name, folder in (one.split("=", 1) for one in given.workspace):
            asked = questions_of(given.questions, name)
            results[name] = recorded(given.python, Path(folder), asked, server.url, more=more)
    record = {"release": f"basic-memory {given.release}", "about": ABOUT, "results": results}
    forms = {"forms": forms_written(given.postgres)} if given.postgres else {}
    write(given.out, record | forms)


if __name__ == "__main__":
    main()

"""Record what a release of Basic Memory answers about folders of notes.

    python -m benchmarks.recording.basic_memory 0.23.2 OUT.json \\
        --workspace sample=sample_memory --questions RECORD.json

The release is installed from PyPI into the cache of `workbench case confirm`. It runs unmodified, in a
process and a home of its own, and is asked over MCP, through its tool search_notes. Only two things are given
to it: the address of a server of vectors on this machine, and pysqlite3 in place of a sqlite3 that cannot
load extensions. The questions are those of another record. The result is results[workspace][mode][question]
= rows of permalink and score.

With `--postgres URL` (postgresql+asyncpg://…) the notes are indexed in that database, which must be empty and
have the extensions vector and pg_trgm. `forms` of the record are then the searchable forms of each title,
permalink and path, in the order in which the release wrote them: that of a set, which follows Python's hash
seed. `--seed` fixes the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.recording import arguments_of, recorded, write
from workbench_plugins.basic_memory.notes import variants
from workbench_plugins.cases.released.basic_memory import LEAST, running
from workbench_plugins.cases.released.installing import Installed

MODES = ("text", "vector", "hybrid")
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
    parser = arguments_of("basic_memory", "the release on PyPI, such as 0.23.2")
    parser.add_argument("--python", default="python3.12", help="a Python 3.12 or newer, to install it with")
    parser.add_argument("--postgres", metavar="URL", help="an empty database for the one workspace")
    parser.add_argument("--seed", help="Python's hash seed in the release's process")
    given = parser.parse_args(arguments)
    release = Installed("basic-memory", given.release, python=given.python).install(
        lambda _, needed: bool(needed())
    )
    more = {"PYTHONHASHSEED": given.seed} if given.seed else {}
    if given.postgres:
        more |= {"BASIC_MEMORY_DATABASE_BACKEND": "postgres", "BASIC_MEMORY_DATABASE_URL": given.postgres}
    calls = {mode: {"search_type": mode} for mode in MODES}
    results = recorded(given, partial(running, release, more=more), calls)
    record = {"release": f"basic-memory {given.release}", "about": ABOUT, "results": results}
    forms = {"forms": forms_written(given.postgres)} if given.postgres else {}
    write(given.out, record | forms)


if __name__ == "__main__":
    main()

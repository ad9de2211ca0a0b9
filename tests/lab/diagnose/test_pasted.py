"""The search that `diagnose` prints as its repair brings the file, also where an option is the cause."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import Run

NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\nThe {name} is in the {room}, on the {shelf} shelf.\n"
    for name, room, shelf in (
        ("kettle", "kitchen", "upper"), ("saw", "shed", "lower"), ("map", "hall", "long"),
        ("drum", "attic", "wide"), ("globe", "study", "small"),
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("openclaw-2026.2.13-vector-only", ["--min-score", "0.95"]),
        ("openclaw-2026.2.13+or", ["--min-score", "0.97"]),
        ("langchain-ensemble", ["--min-score", "0.9"]),
        ("openclaw-2026.2.13-vector-only", ["--limit", "1"]),
        ("recommended", ["--limit", "1"]),
    ],
)
def test_the_printed_search_brings_the_file(
    run: Run, tmp_path: Path, system: str, options: list[str]
) -> None:
    for name, text in NOTES.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    where = ["-m", str(tmp_path / "notes"), "--index", str(tmp_path / "index")]
    assert run("index", *where[1:]).code == 0
    asked = ["where is the saw in the shed", *where, "-s", system, *options]
    target = "memory/map.md" if "--limit" in options else "memory/saw.md"
    assert target not in [one["path"] for one in run("search", *asked, "--json").json()["results"]]

    printed = run("diagnose", *asked, "-t", target).out
    found = re.search(r"(?:Try it|Repair): workbench (search .*)", printed)
    assert found is not None, printed
    again = run(*shlex.split(found[1]), "--json").json()
    assert target in [one["path"] for one in again["results"]], printed

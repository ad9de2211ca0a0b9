"""What a user gets of a release's own answers: `index`, `index --as RELEASE`, then the same questions.

    python -m benchmarks.as_released RECORD.json[.gz] SYSTEM NAME=FOLDER ...

Each folder is indexed twice by the commands, into one new cache folder. Every question of the record is asked
of the workbench's own index, and of the index that the system then opens by itself. A line for each folder
and kind of call says how many of the recorded lists are equal. See `tests.run_records` for what is equal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.replaying import form_of
from tests.run_records import compare, load
from workbench.memory.index_files import default_index_path
from workbench.memory.opening import open_index
from workbench.systems.catalogue import system


def main(record_file: str, name: str, *workspaces: str) -> None:
    """Prints the table."""
    record = load(Path(record_file))
    form, like = form_of(record), system(name).indexing
    folders = {one.partition("=")[0]: Path(one.partition("=")[2]) for one in workspaces}
    with tempfile.TemporaryDirectory() as home:
        os.environ["WORKBENCH_HOME"] = home
        for workspace, folder in folders.items():
            for more in ([], ["--as", name]):
                given = [sys.executable, "-m", "workbench", "index", str(folder), *more]
                subprocess.run(given, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            every = form.lists(record["results"], {workspace: folder})
            for label, file in (("own index", default_index_path(folder)), (f"--as {name}", None)):
                equal, lists = Counter[str](), Counter[str]()
                with open_index(folder, index_path=file, like=like) as index:
                    answer = form.answering(record, name, index)
                    for one in every:
                        compared = compare(one, answer(one))
                        lists[one.arguments] += 1
                        equal[one.arguments] += not compared.difference
                        if file is None and compared.difference:
                            tied = "tied at the end, " if compared.tied_at_end else ""
                            print(f"    {one.arguments} {one.question!r}: {tied}{compared.difference}")
                counts = ", ".join(f"{kind} {equal[kind]} of {lists[kind]}" for kind in lists)
                print(
                    f"{workspace}, {label}: {equal.total()} of {lists.total()} equal ({counts})", flush=True
                )


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Printed repairs are pasted as they stand: does each bring the file?"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.terminal import text_of
from workbench_plugins.diagnose.fixes import named
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.diagnose.parameters import settings_between


def json_paths(printed: str) -> list[str]:
    """The paths of results that were printed as JSON."""
    return [one["path"] for one in json.loads(printed)["results"]]


LABELS = "Try it|Until then|Repair|Not tried; do this next"
"""What stands before a repair that is printed."""


def pasted(printed: str, target: str, asked: str) -> bool | None:
    """Whether all that can be pasted brings the file: searches at once, and after other commands `asked`.

    None where nothing can be pasted.
    """
    told = re.findall(rf"^(?:{LABELS}):(.*(?:\n  .*)*)", printed, re.MULTILINE)
    lines = [" ".join(one.split("\n  ")).strip() for one in told]  # a long command stands below its name
    searches = [one for one in lines if one.startswith("workbench search ")]
    repairs = [found[0] for one in lines if (found := SHELL.search(one))]
    held = [target in json_paths(in_empty_shell(f"{one} --json")) for one in searches]
    for one in repairs:
        in_empty_shell(one)
        held.append(target in json_paths(in_empty_shell(f"{asked} --json")))
    for content in (one for one in lines if one.startswith("{")):
        file = Path(shlex.split(asked)[-1].partition("@")[2])
        file.write_text(json.dumps(merged(json.loads(file.read_text()), json.loads(content))))
        held.append(target in json_paths(in_empty_shell(f"{asked} --json")))
    return all(held) if held else None


SHELL = re.compile(r"(?<!Then: )(?:workbench index |perl |cp |mkdir -p |mv -n ).*")
"""A command of a repair; what comes after `Then:` works only after something that is done by hand."""


def in_empty_shell(line: str) -> str:
    """What a line prints in a shell without a home and with the commands of this environment alone."""
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    with tempfile.TemporaryDirectory() as home:
        known = {"PATH": path, "HOME": home, "LC_ALL": "C.UTF-8"}
        made = subprocess.run(
            ["sh", "-c", line], cwd=home, env=known, capture_output=True, text=True, check=False
        )
    return made.stdout


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Settings with others pasted into them."""
    both = {
        key: merged(old[key], new[key]) if isinstance(old.get(key), dict) else value
        for key, value in new.items()
    }
    return {**old, **both}


def python_works(printed: str, target: str) -> bool | None:
    """Whether the Python of the first fix shows the file in an empty interpreter; None without Python."""
    found = re.search(r"^1\. As Python:\n(.*?)(?=^\d\. |^Other chunks|\Z)", printed, re.M | re.S)
    if found is None:
        return None
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "pasted.py"
        file.write_text(found[1], encoding="utf-8")
        made = in_empty_shell(f"PYTHONPATH={shlex.quote(str(Path.cwd()))} python {shlex.quote(str(file))}")
    return target in made


@contextmanager
def indexed_copy(memory: Path) -> Iterator[Path]:
    """A temporary folder with a copy of a memory in `notes`, and its index in `index`."""
    with tempfile.TemporaryDirectory() as made:
        base = Path(made)
        shutil.copytree(memory, base / "notes")
        index_folder(base / "notes", options=Options(index_path=base / "index"))
        yield base


def holds(found: Diagnosis, base: Path) -> bool | None:
    """Whether each repair of a diagnosis brings the file, tried in a copy of the folder `base`.

    `base` has the notes in `notes` and their index in `index`, which were searched. None where nothing can be
    pasted.
    """
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "copy"
        shutil.copytree(base, copy, symlinks=True)
        where = ["-m", str(copy / "notes"), "--index", str(copy / "index")]
        words = ["workbench", "search", found.question, *where, "--system", found.pipeline.name]
        known = named(found.pipeline.name)
        typed = settings_between(known, found.pipeline) if known else ()
        command = (*words, *(part for one in typed for part in ("--set", one)))
        told = replace(found, command=command if known else ())
        printed = text_of(told.view(), details=True).replace(str(base), str(copy))
        if known is None:
            return python_works(printed, found.target)
        return pasted(printed, found.target, shlex.join(command))

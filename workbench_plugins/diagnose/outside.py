"""Causes outside the pipeline: the file is not indexed, the index is old, or its vectors do not fit."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError
from workbench.measure.questions import nearest
from workbench.measure.reruns import Reruns
from workbench.memory.choices import extra_paths_of
from workbench.memory.files import SUFFIX, FileLocation, open_below
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.sync import index_folder
from workbench.memory.unread import A_LINK, ADD, FOLDERS, RENAME, TRANSCRIPT, Unread
from workbench.records import first_of
from workbench.registry import has_feature
from workbench.retrieval.foreign_ids import path_form
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.retrieval.scope import Scope
from workbench.safe_text import counted
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.copies import causes_of_copies
from workbench_plugins.diagnose.index_of_folder import index_command, index_of_folder
from workbench_plugins.diagnose.kinds import of_kind
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.vector_causes import asks_vectors, causes_of_vectors, refused_vectors

SHOWN_PATHS = 3
"""The number of paths that an error names as examples."""


def check_known(index: Index, target: str) -> None:
    """Raises InputError, with the nearest path, for a file that is neither in the index nor in its folder."""
    if index.rows_of(target).size or target in changed_files(index) or _on_disk(index, target):
        return
    if unread_near(index, target) is not None:
        return
    paths = sorted(index.paths())
    folder = index_of_folder(index)
    where = f"The folder that is searched is {folder.root}. " if folder else ""
    near = nearest(target, paths)
    some = f"It has {counted(len(paths), 'file')}, such as {', '.join(paths[:SHOWN_PATHS])}."
    hint = f"The nearest is {near}." if near else some
    other = " Or search the folder that has it: -m FOLDER." if folder else ""
    raise InputError(
        f"The index has no file {target}.", f"{where}Give its path as the index has it. {hint}{other}"
    )


def changed_files(index: Index) -> list[str]:
    """The files that differ from their state in the index; none for an index that cannot tell."""
    inner = innermost(index)
    return inner.changed() if isinstance(inner, OpenIndex) else []


def unread_near(index: Index, target: str) -> Unread | None:
    """The file on the disk that a path means and that no index reads; None for none."""
    inner = innermost(index)
    return inner.unread_near(target) if isinstance(inner, OpenIndex) else None


def _on_disk(index: Index, target: str) -> bool:
    """Whether a file is in the memory's folder; nothing is said of files elsewhere, or behind a link."""
    folder, names = index_of_folder(index), Path(target).parts
    if folder is None or not names or Path(target).is_absolute() or ".." in names:
        return False
    try:
        with open_below(FileLocation(folder.root, names)):
            return True
    except (OSError, ValueError):
        return False


def _is_gone(index: Index, path: str) -> bool:
    """Whether a file is no longer where the index found it."""
    folder = index_of_folder(index)
    return folder is not None and not os.path.lexists(folder.root / path)


def causes_outside(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """What is wrong with the index, as far as it concerns a file that is wanted in the answer."""
    index = runs.index
    yield from refused_vectors(index)
    yield from _of_no_file(runs, goal)
    yield from _empty_scope(runs, goal)
    of_its_own = getattr(innermost(index), "causes", None)
    yield from () if of_its_own is None else of_its_own(runs, goal)
    changed = changed_files(index)
    indexed = index.rows_of(goal.path).size > 0
    if not indexed and goal.path not in changed and goal.path in index.paths():
        kind = "no messages" if goal.path.endswith(TRANSCRIPT) else "empty"
        yield of_kind(kind, index, f"{goal.path}: the index knows the file, and has no chunk of it")
        return
    there = None if indexed else unread_near(index, goal.path)
    if there is not None:
        yield _not_read(there, index)
        return
    if not indexed and goal.path not in changed:
        told = f"{goal.path}: the index has no chunk of it, and no later sync would read it"
        yield of_kind("not read", index, told)
        return
    if indexed and goal.path in changed and _is_gone(index, goal.path):
        yield of_kind("gone", index, f"{goal.path}: it is in the index, and not in the folder")
        return
    if changed:
        yield from _stale(runs, goal, changed, indexed)
    if indexed:
        yield from _wordless(index, goal)
    vectors = [] if not indexed or not asks_vectors(runs) else list(causes_of_vectors(runs, goal))
    yield from vectors
    if indexed and not changed and not vectors:
        yield from _of_store(runs, goal)
        yield from causes_of_copies(runs, goal)


def _not_read(there: Unread, index: Index) -> Cause:
    """The cause for a file on the disk that no index reads, with the commands that read it."""
    again = index_command(index)
    repair = f"{again} --extra ." if there.remedy == ADD else there.advice
    if there.refused:  # what mends it may be a command
        command = repair.partition(": ")[2] if " && iconv " in repair else ""
        repair = f"{command} && {again}" if command else repair
    elif there.remedy == RENAME and (renamed := _renaming(index, there.path)):
        repair = renamed
    elif there.remedy not in (ADD, A_LINK, FOLDERS):
        repair += f" Then: {again}"
    return replace(of_kind("not read", index, str(there)), description=there.reason, repair=repair)


def _renaming(index: Index, path: str) -> str:
    """The commands that give a file the ending .md and read it; empty where a file has that name already."""
    folder = index_of_folder(index)
    if folder is None:
        return ""
    file = folder.root / path
    stem = file.with_suffix("")
    new = stem if stem.suffix == SUFFIX else stem.with_suffix(f"{stem.suffix}{SUFFIX}")
    if new.exists() and not new.samefile(file):
        return ""
    return f"mv -n {shlex.quote(str(file))} {shlex.quote(str(new))} && {index_command(index)}"


def _of_no_file(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Ids of another engine that name no file of the index: tried with the paths that they mean."""
    if not runs.base.unknown_ids:
        return
    ids = [one.chunk.id for one in runs.base.results]
    found = path_form(ids, runs.index.paths())
    meant = [found[1](one) for one in ids] if found else []
    place = 1 + meant.index(goal.path) if goal.path in meant else 0
    works = place == 1 if goal.aim is Aim.FIRST else place > 0
    repair = f"return each id as {found[0]}" if found else "return paths as the index has them"
    where = f"number {place} of {len(ids)}" if place else f"not among the {len(ids)}"
    evidence = f"with such paths, {goal.path} is {where}" if found else "no id is near to a path"
    in_vain = bool(found) and not works
    yield Cause(("ids",), runs.base.unknown_ids, repair, evidence, works, refuted=in_vain, certain=True)


FEWEST_WORDS = 2
"""A note of fewer words says nothing, besides what it links to."""
LINKS = re.compile(r"!\[\[[^\]\n]*\]\]|!\[[^\]\n]*\]\([^)\n]*\)|<img\b[^>]*>|https?://\S+")


def _wordless(index: Index, goal: Goal) -> Iterator[Cause]:
    """A file that has only pictures, attachments and addresses."""
    chunks = index.chunks(index.rows_of(goal.path))
    text = "\n".join(one.body for one in chunks)
    links = LINKS.findall(text)
    if links and len(unicode_words(LINKS.sub(" ", text))) < FEWEST_WORDS:
        yield of_kind("wordless", index, f"{goal.path}: its text is {', '.join(links[:3])}")


def _empty_scope(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A scope in which no file of the index is: tried without the folders that it has in front."""
    stage = first_of(runs.pipeline.stages, Scope)
    paths = runs.index.paths()
    if stage is None or not stage.where or any(map(stage.lets_pass, paths)):
        return
    shorter = ["/".join(one.split("/")[cut:]) for one in stage.where for cut in range(1, one.count("/"))]
    within = [one for one in shorter if one and goal.path.startswith(one)]
    meant = replace(stage, where=(within[0],)) if within else None
    reached = meant is not None and goal.reached(runs.trace(runs.pipeline.with_stage(meant)))
    told = f"its files have paths such as {', '.join(sorted(paths)[:SHOWN_PATHS])}"
    yield Cause(
        (Scope.slot,),
        f"scope: no file of the index is in {stage.folders}",
        f"write paths as the index has them: {within[0]}" if within else "write paths as the index has them",
        f"{told}; in {within[0]} the file is {goal.aim}" if reached else told,
        reached,
        refuted=meant is not None and not reached,
        certain=True,
    )


def _of_store(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """What the doctor finds wrong with the file's rows in the store; nothing without that feature."""
    inner = innermost(runs.index)
    if has_feature("doctor") and isinstance(inner, OpenIndex):
        from workbench_plugins.doctor.faults import faults_of_file

        for one in faults_of_file(inner, goal.path):
            told = f"{goal.path}: {one.count:,} of {one.of:,} ({one.kind})"
            cause = Cause(("index",), one.description, one.repair, told, False)
            yield _unseen_change(cause, runs, goal) if one.kind == "stale" else cause


def _unseen_change(cause: Cause, runs: Reruns, goal: Goal) -> Cause:
    """The cause of a file that has other text than the index, which size and time do not show; tried."""
    told = replace(cause, description="the file has changed since it was indexed, but not its size and time")
    try:
        with _up_to_date(runs.index, verify=True) as fresh:
            if fresh is None:
                return told
            reached = goal.reached(search(runs.question, runs.pipeline, fresh))
    except WorkbenchError as error:
        return replace(told, evidence=f"{cause.evidence}. It could not be tried: {error.problem}")
    outcome = "is then" if reached else "is then still not"
    evidence = f"{cause.evidence}. Tried with every file read again: it {outcome} {goal.aim}"
    return replace(told, evidence=evidence, verified=reached, refuted=not reached, certain=True)


def _stale(runs: Reruns, goal: Goal, changed: list[str], indexed: bool) -> Iterator[Cause]:
    """The index is older than the folder: verified with a copy that is brought up to date."""
    kind, concerns = "old" if indexed else "new", goal.path in changed
    try:
        with _up_to_date(runs.index) as fresh:
            if fresh is None:
                return
            reached = goal.reached(search(runs.question, runs.pipeline, fresh))
            chunks = fresh.rows_of(goal.path).size
            former = "" if indexed else _former_name(fresh, runs.index, goal.path)
    except WorkbenchError as error:
        if concerns:
            yield of_kind(
                kind, runs.index, f"{goal.path}: The copy could not be brought up to date: {error.problem}"
            )
        return
    if reached or concerns:
        files = f"{counted(len(changed), 'file')} changed since the index was made"
        told = f"{files}; up to date the index has {counted(chunks, 'chunk')} of {goal.path}"
        outcome = f"and the file is {goal.aim}" if reached else "but the file is still not as wanted"
        cause = of_kind(kind, runs.index, f"{goal.path}: {told}, {outcome}", reached)
        yield replace(cause, description=RENAMED.format(former)) if former else cause


RENAMED = "the file was renamed since: the index has the same text as {}"


def _former_name(fresh: MemoryIndex, index: Index, path: str) -> str:
    """The name under which the older `index` has a new file's text; empty for none."""
    older = innermost(index)
    text_hash = next((one.hash for one in fresh.documents() if one.path == path), "")
    return older.former_name(text_hash) if isinstance(older, MemoryIndex) else ""


@contextmanager
def _up_to_date(index: Index, verify: bool = False) -> Iterator[MemoryIndex | None]:
    """A copy of the index that agrees with the folder; None for an index without its folder.

    With `verify`, every file is read, whatever its size and time say.
    """
    found = index_of_folder(index)
    if found is None:
        yield None
        return
    (inner, root), file = found, Path(found.opened.store.name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index.sqlite"
        database.copy(file, copy)
        if words_file(file).exists():  # so that unchanged chunks are not read again
            database.copy(words_file(file), words_file(copy))
        options = Options(index_path=copy, extra=extra_paths_of(root, file), skip=True, verify=verify)
        index_folder(root, inner.embedder, options=options)
        with MemoryIndex.open(copy, inner.embedder, root) as fresh:
            yield fresh
